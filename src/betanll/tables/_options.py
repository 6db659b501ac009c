"""How a table is to be read, where looking at the file does not tell."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from betanll.columns import TableError, as_markers
from betanll.sentences import shown
from betanll.tables._errors import fault

#: Names of options that only say how a file is read.
READING = ("delimiter", "header", "encoding", "skip_rows", "sheet")


@dataclass(frozen=True)
class ReadOptions:
    """The keyword arguments of :func:`open_table`, checked as far as they go alone."""

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    skip_rows: int = 0
    na_values: Any = ()
    sheet: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "na_values", as_markers(self.na_values))
        is_count = isinstance(self.skip_rows, int) and self.skip_rows >= 0
        if not is_count or isinstance(self.skip_rows, bool):
            raise TableError(
                "skip_rows must be a whole number of at least 0, got "
                f"{shown(self.skip_rows)}"
            )

    def delimiter_for(self, path: Path) -> str | None:
        """Return the delimiter of one character, None if it is to be found."""
        if self.delimiter is None:
            return None
        delimiter = {"tab": "\t", "\\t": "\t"}.get(self.delimiter, self.delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n\0' or not delimiter.isascii():
            raise fault(
                path,
                f"the delimiter must be one ASCII character, got {shown(delimiter)}",
            )
        return delimiter

    def encoding_for(self, path: Path) -> str | None:
        """Return the encoding as Python calls it, None if it is to be found."""
        if self.encoding is None:
            return None
        try:
            found = codecs.lookup(self.encoding)
            "a".encode(self.encoding)  # some "encodings" are not of text
        except (LookupError, ValueError, TypeError):
            raise fault(
                path,
                f"there is no encoding {shown(self.encoding)}: take for instance "
                "utf-8, utf-16, cp1252 or latin-1",
            ) from None
        # Reads files with and without byte order mark.
        return "utf-8-sig" if found.name == "utf-8" else found.name

    def refuse(self, path: Path, what: str, *names: str) -> None:
        """Raise if options were given that mean nothing in a file of this format."""
        for name in names:
            if getattr(self, name) != getattr(ReadOptions, name):
                flag = "--" + name.replace("_", "-")
                raise fault(path, f"{flag} means nothing in {what}")
