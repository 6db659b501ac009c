"""Which format a file has: what its name promises, and what its first bytes are."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from betanll.tables._errors import fault
from betanll.tables._packing import SUFFIXES, packing_of
from betanll.tables._source import Source

TEXT, JSON, PARQUET, EXCEL = "text", "JSON", "Parquet", "Excel"
#: What names promise, and the name that a file of some format should have.
_PROMISES = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), TEXT),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), JSON),
    ".parquet": PARQUET,
    **dict.fromkeys((".xlsx", ".xlsm", ".xls"), EXCEL),
}
_SHOULD_END = {TEXT: ".csv", JSON: ".jsonl", PARQUET: ".parquet", EXCEL: ".xlsx"}
_STARTS = {PARQUET: rb"PAR1", EXCEL: rb"PK\x03\x04", JSON: rb'\s*(\[\s*)?\{\s*"'}
#: Files that somebody may take for a table.
_OTHERS = {
    rb"\xd0\xcf\x11\xe0": "an Excel file of before 2007, or one with a password: save "
    "it as .xlsx without a password",
    rb"%PDF": "a PDF file: save the table as .csv or .xlsx",
    rb"\x89HDF": "an HDF5 file: save the table as .csv or .parquet",
    rb"SQLite format 3": "an SQLite database: save the table as .csv or .parquet",
    rb"ARROW1": "an Arrow file: save the table as .parquet",
    rb"(?i)(\xef\xbb\xbf)?\s*<(!doctype|html|\?xml|table)": "a web page or XML: save "
    "the table as .csv or .xlsx",
}


def format_of(source: Source) -> str:
    """Return the format of a table, or raise if name and content contradict."""
    path, name = source.path, source.table_name
    extension = PurePosixPath(name).suffix
    promise = _PROMISES.get(extension)
    if promise is None and (extension or (not name and source.held is None)):
        raise fault(
            path,
            "the name must end in .csv, .tsv, .txt, .jsonl, .json (perhaps with .gz, "
            ".bz2, .xz, .zst or .zip), .parquet or .xlsx",
        )
    start = source.start()
    if not start.strip():
        raise fault(path, "the file is empty")
    outer = path.suffix.lower()
    if source.packing is None and source.held is None and outer in SUFFIXES:
        raise fault(
            path,
            f"the name says {SUFFIXES[outer]}, but the file is not packed: rename it",
        )
    if source.packing and _PROMISES.get(outer) in (PARQUET, EXCEL):
        raise fault(
            path,
            f"the name says {_PROMISES[outer]}, but the file is packed with "
            f"{source.packing}",
        )
    for pattern, what in _OTHERS.items():
        if re.match(pattern, start):
            raise fault(path, f"the file is {what}")
    content = next((f for f, p in _STARTS.items() if re.match(p, start)), TEXT)
    if source.packing and content in (PARQUET, EXCEL):
        what = "another archive" if promise != EXCEL and content == EXCEL else content
        raise fault(
            path, f"there is {what} inside the {source.packing} file: unpack it first"
        )
    if source.packing and (inner := packing_of(start)):
        raise fault(
            path, f"there is {inner} inside the {source.packing} file: unpack it first"
        )
    if promise is None or (promise, content) == (JSON, TEXT):
        return promise or content
    if promise != content:
        raise fault(
            path,
            f"the name says {promise}, but the file is {content}: rename it to end in "
            f"{_SHOULD_END[content]}",
        )
    return content
