"""Excel files, through openpyxl, which is optional."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from betanll.columns import TableError
from betanll.sentences import listed
from betanll.tables._errors import closest, fault
from betanll.tables._names import numbered, unique_names
from betanll.tables._options import ReadOptions
from betanll.tables._packing import max_unpacked, opened_zip, too_large
from betanll.tables._records import RecordFile
from betanll.tables._sniff import has_header
from betanll.tables._source import Source

#: Rows that decide about the header and the width of the table.
_SAMPLE_ROWS = 1000


@dataclass(frozen=True)
class ExcelFile(RecordFile):
    sheet: str
    n_skipped: int

    def _rows(self) -> Iterator[Sequence[Any]]:
        n = len(self.columns)
        first = self.n_skipped + (1 if self.has_header else 0)
        with _opened(self.source) as book:
            row = 0
            for i, cells in enumerate(_cells(book[self.sheet])):
                if i < first or not cells:
                    continue
                row += 1
                if len(cells) > n:
                    raise fault(
                        self.path, f"row {row} has {len(cells)} cells instead of {n}"
                    )
                yield [*cells, *[None] * (n - len(cells))]


def open_excel(source: Source, options: ReadOptions) -> ExcelFile:
    """Choose the sheet, and find where its table begins."""
    path = source.path
    options.refuse(path, "Excel files", "delimiter", "encoding")
    with _opened(source) as book:
        sheets = [sheet.title for sheet in book.worksheets]
        if not sheets:
            raise fault(path, "the file has no sheets")
        sheet = sheets[0] if options.sheet is None else options.sheet
        if sheet not in sheets:
            raise fault(
                path,
                f"there is no sheet {sheet!r}{closest(sheet, sheets)} among "
                f"{listed(sheets)}",
            )
        notes = []
        if len(sheets) > 1 and options.sheet is None:
            notes.append(
                f"the sheet {sheet!r} is read; --sheet chooses another one among "
                f"{listed(sheets)}."
            )
        n_skipped = options.skip_rows
        rows: list[list[Any]] = []
        for i, cells in enumerate(_cells(book[sheet])):
            if i < options.skip_rows or not (cells or rows):
                n_skipped = i + 1
            elif cells:
                rows.append(cells)
            if len(rows) > _SAMPLE_ROWS:
                break
    if not rows:
        raise fault(path, f"the sheet {sheet!r} is empty")
    width = max(map(len, rows))
    texts = [[_text(cell) for cell in row] + [""] * (width - len(row)) for row in rows]
    has_names = has_header(texts) if options.header is None else options.header
    if has_names and len(rows) == 1:
        raise fault(path, f"the sheet {sheet!r} has column names but no rows")
    names = unique_names(texts[0]) if has_names else numbered(width)
    return ExcelFile(
        source,
        names.columns,
        has_names,
        names.nameless,
        sheet,
        n_skipped,
        missing=options.na_values,
        notes=(*notes, *names.notes),
    )


def _cells(sheet: Any) -> Iterator[list[Any]]:
    """Yield the rows of a sheet without the empty cells at their ends."""
    # What the file says about its size need not be true.
    sheet.reset_dimensions()
    for values in sheet.iter_rows(values_only=True):
        cells = [None if value == "" else value for value in values]
        while cells and cells[-1] is None:
            cells.pop()
        yield cells


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[Any]:
    """Yield the workbook and turn openpyxl's errors into sentences."""
    path = source.path
    try:
        import openpyxl
    except ImportError:
        raise fault(path, "Excel files need openpyxl: install betanll[excel]") from None
    try:
        with source.opened_raw() as raw:
            limit = max_unpacked(raw)
            with opened_zip(raw, path) as archive:
                infos = archive.infolist()
            if not any(info.filename.lower() == "xl/workbook.xml" for info in infos):
                raise fault(
                    path,
                    "the file is another document than an .xlsx workbook: save the "
                    "table as .xlsx or .csv",
                )
            if sum(info.file_size for info in infos) > limit:
                raise too_large(path)
            raw.seek(0)
            with warnings.catch_warnings():
                # About styles and other things that are no cells.
                warnings.simplefilter("ignore")
                book = openpyxl.load_workbook(
                    raw, read_only=True, data_only=True, keep_links=False
                )
                try:
                    yield book
                finally:
                    book.close()
    except (TableError, MemoryError):
        raise
    # Whatever else openpyxl makes of damaged bytes.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise fault(path, f"the file is broken or not Excel: {reason}") from None
