"""Networks in PyTorch: a plain deep ensemble, and skpro's mixture density network."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.quality._adapters import Array, Prediction, predict_timed

from betanll.distributions import Distribution, Mixture, Normal

_MIN_VARIANCE = 1e-6


class _Whitening:
    """To mean 0 and standard deviation 1 by the training rows, and back."""

    def __init__(self, values: Array) -> None:
        self.mean, std = values.mean(axis=0), values.std(axis=0)
        self.scale = np.where(std > 0, std, 1.0)

    def __call__(self, values: Array) -> Array:
        return (values - self.mean) / self.scale


def torch_ensemble(
    X_train: Array,
    y_train: Array,
    X_test: Array,
    seed: int,
    *,
    n_members: int,
    n_hidden: int,
    learning_rate: float,
    batch_size: int,
    max_updates: int,
    patience: int,
    validation_fraction: float,
) -> Prediction:
    """A deep ensemble of small networks, each trained by the Gaussian likelihood.

    Each member sets rows of its own aside for early stopping, so that every row trains
    some of them; the best epoch's weights stay.
    """
    import torch

    torch.set_num_threads(1)
    inputs, targets = _Whitening(X_train), _Whitening(y_train)
    x = torch.tensor(inputs(X_train), dtype=torch.float32)
    y = torch.tensor(targets(y_train), dtype=torch.float32)
    criterion = torch.nn.GaussianNLLLoss()

    def parameters(network: Any, x: Any) -> tuple[Any, Any]:
        mean, raw = network(x).chunk(2, dim=1)
        return mean, torch.nn.functional.softplus(raw) + _MIN_VARIANCE

    def loss(network: Any, x: Any, y: Any) -> Any:
        mean, variance = parameters(network, x)
        return criterion(mean, y, variance)

    def fit_member() -> Any:
        network = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], n_hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(n_hidden, 2 * y.shape[1]),
        )
        optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
        validation, train = torch.randperm(len(x)).tensor_split(
            [max(1, round(validation_fraction * len(x)))]
        )
        best, best_score, n_updates, n_worse = None, np.inf, 0, 0
        while n_updates < max_updates and n_worse < patience:
            for rows in train[torch.randperm(len(train))].split(batch_size):
                optimizer.zero_grad()
                loss(network, x[rows], y[rows]).backward()
                optimizer.step()
                n_updates += 1
            with torch.no_grad():
                score = loss(network, x[validation], y[validation]).item()
            if score < best_score:
                best, best_score, n_worse = copy.deepcopy(network), score, 0
            else:
                n_worse += 1
        assert best is not None, "no epoch had a finite loss"
        return best

    def fit() -> list[Any]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return [fit_member() for _ in range(n_members)]

    def predict(members: list[Any]) -> Distribution:
        x_test = torch.tensor(inputs(X_test), dtype=torch.float32)
        with torch.no_grad():
            outputs = [parameters(member, x_test) for member in members]
        return Mixture(
            [Normal.from_variance(m.numpy(), v.numpy()) for m, v in outputs]
        ).affine(targets.scale, targets.mean)

    return predict_timed(fit, predict)


def skpro_mdn(X_train: Array, y_train: Array, X_test: Array, seed: int) -> Prediction:
    """skpro's mixture density network, with whitened inputs and targets.

    It does not scale anything itself, and a network on raw tables would be no match.
    """
    import torch
    from skpro.regression.mdn import MDNRegressor

    torch.set_num_threads(1)
    inputs, targets = _Whitening(X_train), _Whitening(y_train)
    model = MDNRegressor(device="cpu", random_state=seed)

    def predict(fitted: Any) -> Distribution:
        mixture = fitted.predict_proba(_frame(inputs(X_test)))
        # Arrays of shape (rows, components, targets).
        means, stds = (
            np.moveaxis(np.asarray(part), 1, 0) for part in (mixture.mu, mixture.sigma)
        )
        components = [Normal(*part) for part in zip(means, stds, strict=True)]
        return Mixture(components, mixture.pi).affine(targets.scale, targets.mean)

    return predict_timed(
        lambda: model.fit(_frame(inputs(X_train)), _frame(targets(y_train))), predict
    )


def _frame(values: Array) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"c{i}" for i in range(values.shape[1])])
