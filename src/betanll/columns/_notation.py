"""Numbers that are written for people: ``$5,700``, ``12%``, ``1.200,50 €``.

One cell may be ambiguous: 1,234 is a thousand in some files and one and a quarter in
others. So a column is read as numbers only if a single convention fits all of its
cells. The schema keeps that convention for later tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from betanll.columns._cells import MISSING, NUMBER, TEXT, is_number, judge
from betanll.columns._errors import TableError

PERCENT = "%"
CURRENCIES = (
    *"$€£¥₹₩₽₺₪₫₱฿",
    *("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD"),
)
UNITS = ("", PERCENT, *CURRENCIES)
_CURRENCY = "|".join(re.escape(currency) for currency in CURRENCIES)
_MINUS = "−-"  # the hyphen last, where it makes no range
# Marks between thousands besides comma and point: apostrophes and no-break spaces.
_MARKS = "'’\u00a0\u202f"
_CELL = re.compile(
    rf"(?P<sign>[+{_MINUS}]?)\s?(?P<before>{_CURRENCY})?\s?(?P<inner>[+{_MINUS}]?)"
    rf"(?P<digits>[.,]?[0-9](?:[0-9.,{_MARKS}]*[0-9])?)\s?(?P<after>{_CURRENCY}|%)?"
)


def _pattern(mark: str, decimal: str) -> re.Pattern[str]:
    """Return the numbers of a convention; thousands come in consistent groups."""
    return re.compile(
        rf"(?:[1-9][0-9]{{0,2}}(?:(?P<mark>[{mark}{_MARKS}])[0-9]{{3}})"
        rf"(?:(?P=mark)[0-9]{{3}})*|[0-9]+)(?:{decimal}[0-9]+)?|{decimal}[0-9]+"
    )


#: By the decimal mark.
_CONVENTIONS = {".": _pattern(",", r"\."), ",": _pattern(r"\.", ",")}


class _Written(NamedTuple):
    sign: str
    unit: str
    digits: str


@dataclass(frozen=True)
class Notation:
    """How the numbers of a column are written.

    Parameters
    ----------
    column : str
    unit : str
        ``"%"``, which all cells have, or a currency, which they may have, or ``""``.
        It does not change the value: ``12%`` is 12.
    decimal : {".", ","}
        Decimal mark. The other one may stand between groups of three digits.

    Examples
    --------
    >>> from betanll.columns import Notation
    >>> Notation("price", "$", ".").number("$5,700.50")
    5700.5
    >>> Notation("price", "€", ",").number("1.200,50 €")
    1200.5
    """

    column: str
    unit: str
    decimal: str

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise TableError(
                f"the column of a notation must be text, got {self.column!r}"
            )
        what = f"the notation of column {self.column!r}"
        if not isinstance(self.unit, str) or self.unit not in UNITS:
            raise TableError(f"{what} has the unknown unit {self.unit!r}")
        if not isinstance(self.decimal, str) or self.decimal not in _CONVENTIONS:
            raise TableError(f"{what} has the unknown decimal mark {self.decimal!r}")

    @property
    def wanted(self) -> str:
        """What each cell of the column must be."""
        return "a percentage" if self.unit == PERCENT else "a number"

    def number(self, text: str) -> float | None:
        """Return the number that a text without outer spaces stands for, if any."""
        if is_number(text) and (self.decimal == "." or "." not in text):
            value, unit = float(text), ""
        elif (written := _written(text)) and self._fits(written.digits):
            whole, _, rest = written.digits.partition(self.decimal)
            digits = re.sub("[^0-9]", "", whole) or "0"
            value, unit = float(f"{written.sign}{digits}.{rest or '0'}"), written.unit
        else:
            return None
        if unit:
            return value if unit == self.unit else None
        return value if self.allows(value) else None

    def allows(self, number: float) -> bool:
        """Return whether a number without a unit may stand in the column.

        Half a percent and one half are both written 0.5.
        """
        return self.unit != PERCENT or number == 0

    def _fits(self, digits: str) -> bool:
        return _CONVENTIONS[self.decimal].fullmatch(digits) is not None


def find_notation(
    column: str, distinct: Sequence[Any], decimal: str
) -> Notation | None:
    """Return the one notation of a column's cells, None if there is none or several.

    Parameters
    ----------
    column : str
    distinct : sequence
        The different cells.
    decimal : {".", ","}
        Decimal mark of the file, which decides where both conventions fit.
    """
    written: list[_Written] = []
    plain: list[str] = []
    has_bare = False
    for cell in distinct:
        kind, value = judge(cell)
        if kind == NUMBER:
            has_bare = has_bare or value != 0
            if isinstance(cell, str):
                plain.append(cell.strip().lstrip("+-"))
        elif kind == TEXT and (found := _written(cell.strip())) is not None:
            written.append(found)
            has_bare = has_bare or not found.unit
        elif kind != MISSING:
            return None
    units = {found.unit for found in written} - {""}
    if not written or len(units) > 1 or (PERCENT in units and has_bare):
        return None
    texts = [found.digits for found in written]
    mark = _decimal_mark(texts, plain, decimal)
    if mark is None or not (units or _are_numbers(texts, plain, mark)):
        return None
    return Notation(column, max(units, default=""), mark)


def _decimal_mark(texts: list[str], plain: list[str], decimal: str) -> str | None:
    """Return the decimal mark of the only convention that fits, else None."""
    with_point = [text for text in plain if "." in text]
    fits_point = all(map(_CONVENTIONS["."].fullmatch, texts))
    fits_comma = all(map(_CONVENTIONS[","].fullmatch, [*texts, *with_point]))
    has_comma = any("," in text for text in texts)
    has_point = bool(with_point) or any("." in text for text in texts)
    if fits_point and fits_comma:
        # 1.234 may be a thousand, unless other columns have decimal commas.
        is_open = has_point and (has_comma or decimal == ".")
        return None if is_open else decimal
    if fits_point:
        # The reader has taken single commas of such a file for decimal marks.
        return None if has_comma and decimal == "," else "."
    return "," if fits_comma else None


def _are_numbers(texts: list[str], plain: list[str], decimal: str) -> bool:
    """Return whether digits without a unit are numbers, not lists such as 101,202.

    They are if thousands and decimals are marked in one cell, or if groups of digits
    look like thousands: not all begin with three digits, and four digits are grouped.
    """
    groups = [re.split("[^0-9]", text.partition(decimal)[0]) for text in texts]
    grouped = [parts for parts in groups if len(parts) > 1]
    has_decimals = [decimal in text for text in texts]
    if any(
        has and len(parts) > 1 for has, parts in zip(has_decimals, groups, strict=True)
    ):
        return True
    if decimal == "," and any(has_decimals):
        return False
    single = [parts[0] for parts in groups if len(parts) == 1]
    single += [text.partition(".")[0] for text in plain]
    return not grouped or (
        any(len(parts[0]) < 3 for parts in grouped)
        and all(len(text) <= 3 for text in single)
    )


def _written(text: str) -> _Written | None:
    match = _CELL.fullmatch(text)
    if match is None:
        return None
    sign, before, inner, digits, after = match.groups(default="")
    if (sign and inner) or (before and after):
        return None
    is_negative = (sign or inner) in tuple(_MINUS)
    return _Written("-" if is_negative else "", before or after, digits)
