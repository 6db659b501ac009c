"""Cells outside of the range of the training data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from betanll.estimators import HeteroscedasticRegressor
from betanll.evaluation._inputs import InputColumn, InputRows
from betanll.preprocessing import QuantilePositions
from betanll.typing import Array


class OutsideCell(NamedTuple):
    """A cell unlike those that the model was trained on.

    Parameters
    ----------
    column, value : str
        The cell as a sentence shows it.
    seen : str
        What training has seen instead, such as ``"seen: 3 to 80"``.
    """

    column: str
    value: str
    seen: str

    def __str__(self) -> str:
        return f"{self.column} is {self.value} ({self.seen})"


def outside_cells(rows: InputRows) -> list[list[OutsideCell]]:
    """Return for each row its cells outside of the training data.

    Numbers and dates are compared with the least and the greatest training value,
    categories with the levels. A cell is outside as well if it is missing in a column
    that was complete in training.
    """
    bounds = _bounds(rows.model)
    found: list[list[OutsideCell]] = [[] for _ in range(len(rows))]
    for column in rows.columns:
        cells = column.cells
        if cells.kind in ("number", "date") and bounds is not None:
            low, high = _range(column, bounds)
            seen = f"seen: {cells.shown(low)} to {cells.shown(high)}"
            with np.errstate(invalid="ignore"):
                is_outside = (cells.values < low) | (cells.values > high)
            _note(found, column, is_outside, seen)
        elif cells.kind == "category":
            is_outside, seen = _unseen(column)
            _note(found, column, is_outside, seen)
        if column.description is not None and not column.description.has_missing:
            _note(found, column, np.isnan(cells.values), "never missing in training")
    return found


def _note(
    found: list[list[OutsideCell]],
    column: InputColumn,
    is_outside: np.ndarray,
    seen: str,
) -> None:
    for i in np.flatnonzero(is_outside):
        value = column.cells.shown(float(column.cells.values[i]))
        found[i].append(OutsideCell(column.name, value, seen))


def _bounds(model: HeteroscedasticRegressor) -> Array | None:
    """Return the least and the greatest training value of the encoded columns."""
    seen = getattr(model, "input_range_", None)
    if seen is None and isinstance(model.inputs_, QuantilePositions):
        # Models that were saved earlier know the outer quantiles.
        knots = model.inputs_.knots
        seen = np.stack([knots[0], np.where(np.isinf(knots), -np.inf, knots).max(0)])
    return seen


def _range(column: InputColumn, bounds: Array) -> tuple[float, float]:
    """Return the bounds of a column of the table, in the unit of its cells."""
    low, high = bounds[:, column.places[0]].tolist()
    if column.cells.kind == "date":
        # The first part of a date is the number of days since the middle one.
        assert column.description is not None
        assert column.description.fill is not None
        low, high = (bound + column.description.fill for bound in (low, high))
        # Sums of days are rounded; a millisecond is no difference.
        return low - 1e-8, high + 1e-8
    return low, high


def _unseen(column: InputColumn) -> tuple[np.ndarray, str]:
    """Return which rows have an unknown level."""
    assert column.description is not None
    known, levels = column.description.levels, column.cells.levels
    unknown = [i for i, level in enumerate(levels) if level not in set(known)]
    seen = f"not among the {len(known)} levels of the training data"
    if column.description.has_rare:
        seen = "rare or new: training has less than 3 rows of it"
    return np.isin(column.cells.values, unknown), seen
