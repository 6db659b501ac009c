"""Export results to a CSV file, to move them to another machine."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from betanll.files import written_atomically
from betanll.sentences import shortened
from betanll.sweeps._record import Record, StoreError, checksum
from betanll.sweeps._task import Task

_HEADER = ["task", "rows", "seconds", "checksum"]
#: Header of exports without checksums, such as the published ones in ``results``.
_OLD_HEADER = _HEADER[:-1]


def write_export(path: Path, records: Iterable[Record]) -> int:
    """Write records to a CSV file; return their number."""
    n = 0
    with (
        written_atomically(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(_HEADER)
        for record in records:
            writer.writerow(record)
            n += 1
    return n


def read_export(path: Path) -> list[tuple[Task, Record]]:
    """Return the tasks and records of a file, or raise a :class:`StoreError`."""
    # Bytes that are not UTF-8 become characters that fail the checksum, so that the
    # error can name the line.
    with (
        _long_cells(),
        path.open(newline="", encoding="utf-8", errors="surrogateescape") as file,
    ):
        return list(_records(file, path))


def _records(file: Iterable[str], path: Path) -> Iterator[tuple[Task, Record]]:
    reader = csv.reader(file, strict=True)
    try:
        header = next(reader, [])
    except csv.Error:
        header = []
    if header not in (_HEADER, _OLD_HEADER):
        raise StoreError(
            f"{path} is not an export of a result store; decompress it first if it is "
            "compressed"
        )
    try:
        for cells in reader:
            yield _record(cells, len(header))
    except (ValueError, csv.Error) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeError) else error
        raise StoreError(
            f"{path}: line {reader.line_num} is damaged: {shortened(str(reason))}; "
            "export the results again, or delete this line to leave its result out"
        ) from None


def _record(cells: list[str], n_cells: int) -> tuple[Task, Record]:
    if len(cells) != n_cells:
        raise ValueError(f"{n_cells} cells are needed, found {len(cells)}")
    task, rows, seconds = cells[:3]
    duration = float(seconds)
    written = checksum(task, rows, repr(duration))
    record = Record(task, rows, duration, cells[3] if n_cells == 4 else written)
    result_task, result_rows = record.read()
    # In canonical form: an old export may have been written by hand.
    return result_task, Record.of(result_task, result_rows, duration)


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    """Lift Python's limit on the length of a cell, which is global to the process."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)
