"""Columns that reveal the target."""

from __future__ import annotations

import numpy as np

from betanll.typing import Array

#: Error relative to the spread of the target below which a prediction is exact. Noise
#: of 1% of the spread gives 0.01, and rounding to three digits about 0.001.
MAX_ERROR = 1e-3
_MIN_ROWS = 10
_MIN_VALUES = 3
#: Largest set that the search tries; beyond it, the answer is all columns or none.
_MAX_COLUMNS = 20
# More rows hardly improve a straight line; these are quick with a thousand columns.
_MAX_ROWS = 5000


def revealing_columns(X: Array, y: Array, X_new: Array, y_new: Array) -> list[int]:
    """Return the columns that explain the target almost exactly, each by itself.

    If no single column does, return the smallest set found whose straight-line model
    does, or an empty list. Held-out rows decide.

    Parameters
    ----------
    X, X_new : arrays of shape (n, n_features) and (m, n_features)
        Training and held-out rows.
    y, y_new : arrays of shape (n,) and (m,)
        NaN marks missing entries.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = 2 * X[:, 1] - 1
    >>> revealing_columns(X[:40], y[:40], X[40:], y[40:])
    [1]
    >>> y = X[:, 0] - X[:, 2]
    >>> revealing_columns(X[:40], y[:40], X[40:], y[40:])
    [0, 2]
    >>> noise = 0.01 * rng.normal(size=60)
    >>> revealing_columns(X[:40], (y + noise)[:40], X[40:], (y + noise)[40:])
    []
    """
    is_seen, is_seen_new = ~np.isnan(y), ~np.isnan(y_new)
    X, y, X_new, y_new = X[is_seen], y[is_seen], X_new[is_seen_new], y_new[is_seen_new]
    every = -(-len(y) // _MAX_ROWS) or 1
    X, y = X[::every], y[::every]
    # A classifier of two or three values, such as 0 and 1, may legitimately be exact.
    has_rows = len(y) >= _MIN_ROWS and len(y_new) >= _MIN_VALUES
    if not has_rows or len(np.unique(y)) <= _MIN_VALUES:
        return []
    # Standardised, so that nothing overflows.
    X, X_new = _standardised(X, X_new)
    centre, scale = _location(y[:, None])
    y, y_new = (y - centre[0]) / scale[0], (y_new - centre[0]) / scale[0]
    alone = [
        j
        for j in range(X.shape[1])
        if _is_exact(_line(X[:, [j]], y, X_new[:, [j]]), y_new)
        or _is_interpolated(X[:, j], y, X_new[:, j], y_new)
    ]
    return alone or _smallest_set(X, y, X_new, y_new)


def _smallest_set(X: Array, y: Array, X_new: Array, y_new: Array) -> list[int]:
    """Add the most helpful column until the line is exact; then drop needless ones."""
    varying = [int(j) for j in np.flatnonzero(X.std(axis=0) > 0)]

    def is_enough(chosen: list[int]) -> bool:
        return _is_exact(_line(X[:, chosen], y, X_new[:, chosen]), y_new)

    # With as many columns as rows, a subset may suffice though the full set does not.
    is_line_exact = is_enough(varying)
    if not is_line_exact and len(varying) < len(y) // 2:
        return []
    columns: list[int] = []
    residual = y - y.mean()
    while not (columns and is_enough(columns)):
        rest = [j for j in varying if j not in columns]
        if len(columns) == min(_MAX_COLUMNS, len(y) // 2) or not rest:
            return varying if is_line_exact else []
        columns.append(max(rest, key=lambda j: abs(float(X[:, j] @ residual))))
        residual = y - _line(X[:, columns], y, X[:, columns])
    for column in list(columns):
        others = [j for j in columns if j != column]
        if others and is_enough(others):
            columns = others
    return sorted(columns)


def _line(X: Array, y: Array, X_new: Array) -> Array:
    """Return least-squares predictions of new rows."""
    ones, ones_new = np.ones((len(X), 1)), np.ones((len(X_new), 1))
    weights = np.linalg.lstsq(np.hstack([ones, X]), y, rcond=None)[0]
    return np.asarray(np.hstack([ones_new, X_new]) @ weights)


def _is_exact(prediction: Array, target: Array) -> bool:
    # Arguments are in units of the spread of the target.
    return bool(np.sqrt(np.mean((prediction - target) ** 2)) <= MAX_ERROR)


def _is_interpolated(x: Array, y: Array, x_new: Array, y_new: Array) -> bool:
    """Return whether neighbours along one column predict the target, line or not."""
    values, position = np.unique(x, return_inverse=True)
    if len(values) < _MIN_ROWS:
        return False
    means = np.bincount(position, y) / np.bincount(position)
    # Neighbours are far apart in the tails.
    low, high = np.quantile(x, [0.05, 0.95])
    inside = (low <= x_new) & (x_new <= high)
    target = y_new[inside]
    if len(target) < _MIN_VALUES or not (spread := np.std(target)):
        return False
    prediction = np.interp(x_new[inside], values, means)
    return _is_exact(prediction / spread, target / spread)


def _standardised(X: Array, X_new: Array) -> tuple[Array, Array]:
    centre, scale = _location(X)
    return (X - centre) / scale, (X_new - centre) / scale


def _location(X: Array) -> tuple[Array, Array]:
    """Return centre and spread of columns, the spread 1 where it is zero."""
    largest = np.max(np.abs(X), axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    centre, scale = np.mean(X / unit, axis=0), np.std(X / unit, axis=0)
    return centre * unit, np.where(scale > 0, scale, 1.0) * unit
