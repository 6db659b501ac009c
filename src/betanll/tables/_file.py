"""What files of all formats have in common."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from betanll.columns import TableError, check_present, mark_missing
from betanll.sentences import listed
from betanll.tables._errors import fault
from betanll.tables._source import Source

if TYPE_CHECKING:
    import pandas as pd

CHUNK_ROWS = 100_000
#: How pandas calls an index without a name in a Parquet file.
INDEX_NAME = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class TableFile(ABC):
    """A table in a file that `open_table` has looked at.

    Attributes
    ----------
    columns : tuple of str
        Names in the order of the file; ``column_1``, ``column_2``, ... without header.
        A name that occurs again becomes ``name.2``.
    has_header : bool
        Whether the first row of the file holds the names.
    nameless : tuple of str
        Names given to columns without one below a header. The first column is so
        where pandas wrote its index: likely a row number that a model should not see.
    index : tuple of str
        Columns of a Parquet file that hold the index of a pandas table. They are not
        columns of this table.
    missing : tuple of str
        Cells that count as missing beside the usual ones.
    notes : tuple of str
        Sentences on how the file is read.
    """

    source: Source
    columns: tuple[str, ...]
    has_header: bool
    nameless: tuple[str, ...]
    index: tuple[str, ...] = field(default=(), kw_only=True)
    missing: tuple[str, ...] = field(default=(), kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def path(self) -> Path:
        """The file, as messages call it."""
        return self.source.path

    def _marked(self, frame: pd.DataFrame, text: Sequence[str]) -> pd.DataFrame:
        """Return a table with its missing cells; columns of `text` stay as they are."""
        names = [name for name in self.columns if name not in text]
        return mark_missing(frame, dict.fromkeys(names, self.missing))

    def check_columns(self, names: Iterable[str]) -> None:
        """Refuse a file without some columns, before its rows are read."""
        try:
            check_present(self.columns, names)
        except TableError as error:
            hint = "; if its first line has names, use --header"
            raise TableError(
                f"{self.path}: {error}{'' if self.has_header else hint}"
            ) from None

    @abstractmethod
    def read(
        self, nrows: int | None = None, *, text: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Return the table, or its first `nrows` rows.

        Parameters
        ----------
        nrows : int, optional
        text : sequence of str
            Columns whose cells are kept as written, so that an identifier ``007``
            does not become 7. Parquet files have types and need no such hint.
        """

    @abstractmethod
    def chunks(
        self, n_rows: int = CHUNK_ROWS, *, text: Sequence[str] = ()
    ) -> Iterator[pd.DataFrame]:
        """Yield the table in pieces of at most `n_rows` rows, in bounded memory.

        The index counts on from piece to piece: it is the row of the whole file,
        from zero.
        """


def check_text_columns(path: Path, columns: Sequence[str], text: Sequence[str]) -> None:
    unknown = [name for name in text if name not in columns]
    if unknown:
        raise fault(path, f"there is no column {listed(unknown)}")


def check_rows(n_rows: int | None, what: str) -> None:
    if n_rows is not None and n_rows < 1:
        raise ValueError(f"{what} must be at least 1, got {n_rows}")
