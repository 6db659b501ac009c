"""One run of a dynamics model, and its records."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from betanll import metrics
from betanll.datasets import Splits
from betanll.diagnostics import (
    effective_sampling_probabilities,
    log_residual_histogram,
    oracle_sampling_probabilities,
)
from betanll.networks import MLP
from betanll.objectives import Objective, Parameters, StudentT, objective
from betanll.preprocessing import Standardizer
from betanll.sweeps import task
from betanll.training import DivergedError, FitResult, fit, optimizer
from betanll_paper.datasets import DataError, data_directory
from betanll_paper.published.dynamics import CONTROL, OBJECT_SLIDE
from betanll_paper.published.methods import Method, spec_of
from betanll_paper.rows import plain
from betanll_paper.simulators import object_slide_splits

BATCH_SIZE = 256
#: Evaluations of a run; the paper's code has one every 100 (Fetch: 10) epochs.
N_EVALUATIONS = 50
#: Training points of figure S4, and times of its records.
N_POINTS = 2000
N_TIMES = 6
#: Decades of residuals and of sampling probabilities, in tenths.
RESIDUAL_EDGES = np.linspace(-10, 2, 121)
PROBABILITY_EDGES = np.linspace(-12, 0, 121)


@objective(None)
class FlooredStudentT(StudentT):
    """The fair control: a Student t whose scale has the floor of the Gaussians.

    On targets with hardly any noise, an unfloored Student t reaches densities that the
    floor denies to Gaussian objectives.
    """

    name = CONTROL.name
    min_squared_scale = 1e-8

    def parameters(self, raw: Any) -> Parameters:
        mean, shape, rate = super().parameters(raw)
        return mean, shape, rate + self.min_squared_scale * shape


@task
def train(
    *,
    dataset: str,
    method: str,
    beta: float | None,
    learning_rate: float,
    n_layers: int,
    n_units: int,
    activation: str,
    epochs: int,
    seed: int,
    is_final: bool,
    n_episodes: int | None = None,
    n_rollouts: int | None = None,
    data_seed: int | None = None,
) -> list[dict[str, Any]]:
    """Train once; a row of the kind search, or rows final, residuals and probability.

    The parameters that are tested are those of the evaluation with the best score. The
    data are `n_episodes` of ObjectSlide, or `n_rollouts` of Fetch with this seed.
    """
    settings = dict(locals())
    started = time.perf_counter()
    data = _data(dataset, n_episodes, n_rollouts, data_seed)
    chosen = objective_of(Method(spec_of(method, beta)))
    n_train = len(data.train.x)
    batch_size = min(BATCH_SIZE, n_train)
    n_updates = epochs * (n_train // batch_size)
    is_watched = (
        is_final
        and dataset != OBJECT_SLIDE
        and (beta is not None or chosen.validation_score == "squared_error")
    )
    result = fit(
        MLP(data.train.x.shape[1], (n_units,) * n_layers, activation, "lecun"),
        chosen,
        *data.train,
        validation=data.validation,
        optimizer=optimizer(learning_rate=learning_rate),
        batch_size=batch_size,
        max_epochs=epochs,
        validate_every=max(1, epochs // N_EVALUATIONS),
        snapshots=_times(n_updates) if is_watched else (),
        seed=seed,
    )
    row: dict[str, Any] = {
        "kind": "final" if is_final else "search",
        "score": None,
        "best_epoch": result.best_epoch,
        "status": result.status,
        "updates": result.n_updates,
    }
    rows = [row]
    if result.best_epoch > 0:
        row["score"] = plain(result.best_score)
        row |= _scores(result, data.validation, data.targets, "validation_")
        if is_final:
            row |= _scores(result, data.test, data.targets, "")
            rows.append(_residuals(result, data.test, data.targets))
    if is_watched:
        rows += _probabilities(result, data.points, beta)
    row["seconds"] = time.perf_counter() - started
    return [{**settings, **row} for row in rows]


def objective_of(method: Method) -> Objective:
    """Return the objective of a method."""
    return FlooredStudentT() if method == CONTROL else method.objective


class _Part(NamedTuple):
    """Standardised samples."""

    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.float32]


class _Data(NamedTuple):
    """All samples, the points of figure S4 among them, and the units of targets."""

    train: _Part
    validation: _Part
    test: _Part
    points: _Part
    targets: Standardizer


@lru_cache(maxsize=1)
def _data(dataset: str, *size_and_seed: int | None) -> _Data:
    splits = load_splits(dataset, *size_and_seed)
    inputs = Standardizer.of_inputs(splits.train.x)
    targets = Standardizer.of_targets(splits.train.y)
    train, validation, test = (
        _Part(inputs.apply(part.x), targets.apply(part.y)) for part in splits
    )
    n_points = min(N_POINTS, len(train.x))
    rows = np.random.default_rng(0).choice(len(train.x), n_points, replace=False)
    points = _Part(train.x[rows], train.y[rows])
    return _Data(train, validation, test, points, targets)


def load_splits(
    dataset: str,
    n_episodes: int | None,
    n_rollouts: int | None,
    data_seed: int | None,
) -> Splits:
    """Return the three sets: simulated, or read from the data directory."""
    if dataset == OBJECT_SLIDE:
        assert n_episodes is not None
        return object_slide_splits(n_episodes)
    from betanll_paper.simulators import load_fetch
    from betanll_paper.simulators.fetch_files import source_of

    folder = data_directory() / dataset
    source = source_of(folder)
    if source != (n_rollouts, data_seed):
        raise DataError(
            f"{folder} has {source.n_rollouts} rollouts of seed {source.seed}, but the "
            f"training is to be on {n_rollouts} of seed {data_seed}"
        )
    return load_fetch(folder)


def _scores(
    result: FitResult, samples: _Part, targets: Standardizer, prefix: str
) -> dict[str, float | None]:
    """Return RMSE and log-likelihood in original units."""
    predictive = result.predict(samples.x).affine(targets.scale, targets.mean)
    y = samples.y * targets.scale + targets.mean
    likelihood = None
    if result.objective.validation_score == "nll":
        likelihood = plain(metrics.log_likelihood(predictive, y))
    return {
        f"{prefix}rmse": plain(metrics.rmse(predictive.mean, y)),
        f"{prefix}log_likelihood": likelihood,
    }


def _residuals(
    result: FitResult, samples: _Part, targets: Standardizer
) -> dict[str, Any]:
    residual = (result.predict(samples.x).mean - samples.y) * targets.scale
    histogram = log_residual_histogram(residual, RESIDUAL_EDGES)
    return {"kind": "residuals", "counts": histogram.counts.tolist()}


def _probabilities(
    result: FitResult, points: _Part, beta: float | None
) -> list[dict[str, Any]]:
    """Return sampling probabilities of points at several times until divergence.

    For the squared error, they are the reference for NLL.
    """
    rows = []
    for update in result.snapshots:
        try:
            there = result.predict(points.x, at=update)
        except DivergedError:
            break
        if beta is not None:
            probability = effective_sampling_probabilities(there.variance, beta)
        else:
            probability = oracle_sampling_probabilities(there.mean - points.y)
        decades = np.log10(np.maximum(probability, 10 ** PROBABILITY_EDGES[0]))
        counts, _ = np.histogram(decades, PROBABILITY_EDGES)
        rows.append(
            {"kind": "probability", "update": update, "counts": counts.tolist()}
        )
    return rows


def _times(n_updates: int) -> list[int]:
    """Return updates that are evenly spaced on a logarithmic axis.

    Examples
    --------
    >>> _times(1_000_000)
    [100, 631, 3981, 25119, 158489, 1000000]
    """
    times = np.geomspace(max(1, n_updates // 10_000), n_updates, N_TIMES)
    return sorted(set(times.round().astype(int).tolist()))
