"""Columns that say how rows belong together: times and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from betanll.columns._cells import Cells, parse_cells
from betanll.columns._column import Column
from betanll.columns._errors import TableError, check_known
from betanll.columns._infer import Known, infer_column
from betanll.columns._read import values_of
from betanll.sentences import option
from betanll.typing import Array

#: A column of dates that sorts fewer rows than these may do so by chance.
_MIN_SORTED = 20


def times_of(frame: pd.DataFrame, name: str, known: Known | None = None) -> Array:
    """Return the times in a column of dates or numbers, in days or as they are.

    Examples
    --------
    >>> times_of(pd.DataFrame({"day": ["1970-01-02", "1970-01-11"]}), "day")
    array([ 1., 10.])
    """
    check_known([name], list(frame.columns))
    column = infer_column(frame, name, known).column
    if column.kind not in ("number", "date") or column.has_text:
        raise TableError(
            f"column {name!r} is read as {column.kind} and cannot order rows by time: "
            "it needs dates or numbers "
            f"({option('--as', name + '=date:%d/%m/%Y')} says how dates are written)"
        )
    return _complete(_values(frame, column), frame, name, "no time")


def groups_of(frame: pd.DataFrame, name: str) -> NDArray[np.intp]:
    """Return a number for each group in a column.

    Examples
    --------
    >>> groups_of(pd.DataFrame({"city": ["Ulm", "Bonn", "Ulm"]}), "city")
    array([0, 1, 0])
    """
    check_known([name], list(frame.columns))
    codes = parse_cells(frame, name).texts()[0]
    _complete(np.where(codes < 0, np.nan, codes), frame, name, "no group")
    return codes


def sorting_dates(columns: Sequence[Column], frame: pd.DataFrame) -> list[str]:
    """Return the columns of dates by which the rows are sorted."""
    if len(frame) < _MIN_SORTED:
        return []
    found = []
    for column in columns:
        if column.kind != "date" or column.has_missing:
            continue
        steps = np.diff(_values(frame, column))
        if np.any(steps) and (np.all(steps >= 0) or np.all(steps <= 0)):
            found.append(column.name)
    return found


def _values(frame: pd.DataFrame, column: Column) -> Array:
    return values_of(column, _cells(frame, column))


def _cells(frame: pd.DataFrame, column: Column) -> Cells:
    return parse_cells(frame, column.name, 0, column.notation)


def _complete(values: Any, frame: pd.DataFrame, name: str, lack: str) -> Array:
    """Return the values, or raise if one is missing."""
    is_missing = np.isnan(values)
    if is_missing.any():
        n = int(is_missing.sum())
        more = f" ({n} such rows)" if n > 1 else ""
        fault = parse_cells(frame, name).fault(is_missing, "")
        where = str(fault).rpartition(":")[0]
        raise TableError(
            f"{where}: the cell is empty, so the row has {lack}{more}; fill the column "
            "or leave the rows out"
        )
    return np.asarray(values, np.float64)
