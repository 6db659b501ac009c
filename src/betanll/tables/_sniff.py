"""How a text file is written: delimiter, header and decimal mark.

The first 256 KiB decide. Records are rows of cells without outer spaces.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from betanll.columns import MISSING_TEXTS, is_number

#: In order of preference: a comma may also be a decimal mark, the others hardly.
DELIMITERS = ("\t", ";", "|", ",")

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_SMALL = re.compile(r"[+-]?[0-9]{1,3}")
_WHOLE = re.compile(r"[0-9]+")
_YEAR = re.compile(r"[12][0-9]{3}")
_SEPARATOR = re.compile(r"[\s,;|:]")


def records(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the rows of cells, without blank lines, as pandas counts them."""
    for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
        cells = [cell.strip() for cell in row]
        if cells and cells != [""]:
            yield cells


def sample_records(text: str, delimiter: str, *, is_whole: bool) -> list[list[str]]:
    """Return the records of a file's start; a last one that may be cut is left out."""
    rows = list(records(io.StringIO(text, newline=""), delimiter))
    return rows if is_whole or len(rows) < 2 else rows[:-1]


def find_delimiter(text: str, *, is_whole: bool) -> str:
    """Return the delimiter that cuts all rows into equally many cells.

    If none does, it is the one that cuts the first row into most cells, so that the
    row that differs is found later.
    """
    first_widths = {}
    for delimiter in DELIMITERS:
        rows = sample_records(text, delimiter, is_whole=is_whole)
        widths = [len(row) for row in rows] or [0]
        if widths[0] > 1 and len(set(widths)) == 1:
            return delimiter
        first_widths[delimiter] = widths[0]
    best = max(DELIMITERS, key=first_widths.__getitem__)
    return best if first_widths[best] > 1 else ","


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row holds names.

    It does if none of its cells is a number. A row of numbers is data. A row of both
    holds names if its numbers are plain whole ones, no cell occurs twice, and either
    a text stands over a column of numbers, or all numbers look like years and no text
    occurs again below.
    """
    first, below = rows[0], rows[1:]
    numeric = [cell for cell in first if is_a_number(cell)]
    if not numeric:
        return any(cell not in MISSING_TEXTS for cell in first)
    if len(set(first)) < len(first) or not all(map(_WHOLE.fullmatch, numeric)):
        return False
    columns = [
        [row[j] for row in below if j < len(row) and row[j] not in MISSING_TEXTS]
        for j, cell in enumerate(first)
        if cell not in MISSING_TEXTS and not is_a_number(cell)
    ]
    if any(column and all(map(is_a_number, column)) for column in columns):
        return True
    texts = set(first) - set(numeric) - MISSING_TEXTS
    return (
        bool(texts)
        and all(map(_YEAR.fullmatch, numeric))
        and not any(texts.intersection(column) for column in columns)
    )


def has_decimal_comma(rows: Iterable[Sequence[str]], delimiter: str) -> bool:
    """Tell whether some cells have a decimal comma and none a decimal point.

    Commas mark thousands if all of them stand before three digits, and a column has
    both such cells and smaller whole numbers: 5,700 and 900.
    """
    if delimiter == ",":
        return False
    has_comma = has_other = False
    grouped, small = set(), set()
    for row in rows:
        for j, cell in enumerate(row):
            if "." in cell and is_number(cell):
                return False
            if is_decimal_comma(cell):
                has_comma = True
                if _THOUSANDS.fullmatch(cell):
                    grouped.add(j)
                else:
                    has_other = True
            elif _SMALL.fullmatch(cell):
                small.add(j)
    return has_comma and (has_other or grouped.isdisjoint(small))


def is_decimal_comma(cell: str) -> bool:
    return _DECIMAL_COMMA.fullmatch(cell) is not None


def is_a_number(cell: str) -> bool:
    return is_number(cell) or is_decimal_comma(cell)


def is_probably_uncut(rows: Sequence[Sequence[str]], *, header: bool) -> bool:
    """Tell whether the cells of a single column look like several in one."""
    if header and any(delimiter in rows[0][0] for delimiter in DELIMITERS):
        return True
    cells = [row[0] for row in rows[1 if header else 0 :]]
    return any(_SEPARATOR.search(c) and not is_decimal_comma(c) for c in cells)
