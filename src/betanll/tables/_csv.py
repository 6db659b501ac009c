"""Text files with a delimiter, plain or compressed with gzip."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pandas as pd

from betanll.columns import DECIMAL, MISSING_TEXTS, is_number
from betanll.sentences import shown
from betanll.tables._file import (
    CHUNK_ROWS,
    TableFile,
    check_names,
    check_rows,
    check_text_columns,
    fault,
)
from betanll.tables._sniff import (
    find_delimiter,
    has_decimal_comma,
    has_header,
    is_decimal_comma,
    is_probably_uncut,
    records,
    sample_records,
)

SAMPLE_BYTES = 2**18

# Newer versions round correctly without being asked, and warn when asked.
_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
_EXACT: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
# Older versions cut off surplus cells in the first rows of each piece, silently.
_COUNTS_CELLS = _PANDAS >= (3, 1)


@dataclass(frozen=True)
class CsvFile(TableFile):
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
                name: [""] if name in text else sorted(MISSING_TEXTS)
                for name in self.columns
            },
            "skipinitialspace": True,
            # Else a column may change its type within a piece.
            "low_memory": False,
            "engine": "c",
            **_EXACT,
        }
        with _faults(self.path), _text(self.path) as handle:
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
        return frame

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
        with _faults(self.path), _text(self.path) as handle:
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
        with _faults(self.path), _text(self.path) as handle:
            rows = records(handle, self.delimiter)
            start = 1 if self.has_header else 0
            stop = None if nrows is None else start + nrows
            check_widths(
                self.path, itertools.islice(rows, start, stop), len(self.columns)
            )
        if nrows is None:
            self._checked.append(True)


def open_csv(path: Path, delimiter: str | None, header: bool | None) -> CsvFile:
    """Find out how the file is written; `delimiter` and `header` None are guessed."""
    text, is_whole = _sample(path)
    with _faults(path):
        if delimiter is None:
            delimiter = find_delimiter(text, is_whole=is_whole)
        rows = sample_records(text, delimiter, is_whole=is_whole)
    if not rows:
        raise fault(path, "the file is empty")
    header = has_header(rows) if header is None else header
    body = rows[1 if header else 0 :]
    if not body and is_whole:
        raise fault(path, "the file has column names but no rows")
    if len(rows[0]) == 1 and is_probably_uncut(rows, header=header):
        raise fault(
            path,
            f"there is a single column in {shown(text.strip().splitlines()[0])}: "
            "if the delimiter is wrong, give it with --delimiter",
        )
    columns, nameless = _names(path, rows[0], header)
    check_widths(path, body, len(columns))
    decimal = "," if has_decimal_comma(body, delimiter) else "."
    return CsvFile(path, columns, header, nameless, delimiter, decimal)


def _names(
    path: Path, first: Sequence[str], header: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of all columns and those that had none in the header."""
    numbered = [f"column_{i}" for i in range(1, len(first) + 1)]
    if not header:
        return tuple(numbered), ()
    if "" in first[1:]:
        place = first.index("", 1) + 1
        raise fault(path, f"column {place} of {len(first)} has no name in the header")
    nameless = () if first[0] else ("column_1",)
    columns = (*nameless, *first[len(nameless) :])
    check_names(path, columns)
    return columns, nameless


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


def _sample(path: Path) -> tuple[str, bool]:
    """Return the start of the file as text, and whether it is all of it."""
    with _faults(path), _binary(path) as handle:
        data = handle.read(SAMPLE_BYTES)
        is_whole = not handle.read(1)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise fault(path, "the text is UTF-16: save it as UTF-8")
    if b"\0" in data:
        raise fault(path, "the file is not text")
    with _faults(path):
        # The last character may be cut.
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data), is_whole


def _binary(path: Path) -> BinaryIO:
    is_gzip = path.suffix.lower() == ".gz"
    return cast(BinaryIO, gzip.open(path)) if is_gzip else path.open("rb")


@contextlib.contextmanager
def _text(path: Path) -> Iterator[io.TextIOWrapper]:
    with (
        _binary(path) as binary,
        io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as handle,
    ):
        yield handle


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Turn errors of reading and decoding into sentences."""
    try:
        yield
    except UnicodeDecodeError:
        raise fault(path, "the text is not UTF-8: save it as UTF-8") from None
    except EOFError:
        raise fault(path, "the compressed file is cut off") from None
    except (gzip.BadGzipFile, zlib.error):
        raise fault(path, "the compressed file is broken or not gzip") from None
    except csv.Error:
        raise fault(
            path, "a cell is too long, so a quotation mark may be left open"
        ) from None
    except PermissionError:
        raise fault(path, "permission denied") from None
