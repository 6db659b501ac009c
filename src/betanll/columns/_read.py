"""The numbers that a network reads of one column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from betanll.columns._cells import (
    Cells,
    booleans,
    category_codes,
    cell_fault,
    numbers,
)
from betanll.columns._column import Column
from betanll.columns._date_cells import dates
from betanll.columns._dates import parts
from betanll.typing import Array

#: Codes of levels that are rare or unseen, and of missing cells.
UNKNOWN, MISSING_LEVEL = -1, -2
_BLOCK_ROWS = 2**16


def encode_column(
    column: Column, cells: Cells, described: Array | None, matrix: NDArray[Any]
) -> None:
    """Write the encoded columns of one column into a matrix of zeros."""
    if column.kind == "category":
        _encode_levels(column, codes_of(column, cells), described, matrix)
        return
    values = values_of(column, cells)
    is_missing = np.isnan(values)
    assert column.fill is not None
    values = np.where(is_missing, column.fill, values)
    if column.kind == "date":
        for start in range(0, len(values), _BLOCK_ROWS):  # parts take much memory
            rows = slice(start, start + _BLOCK_ROWS)
            named = parts(values[rows], column.fill)
            for j, part in enumerate(column.parts):
                matrix[rows, j] = named[part]
    else:
        matrix[:, 0] = values
    if column.has_missing:
        matrix[:, -1] = is_missing


def _encode_levels(
    column: Column,
    codes: NDArray[np.intp],
    described: Array | None,
    matrix: NDArray[Any],
) -> None:
    width = len(column.levels)
    if column.has_many_levels:
        if described is None:
            places = np.where(codes < 0, width, codes)
            described = np.array(column.statistics)[places]
        width = described.shape[1]
        matrix[:, :width] = described
    else:
        rows = np.flatnonzero(codes >= 0)
        matrix[rows, codes[rows]] = 1
    if column.has_rare:
        matrix[codes == UNKNOWN, width] = 1
    if column.has_missing:
        matrix[codes == MISSING_LEVEL, -1] = 1


def values_of(column: Column, cells: Cells) -> Array:
    """Return the numbers of a column that is no category, NaN where missing."""
    if column.kind == "number":
        return numbers(cells, has_text=column.has_text)
    if column.kind == "boolean":
        return booleans(cells)
    return dates(cells, column.date_format, has_text=column.has_text)


def codes_of(column: Column, cells: Cells) -> NDArray[np.intp]:
    return category_codes(cells, column.levels, missing=MISSING_LEVEL, unknown=UNKNOWN)


def plain_matrix(
    frame: pd.DataFrame, names: list[str], first_row: int
) -> NDArray[np.float64]:
    plain = frame[names]
    matrix = np.array(plain.to_numpy(np.float64), order="C")
    is_finite = np.isfinite(matrix)
    if not is_finite.all():
        j = int(np.argmax(~is_finite.all(axis=0)))
        raise cell_fault(
            plain[names[j]], ~is_finite[:, j], "is not a finite number", first_row
        )
    return matrix


def is_numpy_number(series: pd.Series) -> bool:
    dtype = series.dtype
    is_number = isinstance(dtype, np.dtype) and dtype.kind in "iuf"
    return is_number and not (dtype.kind == "f" and bool(series.isna().any()))
