"""Simple predictions that a network has to beat."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from betanll.distributions import Normal
from betanll.typing import Array

_ALPHAS = np.logspace(-4, 4, 17)
# Relative to the spread of the target; a normal distribution needs a positive spread.
_MIN_STD = 1e-9


def constant_baseline(y: Array, n: int) -> Normal:
    """Predict mean and spread of the training targets for each of `n` rows.

    Examples
    --------
    >>> prediction = constant_baseline(np.array([[1.0], [3.0]]), 1)
    >>> prediction.mean, prediction.std
    (array([[2.]]), array([[1.]]))
    """
    mean, std = np.nanmean(y, axis=0), _positive(np.nanstd(y, axis=0), y)
    return Normal(np.tile(mean, (n, 1)), np.tile(std, (n, 1)))


def ridge_baseline(X: Array, y: Array, X_new: Array) -> Normal:
    """Predict with ridge regression and one spread for all rows of a target.

    Leave-one-out errors determine the penalty and the spread.
    """
    columns = [_ridge(X, column) for column in y.T]
    mean = np.column_stack([predict(X_new) for predict, _ in columns])
    std = _positive(np.array([std for _, std in columns]), y)
    return Normal(mean, np.tile(std, (len(X_new), 1)))


def _ridge(X: Array, y: Array) -> tuple[Callable[[Array], Array], float]:
    is_seen = ~np.isnan(y)
    X, y = X[is_seen], y[is_seen]
    if len(y) == 1:  # leaving it out leaves no row; only its magnitude is known
        return lambda X_new: np.full(len(X_new), y[0]), float(abs(y[0]) or 1.0)
    centre, scale = y.mean(), y.std() or 1.0
    model = make_pipeline(
        StandardScaler(), RidgeCV(alphas=_ALPHAS, store_cv_results=True)
    )
    with warnings.catch_warnings():
        # Collinear columns are not a fault here: the larger penalties handle them.
        warnings.simplefilter("ignore", LinAlgWarning)
        model.fit(X, (y - centre) / scale)
    ridge = model[-1]
    square = ridge.cv_results_[:, np.argmin(np.abs(_ALPHAS - ridge.alpha_))].mean()

    def predict(X_new: Array) -> Array:
        return centre + scale * model.predict(X_new)

    return predict, float(scale * np.sqrt(square))


def _positive(std: Array, y: Array) -> Array:
    spread = np.nanmax(np.abs(y), axis=0)
    return np.maximum(std, np.where(spread > 0, _MIN_STD * spread, 1.0))
