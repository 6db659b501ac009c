"""Columns of dates: how they are written, and which of their cells are odd."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from betanll.columns._cells import (
    BOOLEAN,
    DATE,
    MISSING,
    NUMBER,
    TEXT,
    Cells,
    judge,
)
from betanll.columns._column import Column
from betanll.columns._date_cells import dates, found_dates
from betanll.columns._dates import (
    MIN_SHARE,
    find_format,
    parse_numbers,
    shown_date,
    varying_parts,
)
from betanll.columns._precision import median
from betanll.sentences import option
from betanll.typing import Array

#: How whole numbers write dates.
COMPACT = "%Y%m%d"
_COMPACT_RANGE = 1800_01_01, 2100_12_31
#: Fewer distinct numbers may look like dates by chance.
_MIN_COMPACT = 5
#: Dates that stand for none.
_SENTINELS = (
    *("0001-01-01", "1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31"),
    *("1900-01-01", "1901-01-01", "1970-01-01", "2099-12-31", "2100-01-01"),
    *("2999-12-31", "9999-01-01", "9999-12-31"),
)
#: Days between a date that stands for none and the others, and what they span.
_MIN_GAP, _MIN_RELATIVE_GAP = 3652.0, 0.5


def find_dates(cells: Cells) -> tuple[str, str | None] | None:
    """Return the format of the dates of a column, and another one, if it has them."""
    counts = np.bincount(cells.kinds, minlength=5)
    n_others = counts[NUMBER] + counts[BOOLEAN]
    n_dates = counts[TEXT] + counts[DATE]
    if not counts[TEXT] or n_dates < MIN_SHARE * (n_dates + n_others):
        return None
    return find_format(_texts(cells))


def date_column(
    cells: Cells,
    form: str | None,
    found: tuple[str, str | None] | None = None,
    *,
    has_text: bool = False,
) -> tuple[Column, tuple[str, ...]]:
    """Return how dates are read, and notes.

    Parameters
    ----------
    cells : Cells
    form : str or None
        The format, if it was chosen.
    found : tuple, optional
        What `find_dates` returned.
    has_text : bool, default=False
        Whether cells that are not dates count as missing.
    """
    other = None
    if form is None:
        found = found or find_dates(cells)
        if found is not None:
            form, other = found
            has_text = True
        elif np.any(is_text := cells.kinds == TEXT):
            raise cells.fault(
                is_text,
                "is not a date, or not all cells have one format: give it as in "
                + option("--as", f"{cells.name}=date:%d/%m/%Y"),
            )
        elif are_compact(cells):
            form = COMPACT
    elif not has_text and (found := find_format(_texts(cells))) is not None:
        other = found[1] if found[0] == form else None
    days = found_dates(cells, form)
    is_bad = np.isnan(days) & (cells.kinds != MISSING)
    if not has_text or np.isnan(days).all():
        days = dates(cells, form)  # raises if a cell is bad
    seen = days[~np.isnan(days)]
    column = Column(
        cells.name,
        "date",
        has_missing=len(seen) < len(days),
        fill=median(seen),
        date_format=form,
        parts=varying_parts(seen),
        has_text=has_text and (found is None or bool(is_bad.any())),
    )
    return column, tuple(_notes(cells, days, is_bad, form, other))


def _notes(
    cells: Cells,
    days: Array,
    is_bad: NDArray[np.bool_],
    form: str | None,
    other: str | None,
) -> Iterator[str]:
    if other is not None:
        yield (
            f"is read as dates of the format {form}, but {other} fits as well: choose "
            f"with {option('--as', f'{cells.name}=date:{other}')}"
        )
    if n := int(np.sum(is_bad)):
        which = f"{cells.place(is_bad)} "
        which += f"and {n - 1} more cells are not" if n > 1 else "is not"
        count = "count" if n > 1 else "counts"
        yield f"is read as dates; {which} of the format {form} and {count} as missing"
    yield from _sentinels(days)


def _sentinels(days: Array) -> Iterator[str]:
    distinct = np.unique(days[~np.isnan(days)])
    known = np.array(_SENTINELS, "datetime64[D]").astype(np.float64)
    rest = distinct[~np.isin(np.floor(distinct), known)]
    if not len(rest):
        return
    gap = max(_MIN_GAP, _MIN_RELATIVE_GAP * float(np.ptp(rest)))
    for day in distinct[np.isin(np.floor(distinct), known)]:
        if day < rest[0] - gap or day > rest[-1] + gap:
            n = int(np.sum(days == day))
            text = shown_date(float(day))
            yield (
                f"has {n} {'cell' if n == 1 else 'cells'} {text}, far from the other "
                f"dates: if they stand for no date, give {option('--na-values', text)}"
            )


def are_compact(cells: Cells) -> bool:
    """Return whether all numbers of a column are dates such as 20200131."""
    numbers = cells.values[cells.kinds == NUMBER]
    low, high = _COMPACT_RANGE
    if not len(numbers) or not np.all((numbers >= low) & (numbers <= high)):
        return False
    distinct = np.unique(numbers)
    return (
        len(distinct) >= _MIN_COMPACT
        and not np.isnan(parse_numbers(distinct, COMPACT)).any()
    )


def _texts(cells: Cells) -> list[str]:
    return [
        cell
        for cell in cells.distinct
        if isinstance(cell, str) and judge(cell)[0] != MISSING
    ]
