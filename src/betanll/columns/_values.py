"""The cells of a column as people read them, for explanations."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from betanll.columns._cells import parse_cells
from betanll.columns._column import Column, Kind
from betanll.columns._dates import shown_date
from betanll.columns._read import values_of
from betanll.sentences import shown
from betanll.typing import Array

_BOOLEANS = ("false", "true")


class ColumnValues(NamedTuple):
    """The cells of one column.

    Parameters
    ----------
    kind : {"number", "boolean", "category", "date"}
    values : array of shape (n,)
        Numbers, 0 or 1, days since 1970, or for a category the position in `levels`;
        NaN where missing.
    levels : tuple of str
        The different cells of a category.
    """

    kind: Kind
    values: Array
    levels: tuple[str, ...] = ()

    def shown(self, value: float) -> str:
        """Return a value as a sentence shows it.

        Examples
        --------
        >>> ColumnValues("date", np.array([0.0])).shown(365.5)
        '1971-01-01 12:00:00'
        >>> ColumnValues("category", np.array([0.0]), ("red",)).shown(0.0)
        "'red'"
        """
        if math.isnan(value):
            return "missing"
        if self.kind == "category":
            return shown(self.levels[int(value)])
        if self.kind == "boolean":
            return _BOOLEANS[int(value)]
        return shown_date(value) if self.kind == "date" else f"{value:.6g}"


def read_values(column: Column, frame: pd.DataFrame) -> ColumnValues:
    """Return the cells of a column by the rules of the training table.

    Examples
    --------
    >>> frame = pd.DataFrame({"price": ["$5,700", None], "colour": ["red", "blue"]})
    >>> from betanll.columns import ColumnEncoder
    >>> price, colour = ColumnEncoder.infer(frame).columns
    >>> read_values(price, frame).values
    array([5700.,   nan])
    >>> read_values(colour, frame).levels
    ('red', 'blue')
    """
    cells = parse_cells(frame, column.name, 0, column.notation)
    if column.kind != "category":
        return ColumnValues(column.kind, values_of(column, cells))
    codes, texts = cells.texts()
    values = np.where(codes < 0, np.nan, codes.astype(np.float64))
    return ColumnValues("category", values, tuple(texts))
