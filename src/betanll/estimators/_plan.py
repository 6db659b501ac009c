"""From parameters of the estimator to a plan: what "auto" comes to for a table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import optax

from betanll import objectives
from betanll.estimators._parameters import candidates, learning_rates
from betanll.estimators._presets import AUTO, PRESETS, is_auto
from betanll.model_selection import FitPlan
from betanll.networks import MLP, Network
from betanll.training import Optimizer, adamw, cosine_adamw, optimizer

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor

_BATCH_SIZES = ((800, 32), (4000, 64), (16_000, 128))
_LARGEST_BATCH = 256
_MAX_BINS, _MIN_BINS = 32, 4
#: Bins are fewer than `_MAX_BINS` where the first layer would see more values.
_MAX_ENCODED = 768
#: An ensemble for a table of fewer rows is tried without bins, too: where targets are
#: nearly linear and noisy, bins cost more than they bring.
_MANY_ROWS = 4000
_NO_LIMIT = 2**31 - 1


def plan_of(
    estimator: HeteroscedasticRegressor, *, n_rows: int, n_inputs: int
) -> FitPlan:
    """Return the plan of checked parameters for a table of this size.

    Seeds are 0, 1, ...: there is one for each member of the ensemble.
    """
    values = dict(PRESETS[estimator.preset])
    for name in values:
        given = getattr(estimator, name, AUTO)
        values[name] = values[name] if is_auto(given) else given
    if is_auto(values["batch_size"]):
        values["batch_size"] = next(
            (size for limit, size in _BATCH_SIZES if n_rows < limit), _LARGEST_BATCH
        )
    if is_auto(values["n_bins"]):
        fitting = _MAX_ENCODED // n_inputs - 1
        values["n_bins"] = (max(_MIN_BINS, min(_MAX_BINS, fitting)),)
        if n_rows < _MANY_ROWS and values["n_members"] > 1:
            values["n_bins"] += (0,)
    family = objectives.get(estimator.objective).predictive_family
    if family != "normal":
        if estimator.calibration == "student-t":
            raise ValueError(
                'calibration="student-t" is for Gaussian predictions, not for '
                f"objective {estimator.objective!r}"
            )
        if values["calibration"] == "student-t":
            # A Student t has tails already. Others keep their shape.
            values["calibration"] = None if family == "student-t" else "scale"
    patience = values["n_iter_no_change"]
    return FitPlan(
        candidates=tuple(
            itertools.product(
                _networks(estimator, values, n_inputs),
                candidates(estimator),
                _optimizers(estimator, values),
            )
        ),
        seeds=tuple(range(values["n_members"])),
        n_updates=min(int(values["max_updates"]), _NO_LIMIT),
        batch_size=int(values["batch_size"]),
        patience=None if is_auto(patience) else min(int(patience), _NO_LIMIT),
        max_evaluations=values["max_evaluations"],
        validation_fraction=float(estimator.validation_fraction),
        refit=bool(values["refit"]),
        calibration=values["calibration"],
        robust_selection=values["robust_selection"],
    )


def _networks(
    estimator: HeteroscedasticRegressor, values: Mapping[str, Any], n_inputs: int
) -> Sequence[Network]:
    """Return the networks to try: one of the user, or perceptrons."""
    if estimator.network is not None:
        return [estimator.network(n_inputs)]
    sizes, bins = (
        map(int, np.ravel(values[name]).tolist())
        for name in ("hidden_layer_sizes", "n_bins")
    )
    hidden_sizes, activation = tuple(sizes), str(values["activation"])
    return [
        MLP(n_inputs, hidden_sizes, activation, n_bins=n_bins)
        for n_bins in dict.fromkeys(bins)
    ]


def _optimizers(
    estimator: HeteroscedasticRegressor, values: Mapping[str, Any]
) -> Sequence[Optimizer]:
    """Return the optimisers to try: one of the user, or one for each rate."""
    if estimator.optimizer is not None:
        return [estimator.optimizer]
    decay: dict[str, Any] = {"weight_decay": float(values["weight_decay"])}
    factory: Any = adamw
    if values["learning_rate"] == "cosine":
        factory = cosine_adamw
    elif not values["weight_decay"]:
        factory, decay = optax.adam, {}
    return [
        optimizer(factory, learning_rate=rate, **decay)
        for rate in learning_rates(values["learning_rate_init"])
    ]
