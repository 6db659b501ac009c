"""How predictions change with one column, on average over the others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from betanll.columns import ColumnValues
from betanll.evaluation._inputs import InputColumn, InputRows, sample_of
from betanll.typing import Array, Rows

_N_QUANTILES = 12
_MAX_LEVELS = 10
#: Predictions for one column, as many as one pass of the networks takes.
_N_PREDICTIONS = 4096


class PartialDependence(NamedTuple):
    """Predictions for one target with a column set to one value after the other.

    Parameters
    ----------
    column : str
    kind : {"number", "boolean", "category", "date"}
    values : array of shape (k,)
        Numbers; days since 1970 for dates; 0, 1, 2, ... for categories.
    labels : tuple of k str
        The values as a sentence shows them.
    shares : array of shape (k,)
        Share of the rows with a level; NaN for numbers and dates.
    mean, lower, upper, std : arrays of shape (k,)
        Mean, ends of the 90% interval and standard deviation, each averaged over rows
        that differ in the other columns alone.
    """

    column: str
    kind: str
    values: Array
    labels: tuple[str, ...]
    shares: Array
    mean: Array
    lower: Array
    upper: Array
    std: Array


def partial_dependences(
    rows: InputRows, column: InputColumn, *, seed: int
) -> list[PartialDependence]:
    """Return for each target how predictions depend on a column.

    The values are those of some rows, "donors": quantiles of numbers and dates, the
    most frequent levels of categories. Each donor's cell is put into the same sample
    of rows.
    """
    donors, shares = _donors(column.cells)
    n_rows = max(1, _N_PREDICTIONS // len(donors))
    others = rows.matrix[sample_of(np.arange(len(rows)), n_rows, seed)]
    stacked = np.tile(others, (len(donors), 1))
    cells = rows.matrix[np.ix_(donors, column.places)]
    stacked[:, column.places] = np.repeat(cells, len(others), axis=0)
    predictive = rows.predict(stacked)
    interval = rows.interval(predictive)

    def averaged(values: Array) -> Array:
        return values.reshape(len(donors), len(others), -1).mean(axis=1)

    mean, std = averaged(predictive.mean), averaged(predictive.std)
    lower, upper = averaged(interval[:, 0]), averaged(interval[:, 1])
    values = column.cells.values[donors]
    is_ordered = column.cells.kind in ("number", "date")
    return [
        PartialDependence(
            column.name,
            column.cells.kind,
            values if is_ordered else np.arange(len(donors), dtype=np.float64),
            tuple(_label(column.cells, value) for value in values),
            shares,
            mean[:, i],
            lower[:, i],
            upper[:, i],
            std[:, i],
        )
        for i in range(mean.shape[1])
    ]


def _donors(cells: ColumnValues) -> tuple[Rows, Array]:
    """Return rows whose cells are the values to try, and the shares of levels."""
    if cells.kind in ("number", "date"):
        donors = _quantile_rows(cells.values)
        if len(donors):
            return donors, np.full(len(donors), np.nan)
    # Missing cells are a level of their own, the last one.
    codes = np.where(np.isnan(cells.values), np.inf, cells.values)
    levels, first, counts = np.unique(codes, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MAX_LEVELS]
    if cells.kind == "boolean":
        order = np.arange(len(levels))
    return first[order], counts[order] / len(codes)


def _quantile_rows(values: Array) -> Rows:
    """Return rows with the values that divide the others into equal parts."""
    order = np.argsort(values, kind="stable")[: np.sum(~np.isnan(values))]
    distinct, first = np.unique(values[order], return_index=True)
    if len(distinct) <= _N_QUANTILES:
        return order[first]
    # Beyond the outer ones there are few rows to learn from.
    levels = np.linspace(0.02, 0.98, _N_QUANTILES)
    chosen = order[np.round(levels * (len(order) - 1)).astype(np.intp)]
    _, first = np.unique(values[chosen], return_index=True)
    return chosen[first]


def _label(cells: ColumnValues, value: float) -> str:
    is_level = cells.kind == "category" and not np.isnan(value)
    return cells.levels[int(value)] if is_level else cells.shown(value)
