"""One way into files of all formats."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from betanll.columns import TableError
from betanll.tables._csv import open_csv
from betanll.tables._excel import open_excel
from betanll.tables._file import TableFile
from betanll.tables._format import EXCEL, JSON, PARQUET, format_of
from betanll.tables._json import open_json
from betanll.tables._options import ReadOptions
from betanll.tables._parquet import open_parquet
from betanll.tables._source import source_of


def open_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    skip_rows: int = 0,
    na_values: Sequence[str | float] | str | float = (),
    sheet: str | None = None,
) -> TableFile:
    """Look at a file and return how to read it.

    The file is CSV or another text with a delimiter, JSON with one record a line or an
    array of records, Parquet or Excel. Texts may be compressed with gzip, bzip2, xz or
    Zstandard, or be the only table in a zip archive; the content tells, not the name.
    The delimiter (comma, semicolon, tab or ``|``), the header and decimal commas are
    found by looking at the first 256 KiB. Lines before the table that begin with ``#``
    are skipped. `TableFile.notes` says what was found.

    Parameters
    ----------
    path : path of a .csv, .tsv, .txt, .jsonl, .json, .parquet or .xlsx file
        ``-`` is the standard input.
    delimiter : str, optional
        One character, or ``tab``, if the guess is wrong.
    header : bool, optional
        Whether the first row holds names, if the guess is wrong. A row without any
        number does; a row of numbers does not; in a mixed row the cells below decide.
    encoding : str, optional
        Of a text. By default it is UTF-8, or what the byte order mark says, or
        Windows-1252 if it is not UTF-8.
    skip_rows : int, default=0
        Lines or rows before the table.
    na_values : str, number or sequence of them
        Cells that count as missing beside empty ones, ``NA`` and the like.
    sheet : str, optional
        Of an Excel file, by default the first.

    Raises
    ------
    TableError
        If the file cannot be used, with one sentence that says why.

    Examples
    --------
    >>> import tempfile
    >>> from betanll.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "heights.csv"
    ...     size = path.write_text("age;height\\n3;0,95\\n10;1,4\\n")
    ...     table = open_table(path)
    ...     frame = table.read()
    >>> table.columns
    ('age', 'height')
    >>> frame["height"].tolist()
    [0.95, 1.4]
    """
    options = ReadOptions(delimiter, header, encoding, skip_rows, na_values, sheet)
    source = source_of(Path(path))
    found = format_of(source)
    if found == PARQUET:
        return open_parquet(source, options)
    if found == EXCEL:
        return open_excel(source, options)
    options.refuse(source.path, f"{found} files", "sheet")
    if found == JSON:
        return open_json(source, options)
    is_tsv = source.table_name.endswith(".tsv")
    return open_csv(source, options, "\t" if is_tsv else None)


def check_is_path(data: Any) -> None:
    """Refuse what is neither a table in memory nor the path of a file."""
    if not isinstance(data, str | os.PathLike):
        raise TableError(
            "data must be the path of a file, or a table of pandas, polars or pyarrow, "
            f"got {type(data).__name__}"
        )
