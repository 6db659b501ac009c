"""Columns that only count the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from betanll.columns._cells import numbers, parse_cells
from betanll.columns._encoder import ColumnEncoder

# Fewer whole numbers in order may well be a coincidence.
_MIN_ROWS = 10
# Rows that were removed leave gaps; a counter keeps at least half of its numbers.
_MAX_MEAN_STEP = 2


def row_counters(encoder: ColumnEncoder, frame: pd.DataFrame) -> list[str]:
    """Return the columns of numbers that look like row numbers or running ids.

    Examples
    --------
    >>> frame = pd.DataFrame({"row": range(1, 13), "age": [3, 4] * 6})
    >>> row_counters(ColumnEncoder.infer(frame), frame)
    ['row']
    """
    return [
        column.name
        for column in encoder.columns
        if column.kind == "number"
        and not column.has_missing
        and counts_rows(numbers(parse_cells(frame, column.name, 0, column.notation)))
    ]


def counts_rows(values: NDArray[np.float64]) -> bool:
    """Return whether values number the rows: 0, 1, 2, ... or the like.

    True for whole numbers that, in any order, have one distance, and for whole numbers
    that only rise or only fall and leave out at most every second one. Positions such
    as 0, 0.1, 0.2 are measurements, not counts.

    Examples
    --------
    >>> counts_rows(np.arange(100.0, 0, -5))
    True
    >>> counts_rows(np.linspace(0, 1, 20))
    False
    """
    if len(values) < _MIN_ROWS or not np.all(values % 1 == 0):
        return False
    steps = np.diff(values)
    is_in_order = bool(np.all(steps > 0) or np.all(steps < 0))
    if is_in_order and np.mean(np.abs(steps)) <= _MAX_MEAN_STEP:
        return True
    gaps = np.abs(steps) if is_in_order else np.diff(np.sort(values))
    return bool(gaps[0] > 0 and np.all(gaps == gaps[0]))
