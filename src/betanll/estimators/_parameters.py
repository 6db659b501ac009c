"""Checks of the estimator's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from betanll import objectives
from betanll._limits import MAX_LAYERS, MAX_MEMBERS, MAX_UNITS
from betanll.estimators._presets import AUTO, PRESETS, is_auto
from betanll.estimators._target_transform import check_target_transform
from betanll.model_selection import BETAS, LEARNING_RATES
from betanll.objectives import BetaNLL, Objective
from betanll.processes import available_cores
from betanll.training import Optimizer

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor

CALIBRATIONS = (None, "scale", "student-t", "conformal")
SCHEDULES = ("constant", "cosine")

#: Parameters that `network` and `optimizer` take the place of.
_OF_NETWORK = ("hidden_layer_sizes", "activation", "n_bins")
_OF_OPTIMIZER = ("learning_rate_init", "learning_rate", "weight_decay")

_INFINITY = float("inf")
_MAX_BINS = 10_000


def check_parameters(estimator: HeteroscedasticRegressor) -> None:
    """Raise a ``ValueError`` that names the first parameter with an unusable value."""
    _check_choice("preset", estimator.preset, tuple(PRESETS))
    for name in ("batch_size", "max_updates", "n_iter_no_change", "n_members"):
        value = getattr(estimator, name)
        if not is_auto(value) and not (_is_integer(value) and value >= 1):
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
        if name == "n_members" and not is_auto(value) and value > MAX_MEMBERS:
            raise ValueError(f"{name} must be at most {MAX_MEMBERS}, got {value!r}")
    bins: Any = estimator.n_bins
    if not is_auto(bins) and not _are_integers(bins, 0, _MAX_BINS, at_least_one=True):
        raise ValueError(
            f"n_bins must be an integer between 0 and {_MAX_BINS}, or several, got "
            f"{bins!r}"
        )
    sizes: Any = estimator.hidden_layer_sizes
    if not is_auto(sizes) and not _are_integers(sizes, 1):
        raise ValueError(
            f"hidden_layer_sizes must hold positive integers, got {sizes!r}"
        )
    if not is_auto(sizes) and not _are_integers(sizes, 1, MAX_UNITS):
        raise ValueError(
            f"hidden_layer_sizes must hold integers of at most {MAX_UNITS}, got "
            f"{sizes!r}"
        )
    if not is_auto(sizes) and np.size(sizes) > MAX_LAYERS:
        raise ValueError(
            f"hidden_layer_sizes must hold at most {MAX_LAYERS} layers, got "
            f"{np.size(sizes)}"
        )
    fraction = estimator.validation_fraction
    if not _is_number(fraction) or not 0 < fraction < 1:
        raise ValueError(
            f"validation_fraction must lie between 0 and 1, got {fraction!r}"
        )
    rate: Any = estimator.learning_rate_init
    if not isinstance(rate, str) or rate not in (AUTO, "search"):
        rates = learning_rates(rate)
        if not rates or not all(_is_number(r) and 0 < r < _INFINITY for r in rates):
            raise ValueError(
                "learning_rate_init must be positive, a sequence of such numbers or "
                f'"search", got {rate!r}'
            )
    for name, default, parameters in (
        ("network", "network", _OF_NETWORK),
        ("optimizer", "optimiser", _OF_OPTIMIZER),
    ):
        given = [key for key in parameters if not is_auto(getattr(estimator, key))]
        if getattr(estimator, name) is not None and given:
            raise ValueError(
                f"{given[0]} belongs to the default {default}: leave it out, or leave "
                f"out {name}"
            )
    if estimator.network is not None and not callable(estimator.network):
        raise ValueError(
            "network must be a class or function that takes the number of inputs and "
            f"returns a network, got {estimator.network!r}"
        )
    if not isinstance(estimator.optimizer, Optimizer | None):
        raise ValueError(
            "optimizer must be an Optimizer such as optimizer(optax.lion, "
            f"learning_rate=0.001), got {estimator.optimizer!r}"
        )
    decay: Any = estimator.weight_decay
    if not is_auto(decay) and not (_is_number(decay) and 0 <= decay < _INFINITY):
        raise ValueError(f"weight_decay must be finite and not negative, got {decay!r}")
    _check_choice("learning_rate", estimator.learning_rate, (AUTO, *SCHEDULES))
    _check_choice("refit", estimator.refit, (AUTO, True, False))
    _check_choice("calibration", estimator.calibration, (AUTO, *CALIBRATIONS))
    check_target_transform(estimator.target_transform)
    candidates(estimator)
    n_threads(estimator.n_jobs)


def n_threads(n_jobs: int | None) -> int:
    """Return the trainings at a time; negative numbers count from all cores."""
    if n_jobs is None:
        return available_cores()
    if not _is_integer(n_jobs) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a nonzero integer, got {n_jobs!r}")
    return n_jobs if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def _are_integers(
    given: Any, least: int, most: float = _INFINITY, *, at_least_one: bool = False
) -> bool:
    """Whether it is an integer in this range, or a sequence of them."""
    values = (given,) if _is_integer(given) else given
    return (
        isinstance(values, Sequence | np.ndarray)
        and np.ndim(values) == 1
        and len(values) >= at_least_one
        and all(_is_integer(value) and least <= value <= most for value in values)
    )


def learning_rates(given: Any) -> Sequence[float]:
    """Return the learning rates to try."""
    if isinstance(given, str):
        return LEARNING_RATES if given == "search" else ()
    if isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim):
        return tuple(float(rate) if _is_number(rate) else rate for rate in given)
    return (float(given) if _is_number(given) else given,)


def candidates(estimator: HeteroscedasticRegressor) -> Sequence[Objective]:
    """Return the objectives to try: several for ``beta="auto"``."""
    objective, beta = estimator.objective, estimator.beta
    if objective != BetaNLL.name:
        return (objectives.get(objective),)
    if isinstance(beta, str):
        if not is_auto(beta):
            raise ValueError(f'beta must be a number, a pair or "auto", got {beta!r}')
        return tuple(BetaNLL(value) for value in BETAS)
    if isinstance(beta, list):
        beta = tuple(beta)
    return (BetaNLL(beta),)


def _check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    value = bool(value) if isinstance(value, np.bool_) else value
    is_plain = value is None or isinstance(value, str | bool)
    if not is_plain or value not in choices:
        *others, last = (repr(choice).replace("'", '"') for choice in choices)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {value!r}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)
