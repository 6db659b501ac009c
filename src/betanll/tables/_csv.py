"""Text files with a delimiter."""

from __future__ import annotations

import contextlib
import csv
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from betanll.columns import DECIMAL, MISSING_TEXTS, is_number
from betanll.sentences import shown
from betanll.tables._errors import fault
from betanll.tables._file import (
    CHUNK_ROWS,
    TableFile,
    check_rows,
    check_text_columns,
)
from betanll.tables._names import numbered, unique_names
from betanll.tables._options import ReadOptions
from betanll.tables._sniff import (
    find_delimiter,
    has_decimal_comma,
    has_header,
    is_decimal_comma,
    is_probably_uncut,
    records,
    sample_records,
)
from betanll.tables._source import Source
from betanll.tables._text import FoundText, Text, comment_note, find_text

# Newer versions round correctly without being asked, and warn when asked.
_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
_EXACT: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
# Older versions cut off surplus cells in the first rows of each piece, silently.
_COUNTS_CELLS = _PANDAS >= (3, 1)


@dataclass(frozen=True)
class CsvFile(TableFile):
    text: Text
    delimiter: str
    decimal: str
    #: Becomes non-empty once all rows are known to be equally long.
    _checked: list[bool] = field(default_factory=list, repr=False, compare=False)

    def read(
        self, nrows: int | None = None, *, text: Sequence[str] = ()
    ) -> pd.DataFrame:
        check_rows(nrows, "nrows")
        with self._parser(text) as parser:
            return self._cleaned(parser.read(nrows), nrows, text)

    def chunks(
        self, n_rows: int = CHUNK_ROWS, *, text: Sequence[str] = ()
    ) -> Iterator[pd.DataFrame]:
        check_rows(n_rows, "n_rows")
        if not (_COUNTS_CELLS or self._checked):
            self._check_widths(None)
        with self._parser(text, n_rows) as parser:
            for frame in parser:
                yield self._cleaned(frame, None, text)

    @contextlib.contextmanager
    def _parser(
        self, text: Sequence[str], chunksize: int | None = None
    ) -> Iterator[Any]:
        check_text_columns(self.path, self.columns, text)
        missing = MISSING_TEXTS.union(self.missing)
        options: dict[str, Any] = {
            "sep": self.delimiter,
            "decimal": self.decimal,
            "header": 0 if self.has_header else None,
            "names": list(self.columns),
            # Else the first of too many cells would become the index.
            "index_col": False,
            "dtype": dict.fromkeys(text, str),
            "keep_default_na": False,
            "na_values": {
                name: [""] if name in text else sorted(missing) for name in self.columns
            },
            "skipinitialspace": True,
            # Else a column may change its type within a piece.
            "low_memory": False,
            "engine": "c",
            **_EXACT,
        }
        with _faults(self.path), self.text.opened() as handle:
            try:
                with pd.read_csv(
                    handle, chunksize=chunksize, iterator=True, **options
                ) as parser:
                    yield parser
            except pd.errors.ParserError as error:
                self._check_widths(None)
                if "EOF inside string" in str(error):
                    raise fault(self.path, "a quotation mark is left open") from None
                reason = str(error).strip().partition("\n")[0]
                raise fault(self.path, f"cannot be read: {reason}") from None
            except OverflowError:
                # Some versions cannot read whole numbers beyond the largest float.
                self._check_sizes()
                raise

    def _cleaned(
        self, frame: pd.DataFrame, nrows: int | None, text: Sequence[str]
    ) -> pd.DataFrame:
        # The parser fills up short rows, which then end in a missing cell.
        if not self._checked and frame[self.columns[-1]].isna().any():
            self._check_widths(nrows)
        if self.decimal == ",":
            frame.attrs[DECIMAL] = ","
            for name in self.columns:
                is_numeric = pd.api.types.is_numeric_dtype(frame[name].dtype)
                if not is_numeric and name not in text:
                    frame[name] = self._with_points(frame[name])
        return self._marked(frame, text)

    def _with_points(self, series: pd.Series) -> pd.Series:
        """Return the cells with numbers in place of texts with a decimal comma.

        The parser does so only in columns without any other text.
        """
        codes, distinct = pd.factorize(series)
        cells = distinct.tolist()
        for i, cell in enumerate(cells):
            if isinstance(cell, str):
                stripped = cell.strip()
                if is_decimal_comma(stripped):
                    cells[i] = float(stripped.replace(",", "."))
                elif "." in stripped and is_number(stripped):
                    row = series.index[int(np.argmax(codes == i))] + 1
                    raise fault(
                        self.path,
                        f"column {series.name!r}, row {row}: {shown(cell)} has a "
                        "decimal point, but other cells have decimal commas",
                    )
        values = np.array([*cells, np.nan], dtype=object)[codes]
        return pd.Series(values, series.index, dtype=object, name=series.name)

    def _check_sizes(self) -> None:
        """Raise for the first whole number that is too large for a float."""
        with _faults(self.path), self.text.opened() as handle:
            rows = records(handle, self.delimiter)
            start = 1 if self.has_header else 0
            for i, row in enumerate(itertools.islice(rows, start, None), 1):
                for name, cell in zip(self.columns, row, strict=False):
                    if is_number(cell) and math.isinf(float(cell)):
                        raise fault(
                            self.path,
                            f"column {name!r}, row {i}: {shown(cell)} is not a finite "
                            "number",
                        )

    def _check_widths(self, nrows: int | None) -> None:
        """Raise if a row is shorter or longer than the list of names."""
        with _faults(self.path), self.text.opened() as handle:
            rows = records(handle, self.delimiter)
            start = 1 if self.has_header else 0
            stop = None if nrows is None else start + nrows
            check_widths(
                self.path, itertools.islice(rows, start, stop), len(self.columns)
            )
        if nrows is None:
            self._checked.append(True)


