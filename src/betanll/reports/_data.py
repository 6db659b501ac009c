"""Truth and prediction of one target, from whatever a user has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from betanll.distributions import Distribution, Normal
from betanll.typing import Array


def predictive_of(y_pred: Any, y_std: ArrayLike | None) -> Distribution:
    """Return a distribution, or the Gaussian of means and standard deviations."""
    if isinstance(y_pred, Distribution):
        if y_std is not None:
            raise ValueError("y_std must not be given where y_pred is a distribution")
        return y_pred
    if y_std is None:
        raise ValueError("y_std is needed where y_pred is an array of means")
    return Normal(np.asarray(y_pred, np.float64), np.asarray(y_std, np.float64))


def observed_rows(y_true: ArrayLike, shape: tuple[int, ...], target: int) -> Array:
    """Return the column `target` of the truth, for predictions of the given shape."""
    truth = np.asarray(y_true, np.float64)
    if truth.ndim not in (1, 2) or len(shape) not in (1, 2):
        raise ValueError(
            "truth and prediction must have one or two axes, "
            f"got the shapes {truth.shape} and {shape}"
        )
    n_targets = [s[1] if len(s) == 2 else 1 for s in (truth.shape, shape)]
    if len(truth) != shape[0] or n_targets[0] != n_targets[1]:
        raise ValueError(
            f"truth has shape {truth.shape} but the prediction has shape {shape}"
        )
    if not -n_targets[0] <= target < n_targets[0]:
        raise IndexError(f"there is no target {target} among {n_targets[0]}")
    column = truth if truth.ndim == 1 else truth[:, target]
    if np.isnan(column).all():
        raise ValueError(f"target {target} has no observed value")
    return column


def select(
    y_true: ArrayLike, predictive: Distribution, target: int
) -> tuple[Array, Distribution]:
    """Return the observed values of one target and their predictions, both (n,)."""
    truth = observed_rows(y_true, predictive.shape, target)
    rows = ~np.isnan(truth)
    index = rows if len(predictive.shape) == 1 else (rows, target)
    return truth[rows], predictive[index]


def predict_uncertain(estimator: Any, X: Any) -> tuple[Any, Array | None]:
    """Return `y_pred` and `y_std` of an estimator for `from_predictions`."""
    if hasattr(estimator, "predict_dist"):
        return estimator.predict_dist(X), None
    try:
        mean, std = estimator.predict(X, return_std=True)
    except TypeError as error:
        raise TypeError(
            f"{type(estimator).__name__} gives no uncertainty: it has neither "
            "predict_dist(X) nor predict(X, return_std=True)"
        ) from error
    return mean, std
