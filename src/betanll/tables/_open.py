"""One way into files of all formats."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from betanll.columns import TableError
from betanll.sentences import shown
from betanll.tables._csv import open_csv
from betanll.tables._file import TableFile, fault
from betanll.tables._parquet import open_parquet

#: Extensions of text files with their delimiter, None if it is to be found.
TEXT_EXTENSIONS = {".csv": None, ".tsv": "\t", ".txt": None}
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    header: bool | None = None,
) -> TableFile:
    """Look at a file and return how to read it.

    Text files may be compressed with gzip and must be UTF-8, with or without byte
    order mark. The delimiter (comma, semicolon, tab or ``|``), the header and decimal
    commas are found by looking at the first 256 KiB.

    Parameters
    ----------
    path : path of a .csv, .tsv, .txt or .parquet file, or of the first three with .gz
    delimiter : str, optional
        One character, or ``tab``, if the guess is wrong.
    header : bool, optional
        Whether the first row holds names, if the guess is wrong. A row without any
        number does; a row of numbers does not; in a mixed row the cells below decide.

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
    path = Path(path)
    _check_file(path)
    extension = Path(path.name.lower().removesuffix(".gz")).suffix
    is_gzip = path.suffix.lower() == ".gz"
    if extension == ".parquet" and not is_gzip:
        return open_parquet(path)
    if extension not in TEXT_EXTENSIONS:
        raise fault(
            path, "the name must end in .csv, .tsv, .txt (also with .gz) or .parquet"
        )
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n\0' or not delimiter.isascii():
            raise fault(
                path,
                f"the delimiter must be one ASCII character, got {shown(delimiter)}",
            )
    return open_csv(path, delimiter or TEXT_EXTENSIONS[extension], header)


def check_is_path(data: Any) -> None:
    """Refuse what is neither a table in memory nor the path of a file."""
    if not isinstance(data, str | os.PathLike):
        raise TableError(
            "data must be the path of a CSV or Parquet file, or a table of pandas, "
            f"polars or pyarrow, got {type(data).__name__}"
        )


def _check_file(path: Path) -> None:
    """Refuse whatever cannot be read from start to end as often as needed."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise fault(
            path, f"there is no such file in {path.absolute().parent}"
        ) from None
    except OSError as error:
        raise fault(path, f"cannot be opened: {error.strerror}") from None
    except ValueError as error:
        raise fault(path, f"cannot be the name of a file: {error}") from None
    if stat.S_ISDIR(mode):
        raise fault(path, "is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise fault(
            path,
            f"is {_KINDS.get(stat.S_IFMT(mode), 'a special file')}, not a file: "
            "write the table to a file first",
        )
