"""Checks of the estimator's parameters, and what they mean for training."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from betanll import objectives
from betanll.estimators._search import BETAS, LEARNING_RATES, Recipe
from betanll.nets import MLP
from betanll.objectives import BetaNLL, Objective
from betanll.training import available_cores

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor

CALIBRATIONS = (None, "scale", "conformal")

_NO_LIMIT = 2**31 - 1


def check_parameters(estimator: HeteroscedasticRegressor) -> None:
    """Raise a ``ValueError`` that names the first parameter with an unusable value."""
    for name in ("batch_size", "max_updates", "n_iter_no_change", "n_members"):
        value = getattr(estimator, name)
        if not _is_integer(value) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    fraction = estimator.validation_fraction
    if not _is_number(fraction) or not 0 < fraction < 1:
        raise ValueError(
            f"validation_fraction must lie between 0 and 1, got {fraction!r}"
        )
    rate: Any = estimator.learning_rate_init
    if rate != "search" and not (_is_number(rate) and 0 < rate < float("inf")):
        raise ValueError(
            f'learning_rate_init must be positive or "search", got {rate!r}'
        )
    if estimator.calibration not in CALIBRATIONS:
        raise ValueError(
            'calibration must be None, "scale" or "conformal", '
            f"got {estimator.calibration!r}"
        )
    beta = estimator.beta
    if isinstance(beta, str) and beta != "auto":
        raise ValueError(f'beta must be a number, a pair or "auto", got {beta!r}')
    n_threads(estimator.n_jobs)


def recipe_of(
    estimator: HeteroscedasticRegressor, *, n_inputs: int, seeds: Sequence[int]
) -> Recipe:
    """Return the recipe of checked parameters."""
    sizes: Any = estimator.hidden_layer_sizes
    sizes = (sizes,) if _is_integer(sizes) else sizes
    if not isinstance(sizes, Sequence | np.ndarray) or not all(
        _is_integer(size) and size > 0 for size in sizes
    ):
        raise ValueError(
            "hidden_layer_sizes must hold positive integers, "
            f"got {estimator.hidden_layer_sizes!r}"
        )
    rate = estimator.learning_rate_init
    return Recipe(
        net=MLP(n_inputs, tuple(int(s) for s in sizes), str(estimator.activation)),
        objectives=_candidates(estimator.objective, estimator.beta),
        learning_rates=LEARNING_RATES if isinstance(rate, str) else (float(rate),),
        batch_size=int(estimator.batch_size),
        max_updates=min(int(estimator.max_updates), _NO_LIMIT),
        patience=min(int(estimator.n_iter_no_change), _NO_LIMIT),
        validation_fraction=float(estimator.validation_fraction),
        seeds=seeds,
    )


def n_threads(n_jobs: int | None) -> int:
    """Return the trainings at a time; negative numbers count from all cores."""
    if n_jobs is None:
        return available_cores()
    if not _is_integer(n_jobs) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer but 0, got {n_jobs!r}")
    return n_jobs if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def _candidates(objective: Any, beta: Any) -> Sequence[Objective]:
    if objective != BetaNLL.name:
        return (objectives.get(objective),)
    if isinstance(beta, str):
        return tuple(BetaNLL(value) for value in BETAS)
    if isinstance(beta, list):
        beta = tuple(beta)
    return (BetaNLL(beta),)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)
