"""From the cells of a training table to how its columns are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betanll.columns._cells import (
    BOOLEAN,
    BOOLEAN_PAIRS,
    DATE,
    MISSING,
    NUMBER,
    TEXT,
    Cells,
    booleans,
    judge,
    numbers,
    parse_cells,
)
from betanll.columns._column import KINDS, MAX_ONE_HOT, Column
from betanll.columns._dates import is_format
from betanll.columns._errors import TableError
from betanll.columns._infer_dates import (
    COMPACT,
    are_compact,
    date_column,
    find_dates,
)
from betanll.columns._notation import Notation, find_notation
from betanll.columns._precision import median, needs_double
from betanll.sentences import option, shown

#: Attribute of a table with the decimal mark of its file, unless that is a point.
DECIMAL = "decimal"
#: Rows of a level that has an input of its own.
MIN_LEVEL_ROWS = 3
#: More distinct texts than this, in more than half of the rows, are no categories.
MAX_DISTINCT = 50
#: Where so many of the cells that are not missing are numbers, or half of them and the
#: others are very few different texts, these count as missing.
_MOST, _MAX_ODD = 0.9, 3
#: What is known of a column before its cells are looked at.
Known = str | Column


@dataclass(frozen=True)
class Inferred:
    """A column, and sentences on what was noticed while reading it."""

    column: Column
    notes: tuple[str, ...] = ()


def infer_notation(frame: pd.DataFrame, name: str) -> Notation | None:
    """Return how the numbers of a text column are written, None if it has others."""
    return _notation(frame, parse_cells(frame, name))


def _notation(frame: pd.DataFrame, cells: Cells) -> Notation | None:
    if not np.any(cells.kinds == TEXT):
        return None
    decimal = frame.attrs.get(DECIMAL, ".")
    return find_notation(cells.name, cells.distinct, "," if decimal == "," else ".")


def infer_column(
    frame: pd.DataFrame, name: str, known: Known | None = None
) -> Inferred:
    """Return how a feature is read.

    Parameters
    ----------
    frame : DataFrame
    name : str
    known : str or Column, optional
        Its kind, also ``"date:FORMAT"``; or a column that was inferred from a larger
        table, of which kind, notation and format stay.
    """
    kind: str | None = None
    form, notation = None, None
    if isinstance(known, Column):
        kind, form, notation = known.kind, known.date_format, known.notation
    elif known is not None:
        kind, _, text = known.partition(":")
        form = text or None
    if kind == "ignored":
        return Inferred(Column(name, "ignored"))
    cells = parse_cells(frame, name, 0, notation)
    if not isinstance(known, Column) and kind in (None, "number"):
        notation = _notation(frame, cells)
        if notation is not None:
            cells = parse_cells(frame, name, 0, notation)
    counts = np.bincount(cells.kinds, minlength=5)
    n_present = len(cells.kinds) - int(counts[MISSING])
    if n_present == 0:
        return Inferred(Column(name, "ignored"), ("has no values and is not used",))
    if isinstance(known, Column) and known.has_text:
        if kind == "date":
            return Inferred(*date_column(cells, form, has_text=True))
        return _number(cells, None, has_text=True)
    if kind is not None:
        return _READERS[kind](cells, form)
    if counts[DATE] == n_present:
        return _date(cells, None)
    if counts[NUMBER] == n_present:
        return _number(cells, None)
    if counts[BOOLEAN] == n_present and _is_boolean(cells):
        return _boolean(cells, None)
    if (found := find_dates(cells)) is not None:
        return Inferred(*date_column(cells, None, found))
    if _has_odd_texts(cells, int(counts[NUMBER]), n_present):
        return _number(cells, None, has_text=True)
    return _category(cells, None, n_present=n_present)


def _number(cells: Cells, _: str | None, *, has_text: bool = False) -> Inferred:
    has_number = bool(np.any(cells.kinds == NUMBER))
    values = numbers(cells, has_text=has_text and has_number)
    seen = values[~np.isnan(values)]
    column = Column(
        cells.name,
        "number",
        has_missing=len(seen) < len(values),
        fill=median(seen),
        notation=cells.notation,
        has_text=has_text,
        is_double=needs_double(seen),
    )
    is_odd = cells.kinds > NUMBER
    n_odd = int(np.sum(is_odd))
    if not n_odd:
        return Inferred(column, _number_notes(cells))
    where = cells.place(is_odd)
    where += f" and {n_odd - 1} more cells count" if n_odd > 1 else " counts"
    note = (
        f"is read as numbers; {where} as missing; "
        f"{option('--as', cells.name + '=category')} reads it as categories"
    )
    return Inferred(column, (note,))


def _number_notes(cells: Cells) -> tuple[str, ...]:
    if are_compact(cells):
        choice = option("--as", f"{cells.name}=date:{COMPACT}")
        return (f"looks like dates of the form 20200131; {choice} reads it so",)
    return ()


def _has_odd_texts(cells: Cells, n_numbers: int, n_present: int) -> bool:
    """Tell whether a column has numbers, and texts that stand for missing ones."""
    odd = {cell for cell in cells.distinct if judge(cell, cells.notation)[0] > NUMBER}
    return n_numbers >= _MOST * n_present or (
        2 * n_numbers >= n_present and len(odd) <= _MAX_ODD
    )


def _boolean(cells: Cells, _: str | None) -> Inferred:
    values = booleans(cells)
    seen = values[~np.isnan(values)]
    fill = float(2 * np.sum(seen) > len(seen))
    has_missing = len(seen) < len(values)
    return Inferred(Column(cells.name, "boolean", has_missing, fill))


def _date(cells: Cells, form: str | None) -> Inferred:
    return Inferred(*date_column(cells, form))


def _category(cells: Cells, _: str | None, n_present: int | None = None) -> Inferred:
    codes, texts = cells.texts()
    sizes = np.bincount(codes[codes >= 0], minlength=len(texts))
    has_missing = bool(np.any(codes < 0))
    if n_present and len(texts) > MAX_DISTINCT and 2 * len(texts) > n_present:
        return Inferred(
            Column(cells.name, "ignored"),
            (
                f"has {len(texts)} different texts in {n_present} rows, so it is not "
                f"used; {option('--as', cells.name + '=category')} uses it",
            ),
        )
    order = sorted(range(len(texts)), key=lambda i: (-sizes[i], texts[i]))
    levels = tuple(sorted(texts))
    has_rare = False
    if len(texts) <= MAX_ONE_HOT:
        frequent = [texts[i] for i in order if sizes[i] >= MIN_LEVEL_ROWS]
        # Levels of a small table may all be rare.
        if 2 <= len(frequent) < len(texts):
            levels, has_rare = tuple(sorted(frequent)), True
    column = Column(
        cells.name, "category", has_missing, levels=levels, has_rare=has_rare
    )
    return Inferred(column)


_READERS: dict[str, Callable[[Cells, str | None], Inferred]] = {
    "number": _number,
    "boolean": _boolean,
    "category": _category,
    "date": _date,
}


def _is_boolean(cells: Cells) -> bool:
    """Tell whether truth words are of one pair; a lone letter may mean anything."""
    words = {
        cell.strip().lower() if isinstance(cell, str) else str(bool(cell)).lower()
        for cell in cells.distinct
        if judge(cell)[0] != MISSING
    }
    return any(
        words.issubset(pair) and (len(words) == 2 or pair in BOOLEAN_PAIRS[:2])
        for pair in BOOLEAN_PAIRS
    )


def check_kinds(kinds: Any) -> None:
    """Refuse a choice of kinds that no column can have."""
    if not isinstance(kinds, Mapping):
        raise TableError(
            "kinds of columns must be a mapping such as {'zip': 'category'}, got "
            f"{shown(kinds)}"
        )
    for name, known in kinds.items():
        if isinstance(known, Column):
            continue
        kind, _, form = str(known).partition(":")
        if kind not in KINDS or (form and (kind != "date" or not is_format(form))):
            raise TableError(
                f"column {name!r} cannot be read as {known!r}: choose one of "
                f"{', '.join(KINDS)} or date:FORMAT such as date:%d/%m/%Y"
            )