def open_csv(
    source: Source, options: ReadOptions, default_delimiter: str | None
) -> CsvFile:
    """Find out how the file is written, where the options do not say so."""
    path = source.path
    delimiter = options.delimiter_for(path) or default_delimiter
    found = find_text(source, options)
    with _faults(path):
        if delimiter is None:
            delimiter = find_delimiter(found.sample, is_whole=found.is_whole)
        rows = sample_records(found.sample, delimiter, is_whole=found.is_whole)
        comment = next(records(found.comments[-1:], delimiter), [])
    if not rows:
        raise fault(path, "the file is empty")
    text, header, notes = found.text, options.header, [*found.notes]
    has_names = has_header(rows) if header is None else header
    n_comments = len(found.comments)
    if header is None and not has_names and 1 < len(comment) == len(rows[0]):
        # The last comment, as in "# x, y", is the header.
        rows = [[comment[0].lstrip("# "), *comment[1:]], *rows]
        text, has_names = replace(text, n_skipped=text.n_skipped - 1), True
        notes.append(f"the names come from the comment {shown(','.join(comment))}.")
        n_comments -= 1
    if n_comments:
        notes.append(comment_note(found.comments[:n_comments]))
    body = rows[1 if has_names else 0 :]
    if not body and found.is_whole:
        raise fault(path, "the file has column names but no rows")
    if len(rows[0]) == 1 and is_probably_uncut(rows, header=has_names):
        raise fault(
            path,
            f"there is a single column in {shown(_first_line(found))}: "
            "if the delimiter is wrong, give it with --delimiter",
        )
    if has_names and _has_row_names(rows[0], body):
        rows = [["", *rows[0]], *body]
        notes.append(
            "rows have one cell more than the header, as R writes row names: the first "
            "column has no name."
        )
    names = unique_names(rows[0]) if has_names else numbered(len(rows[0]))
    check_widths(path, body, len(names.columns))
    return CsvFile(
        source,
        names.columns,
        has_names,
        names.nameless,
        text,
        delimiter,
        "," if has_decimal_comma(body, delimiter) else ".",
        missing=options.na_values,
        notes=(*notes, *names.notes),
    )


def _has_row_names(header: list[str], body: list[list[str]]) -> bool:
    """Tell whether each row begins with a name of its own that the header leaves out.

    Empty cells at the ends of the rows are surplus delimiters instead.
    """
    return (
        bool(body)
        and all(len(row) == len(header) + 1 for row in body)
        and any(row[-1] for row in body)
        and len({row[0] for row in body} - MISSING_TEXTS) == len(body)
    )


def _first_line(found: FoundText) -> str:
    return found.sample.strip().splitlines()[0]


def check_widths(
    path: Path, body: Iterator[list[str]] | list[list[str]], n: int
) -> None:
    for row, cells in enumerate(body, 1):
        if len(cells) != n:
            is_open = any("\n" in cell for cell in cells)
            hint = " (is a quotation mark left open?)" if is_open else ""
            raise fault(
                path, f"row {row} has {_counted(len(cells))} instead of {n}{hint}"
            )


def _counted(n: int) -> str:
    return "1 cell" if n == 1 else f"{n} cells"


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Turn errors of cutting lines into cells into a sentence."""
    try:
        yield
    except csv.Error:
        raise fault(
            path, "a cell is too long, so a quotation mark may be left open"
        ) from None
