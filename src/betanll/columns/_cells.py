"""What a cell means: missing, a number, true or false, text, or a date.

The meaning does not depend on how pandas happened to store the column, which differs
between files and between chunks of one file.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from betanll.columns._dates import (
    days_of,
    series_days,
)
from betanll.columns._errors import TableError
from betanll.sentences import option, shown

if TYPE_CHECKING:
    from betanll.columns._notation import Notation

MISSING, NUMBER, BOOLEAN, TEXT, DATE = range(5)

MISSING_TEXTS = frozenset(
    {"", "?", "-", "NA", "na", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN"}
    | {"NULL", "Null", "null", "None"}
)
BOOLEAN_PAIRS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"))
BOOLEAN_WORDS = {pair[i]: float(i) for pair in BOOLEAN_PAIRS for i in (0, 1)}

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?",
    re.IGNORECASE,
)
_DATES = (datetime.date, np.datetime64)
_DURATIONS = (datetime.time, datetime.timedelta, np.timedelta64)


@dataclass(frozen=True)
class Cells:
    """The cells of one column by meaning.

    `kinds` and `values` have one element a row. A value is the number, or 0 or 1 for
    false or true, or the days of a date since 1970, or NaN. `codes` and `distinct` are
    None for a column that pandas holds as numbers or time stamps; else
    ``distinct[codes[i]]`` is the cell of row i.
    """

    series: pd.Series
    first_row: int
    kinds: NDArray[np.int8]
    values: NDArray[np.float64]
    codes: NDArray[np.intp] | None = None
    distinct: tuple[Any, ...] = ()
    notation: Notation | None = None

    @property
    def wanted(self) -> str:
        """What all cells of a column of numbers must be."""
        return "a number" if self.notation is None else self.notation.wanted

    @property
    def name(self) -> str:
        return str(self.series.name)

    def fault(self, is_wrong: NDArray[np.bool_], complaint: str) -> TableError:
        """Return the error that names the first cell of `is_wrong`."""
        return cell_fault(self.series, is_wrong, complaint, self.first_row)

    def place(self, is_wrong: NDArray[np.bool_]) -> str:
        """Return row and content of the first cell of `is_wrong`."""
        return cell_place(self.series, is_wrong, self.first_row)

    def texts(self) -> tuple[NDArray[np.intp], list[str]]:
        """Return a code for each row, -1 if missing, and the text of each code."""
        codes, distinct = self.codes, self.distinct
        if codes is None:
            codes, uniques = pd.factorize(self.values)
            distinct = tuple(uniques.tolist())
        number: dict[str, int] = {}
        mapping = [
            number.setdefault(category_text(cell), len(number))
            if judge(cell)[0] != MISSING
            else -1
            for cell in distinct
        ]
        return np.array([*mapping, -1], np.intp)[codes], list(number)


def parse_cells(
    frame: pd.DataFrame,
    name: str,
    first_row: int = 0,
    notation: Notation | None = None,
) -> Cells:
    """Return the cells of a column, or raise if it has nested values.

    With a notation, texts that are written so are numbers, and nothing else is.
    """
    series = frame[name]
    types = pd.api.types
    if types.is_datetime64_any_dtype(series.dtype):
        values = series_days(series)
        kinds = np.where(np.isnan(values), MISSING, DATE).astype(np.int8)
        return Cells(series, first_row, kinds, values, notation=notation)
    if types.is_timedelta64_dtype(series.dtype):
        series = (series.dt.total_seconds() / 86_400).rename(name)
    if types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
        if types.is_complex_dtype(series.dtype):
            raise TableError(f"column {name!r} holds complex numbers")
        is_numpy = isinstance(series.dtype, np.dtype)
        values = series.to_numpy(np.float64, **({} if is_numpy else _NA_AS_NAN))
        kinds = np.where(np.isnan(values), MISSING, NUMBER).astype(np.int8)
        if notation is not None and not notation.allows(1):
            kinds[(kinds == NUMBER) & (values != 0)] = TEXT
        return Cells(series, first_row, kinds, values, notation=notation)
    try:
        codes, uniques = factorized(series)
        distinct = tuple(map(plain_cell, uniques))
        judged = [judge(cell, notation) for cell in distinct]
    except TypeError:
        raise _nested(series, first_row) from None
    # Code -1 stands for missing and picks the last element.
    kinds = np.array([kind for kind, _ in judged] + [MISSING], np.int8)[codes]
    values = np.array([value for _, value in judged] + [np.nan])[codes]
    return Cells(series, first_row, kinds, values, codes, distinct, notation)


_NA_AS_NAN: dict[str, Any] = {"na_value": np.nan}


def _nested(series: pd.Series, first_row: int) -> TableError:
    """Return the error that names the first cell that is no single value."""

    def is_nested(cell: Any) -> bool:
        try:
            return judge(plain_cell(cell)) is None
        except TypeError:
            return not (cell is None or cell is pd.NA or cell is pd.NaT)

    is_wrong = np.array([is_nested(cell) for cell in series], np.bool_)
    complaint = (
        "is neither a number nor text nor a date: leave the column out with "
        f"{option('--drop', str(series.name))}"
    )
    return cell_fault(series, is_wrong, complaint, first_row)


def factorized(series: pd.Series) -> tuple[NDArray[np.intp], list[Any]]:
    """Return a code for each row, -1 if missing, and the cell of each code.

    Raises
    ------
    TypeError
        If cells are no single values.
    """
    try:
        codes, uniques = pd.factorize(series)
    except NotImplementedError:  # lists and the like of Arrow
        raise TypeError from None
    except TypeError:
        cells = [None if _is_no_decimal(cell) else cell for cell in series]
        codes, uniques = pd.factorize(pd.Series(cells, dtype=object))
    return codes, uniques.tolist()


def _is_no_decimal(cell: Any) -> bool:
    # One kind of them has no hash.
    return isinstance(cell, Decimal) and cell.is_nan()


def plain_cell(cell: Any) -> Any:
    """Return a cell of a rarer type as text, number or date."""
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    if isinstance(cell, UUID | pd.Interval):
        return str(cell)
    if isinstance(cell, pd.Period):
        return cell.start_time
    if isinstance(cell, Fraction):
        return float(cell)
    return None if _is_no_decimal(cell) else cell


def judge(cell: Any, notation: Notation | None = None) -> tuple[int, float]:
    """Return the kind and the value of one cell."""
    if notation is not None:
        return _judge_by(notation, cell)
    if isinstance(cell, str):
        text = cell.strip()
        if text in MISSING_TEXTS:
            return MISSING, math.nan
        if is_number(text):
            return NUMBER, float(text)
        word = text.lower()
        if word in BOOLEAN_WORDS:
            return BOOLEAN, BOOLEAN_WORDS[word]
        return TEXT, math.nan
    if isinstance(cell, bool | np.bool_):
        return BOOLEAN, float(cell)
    if cell is None:
        return MISSING, math.nan
    if isinstance(cell, _DATES):
        return DATE, days_of(cell)
    if isinstance(cell, _DURATIONS):
        return NUMBER, days_of(cell)
    if isinstance(cell, int | float | np.integer | np.floating | Decimal):
        try:
            value = float(cell)
        except OverflowError:
            value = math.inf if cell > 0 else -math.inf
        return (MISSING if math.isnan(value) else NUMBER), value
    raise TypeError


def _judge_by(notation: Notation, cell: Any) -> tuple[int, float]:
    kind, value = judge(cell)
    if isinstance(cell, str) and kind != MISSING:
        number = notation.number(cell.strip())
        return (TEXT, math.nan) if number is None else (NUMBER, number)
    if kind == NUMBER and not notation.allows(value):
        return TEXT, math.nan
    return kind, value


def is_number(text: str) -> bool:
    """Tell whether a text without outer spaces is a number as pandas reads it."""
    return _NUMBER.fullmatch(text) is not None


def category_text(cell: Any) -> str:
    """Return the one spelling of a category, however the cell was stored.

    Numbers and truth values lose their spelling when pandas reads a column that holds
    nothing else, so ``1``, ``"1"`` and ``"1.0"`` must be the same category.
    """
    kind, value = judge(cell)
    if kind == NUMBER:
        return str(int(value)) if abs(value) < 2**53 and value % 1 == 0 else repr(value)
    if isinstance(cell, str):
        text = cell.strip()
        return text.lower() if text.lower() in ("true", "false") else text
    return str(cell) if kind == DATE else str(bool(cell)).lower()


def numbers(cells: Cells, *, has_text: bool = False) -> NDArray[np.float64]:
    """Return the values of a column of numbers, NaN where missing.

    With `has_text`, other cells count as missing.
    """
    is_other = cells.kinds > NUMBER
    if has_text:
        check_finite(cells)
        return np.where(is_other, np.nan, cells.values)
    if np.any(is_other):
        raise cells.fault(is_other, f"is not {cells.wanted}")
    check_finite(cells)
    return cells.values


def booleans(cells: Cells) -> NDArray[np.float64]:
    """Return 0 and 1 for a column of truth values, NaN where missing."""
    is_odd = (cells.kinds == NUMBER) & (cells.values != 0) & (cells.values != 1)
    if np.any(is_other := is_odd | (cells.kinds == TEXT)):
        raise cells.fault(is_other, "is neither true nor false")
    return cells.values


def target_numbers(cells: Cells) -> NDArray[np.float64]:
    """Return the values of a target: numbers, or truth values as 0 and 1."""
    has_odd = np.any((cells.kinds == NUMBER) & ~np.isin(cells.values, (0, 1)))
    is_other = cells.kinds > (NUMBER if has_odd else BOOLEAN)
    if np.any(is_other):
        raise cells.fault(is_other, f"is not {cells.wanted}")
    check_finite(cells)
    return cells.values


def category_codes(
    cells: Cells, categories: Sequence[str], *, missing: int, unknown: int
) -> NDArray[np.intp]:
    """Return the position of each row's category in `categories`."""
    codes, texts = cells.texts()
    position = {text: i for i, text in enumerate(categories)}
    lookup = [position.get(text, unknown) for text in texts]
    return np.array([*lookup, missing], np.intp)[codes]


def check_finite(cells: Cells) -> None:
    if np.any(is_infinite := np.isinf(cells.values)):
        raise cells.fault(is_infinite, "is not a finite number")


def cell_fault(
    series: pd.Series, is_wrong: NDArray[np.bool_], complaint: str, first_row: int
) -> TableError:
    """Return the error about the first wrong cell."""
    place = cell_place(series, is_wrong, first_row)
    return TableError(f"column {series.name!r}, {place} {complaint}")


def cell_place(
    series: pd.Series, is_wrong: NDArray[np.bool_], first_row: int = 0
) -> str:
    """Return row and content of the first wrong cell, with its row counted from one.

    An index of whole numbers is taken for row numbers, as those of chunks and of
    selected rows are.
    """
    i = int(np.argmax(is_wrong))
    has_rows = pd.api.types.is_integer_dtype(series.index.dtype)
    row = first_row + 1 + (int(series.index[i]) if has_rows else i)
    return f"row {row}: {shown(series.iloc[i])}"
