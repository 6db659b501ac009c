"""The days of cells that are dates, texts or numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from betanll.columns._cells import DATE, MISSING, NUMBER, Cells, judge
from betanll.columns._dates import ISO, padded, parse, parse_numbers


def dates(
    cells: Cells, form: str | None, *, has_text: bool = False
) -> NDArray[np.float64]:
    """Return the days of a column of dates, NaN where missing.

    `form` is the format of texts and numbers, None for cells that are dates already.
    With `has_text`, cells that are not dates count as missing.
    """
    days = found_dates(cells, form)
    is_wrong = np.isnan(days) & (cells.kinds != MISSING)
    if not has_text and is_wrong.any():
        written = "" if form in (None, ISO) else f" of the format {form}"
        raise cells.fault(is_wrong, f"is not a date{written}")
    return days


def found_dates(cells: Cells, form: str | None) -> NDArray[np.float64]:
    """Return the days of a column of dates, NaN where a cell is not a date."""
    if cells.codes is None:
        is_number = cells.kinds == NUMBER
        if not is_number.any():
            return cells.values
        values = np.where(is_number, cells.values, np.nan)
        return np.where(is_number, parse_numbers(values, form), cells.values)
    days = np.full(len(cells.distinct) + 1, np.nan)
    texts: dict[int, str] = {}
    for i, cell in enumerate(cells.distinct):
        kind, value = judge(cell)
        if kind == DATE:
            days[i] = value
        elif kind == NUMBER and not isinstance(cell, str):
            days[i] = parse_numbers(np.array([value]), form)[0]
        elif kind != MISSING and isinstance(cell, str):
            text = cell.strip()
            texts[i] = padded(text, form) if form not in (None, ISO) else text
    if texts:
        days[list(texts)] = parse(list(texts.values()), form or ISO)
    return days[cells.codes]
