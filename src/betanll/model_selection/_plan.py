"""The plan of a fit, and the fitted model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from betanll.networks import Network
from betanll.objectives import Objective
from betanll.preprocessing import Matrix, QuantilePositions, Standardizer
from betanll.training import (
    Budget,
    DivergedError,
    FitResult,
    Optimizer,
    check_network,
    predict_parameters,
)

#: Learning rates of the UCI protocol of Seitzer et al. 2022, appendix.
LEARNING_RATES = (1e-4, 3e-4, 7e-4, 1e-3, 3e-3, 7e-3)
#: Exponents that ``beta="auto"`` chooses from.
BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)

#: Factors of the learning rate, tried in turn when training diverges.
RATE_FACTORS = (1 / 3, 1 / 9)

#: A single row cannot be standardised.
MIN_TRAINING_ROWS = 2


#: A network, its objective and its optimiser.
Candidate = tuple[Network, Objective, Optimizer]


@dataclass(frozen=True)
class FitPlan:
    """Candidates, budget and protocol of a fit, with every "auto" resolved.

    Parameters
    ----------
    candidates : sequence of (Network, Objective, Optimizer)
        The fit keeps the candidate with the best validation score. Networks with an
        attribute `n_bins` above 0 read positions, others standardised inputs.
    seeds : sequence of int
        Seed of each member of the ensemble.
    n_updates : int
        Updates of a full budget.
    batch_size : int
        Rows in an update, or all if there are fewer.
    patience : int, optional
        Validations in a row without improvement before a run stops. By default, a
        tenth of the validations in a full budget, and at least three.
    max_evaluations : int, optional
        Most validations in a full budget, by default one after each epoch.
    validation_fraction : float, default=0.2
    refit : bool, default=False
        Train again on all rows (:func:`search_and_refit`), or give each member
        validation rows of its own (:func:`crossfit`).
    calibration : {None, "scale", "student-t", "conformal"}, default=None
    robust_selection : bool, default=False
        How to choose the best epoch, as in :class:`~betanll.training.FitTask`.
    """

    candidates: Sequence[Candidate]
    seeds: Sequence[int]
    n_updates: int
    batch_size: int
    patience: int | None = None
    max_evaluations: int | None = None
    validation_fraction: float = 0.2
    refit: bool = False
    calibration: str | None = None
    robust_selection: bool = False

    def __post_init__(self) -> None:
        for network, _, _ in self.candidates:
            check_network(network)

    @property
    def networks(self) -> list[Network]:
        """The networks of the candidates."""
        return list(dict.fromkeys(net for net, _, _ in self.candidates))

    @property
    def holds_out_rows(self) -> bool:
        """Whether rows are set aside for calibration alone."""
        if self.calibration == "conformal":
            return True
        return self.calibration is not None and self.refit

    def n_train(self, n: int) -> int:
        """Return how many of `n` rows are not for validation."""
        n_validation = max(1, round(self.validation_fraction * n))
        return max(MIN_TRAINING_ROWS, n - n_validation)

    def budget(self, n_train: int) -> Budget:
        """Return the length of a run on so many rows."""
        budget = Budget.of_updates(
            self.n_updates,
            n_train,
            self.batch_size,
            max_evaluations=self.max_evaluations,
            patience=self.patience,
        )
        if self.patience is None:
            n_evaluations = budget.max_epochs / budget.validate_every
            budget = budget._replace(patience=max(3, round(n_evaluations / 10)))
        return budget


class HeldOutResiduals(NamedTuple):
    """Residuals on rows that were not used for training.

    Parameters
    ----------
    residuals, weights : arrays of shape (n, n_targets)
        Residuals are in predicted standard deviations; the weight is zero where the
        target is missing.
    """

    residuals: Matrix
    weights: Matrix


@dataclass(frozen=True)
class FittedModel:
    """A fitted model in standardised units, with the record of its training.

    `residual_scale` is the root mean square of the residuals on held-out rows. Without
    a refit, `held_out` holds these residuals in units of the ensemble's spread.
    """

    inputs: Standardizer | QuantilePositions
    targets: Standardizer
    net: Network
    objective: Objective
    learning_rate: float | None
    members: Sequence[FitResult]
    history: dict[str, npt.NDArray[Any]]
    search: dict[str, list[Any]]
    best_score: float
    residual_scale: Matrix = field(repr=False)
    held_out: HeldOutResiduals | None = field(repr=False, default=None)


def search_table(results: Sequence[FitResult]) -> dict[str, list[Any]]:
    """Return the columns of a table of runs."""
    return {
        "learning_rate": [result.optimizer.learning_rate for result in results],
        "beta": [getattr(result.objective, "beta", None) for result in results],
        "n_bins": [getattr(result.network, "n_bins", None) for result in results],
        "best_score": [-result.best_score for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "n_updates": [result.n_updates for result in results],
        "status": [result.status for result in results],
    }


def bins_of(net: Network) -> int:
    """Return the number of bins of a network, 0 if it reads standardised inputs."""
    return getattr(net, "n_bins", 0)


def scheduled(optimizer: Optimizer, budget: Budget, n_train: int) -> Optimizer:
    """Return the optimiser with the length of its schedule, if it has one."""
    if not optimizer.takes("n_updates"):
        return optimizer
    n_batches = n_train // (budget.batch_size or n_train)
    return optimizer.replace(n_updates=float(budget.max_epochs * n_batches))


def slower(optimizer: Optimizer) -> Iterator[Optimizer]:
    """Yield the optimiser, then copies with smaller learning rates if it has any."""
    yield optimizer
    rate = optimizer.learning_rate
    if rate is not None:
        for factor in RATE_FACTORS:
            yield optimizer.replace(learning_rate=factor * rate)


def all_diverged(results: Sequence[FitResult]) -> DivergedError:
    """Return the error to raise when all runs of a search diverged."""
    rates = sorted(
        {
            result.optimizer.learning_rate
            for result in results
            if result.optimizer.learning_rate is not None
        }
    )
    tried = ", ".join(f"{rate:g}" for rate in rates)
    return DivergedError(
        f"training diverged with every learning rate ({tried}): look for outliers or "
        "choose a smaller learning_rate_init"
        if rates
        else "training diverged: look for outliers or choose another optimizer",
        results,
    )


def standardised_moments(result: FitResult, x: Any) -> tuple[Matrix, Matrix]:
    """Return the predicted mean and variance in standardised units."""
    parameters = predict_parameters(result.network, result.objective, result.params, x)
    predictive = result.objective.predictive(parameters)
    return predictive.mean, predictive.variance


def weighted_mean(values: Matrix, weights: Matrix, *, default: float) -> Matrix:
    """Return the weighted mean of each column, `default` if all weights are zero."""
    total = np.sum(weights, axis=0)
    mean = np.sum(weights * values, axis=0) / np.where(total > 0, total, 1)
    return np.where(total > 0, mean, default)


def root_mean_square(residuals: Matrix, weights: Matrix) -> Matrix:
    """Return the weighted RMS of each target, 1 if all weights are zero."""
    square = weighted_mean(residuals**2, weights, default=1.0)
    return np.sqrt(np.maximum(square, 1e-8))


def as_numpy(params: Any) -> Any:
    """Return a pytree of JAX arrays with NumPy arrays in their places."""
    return jax.tree.map(np.asarray, params)
