"""What a protocol is told, and what it finds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from betanll.nets import MLP
from betanll.objectives import Objective
from betanll.protocols._columns import Matrix
from betanll.protocols._positions import Positions
from betanll.protocols._whitening import Whitening
from betanll.training import (
    Adam,
    AdamW,
    CosineAdamW,
    FitResult,
    Optimizer,
    epochs_for,
    predict_parameters,
)

#: Learning rates of the UCI protocol of Seitzer et al. 2022, appendix.
LEARNING_RATES = (1e-4, 3e-4, 7e-4, 1e-3, 3e-3, 7e-3)
#: Exponents that ``beta="auto"`` chooses from.
BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)

#: Of the learning rate, tried in turn when training diverges.
RATE_FACTORS = (1, 1 / 3, 1 / 9)

#: One row could not be whitened.
MIN_TRAINING_ROWS = 2


class Budget(NamedTuple):
    """The length of a training on a given number of rows."""

    batch_size: int
    max_epochs: int
    validate_every: int
    patience: int
    n_updates: int


@dataclass(frozen=True)
class Recipe:
    """What is trained, and for how long.

    Parameters
    ----------
    nets, objectives, learning_rates : sequences
        Candidates: all their combinations. For networks with bins inputs become
        positions, else they are whitened.
    batch_size, max_updates : int
    patience : int or None
        Evaluations without improvement that end a training, None for a tenth of those
        in a full budget, and at least three.
    validation_fraction : float
    seeds : sequence of int
        One for each member of the ensemble.
    weight_decay : float, default=0.0
    is_decaying : bool, default=False
        Let the learning rate fall as a cosine over the budget.
    max_evaluations : int, optional
        Evaluations in a full budget at most, by default one for each epoch.
    selection : str, default="nll"
        What chooses the best epoch, as in :class:`~betanll.training.FitTask`.
    """

    nets: Sequence[MLP]
    objectives: Sequence[Objective]
    learning_rates: Sequence[float]
    batch_size: int
    max_updates: int
    patience: int | None
    validation_fraction: float
    seeds: Sequence[int]
    weight_decay: float = 0.0
    is_decaying: bool = False
    max_evaluations: int | None = None
    selection: str = "nll"

    @property
    def candidates(self) -> list[tuple[MLP, Objective, float]]:
        """All combinations of network, objective and learning rate."""
        return list(itertools.product(self.nets, self.objectives, self.learning_rates))

    def n_train(self, n: int) -> int:
        """Return how many of `n` rows are not for validation."""
        n_validation = max(1, round(self.validation_fraction * n))
        return max(MIN_TRAINING_ROWS, n - n_validation)

    def budget(self, n_train: int) -> Budget:
        batch_size = min(self.batch_size, n_train)
        max_epochs = epochs_for(self.max_updates, n_train, batch_size)
        every = 1
        if self.max_evaluations is not None:
            every = -(-max_epochs // self.max_evaluations)
        patience = self.patience
        if patience is None:
            patience = max(3, round(max_epochs / every / 10))
        n_updates = max_epochs * (n_train // batch_size)
        return Budget(batch_size, max_epochs, every, patience, n_updates)

    def optimizer(self, learning_rate: float, budget: Budget) -> Optimizer:
        if self.is_decaying:
            return CosineAdamW(
                learning_rate, self.weight_decay, n_updates=float(budget.n_updates)
            )
        if self.weight_decay:
            return AdamW(learning_rate, self.weight_decay)
        return Adam(learning_rate)


class Unseen(NamedTuple):
    """How far predictions are off on rows that were not used for training.

    Parameters
    ----------
    residuals, weights : arrays of shape (n, n_targets)
        Residuals are in predicted standard deviations; those of missing targets have
        weight zero.
    """

    residuals: Matrix
    weights: Matrix


@dataclass(frozen=True)
class Fitted:
    """A fitted model in whitened units, and how it came about.

    `residual_scale` is the root mean square of the residuals of unseen rows. Without a
    refit `unseen` has them in units of the spread of the ensemble.
    """

    inputs: Whitening | Positions
    targets: Whitening
    net: MLP
    objective: Objective
    learning_rate: float
    members: Sequence[FitResult]
    history: dict[str, npt.NDArray[Any]]
    search: dict[str, list[Any]]
    best_score: float
    residual_scale: Matrix = field(repr=False)
    unseen: Unseen | None = field(repr=False, default=None)


def overview(results: Sequence[FitResult]) -> dict[str, list[Any]]:
    """Return a table of trainings, in columns."""
    return {
        "learning_rate": [result.optimizer.learning_rate for result in results],
        "beta": [getattr(result.objective, "beta", None) for result in results],
        "n_bins": [getattr(result.net, "n_bins", None) for result in results],
        "best_score": [-result.best_score for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "n_updates": [result.n_updates for result in results],
        "status": [result.status for result in results],
    }


def all_diverged(results: Sequence[FitResult]) -> ValueError:
    """Return the error of a search that found nothing."""
    rates = sorted({result.optimizer.learning_rate for result in results})
    return ValueError(
        "training diverged with every learning rate "
        f"({', '.join(f'{rate:g}' for rate in rates)}): look for outliers or "
        "choose a smaller learning_rate_init"
    )


def whitened_moments(result: FitResult, x: Any) -> tuple[Matrix, Matrix]:
    """Return mean and variance that a network predicts, both whitened."""
    parameters = predict_parameters(result.net, result.objective, result.params, x)
    predictive = result.objective.predictive(parameters)
    return predictive.mean, predictive.variance


def weighted_mean(values: Matrix, weights: Matrix, *, default: float) -> Matrix:
    """Return it for each column, the default for one without weight."""
    total = np.sum(weights, axis=0)
    mean = np.sum(weights * values, axis=0) / np.where(total > 0, total, 1)
    return np.where(total > 0, mean, default)


def root_mean_square(residuals: Matrix, weights: Matrix) -> Matrix:
    """Return it for each target, 1 for one without a value."""
    square = weighted_mean(residuals**2, weights, default=1.0)
    return np.sqrt(np.maximum(square, 1e-8))


def as_numpy(params: Any) -> Any:
    """Return a pytree of JAX arrays with NumPy arrays in their places."""
    return jax.tree.map(np.asarray, params)
