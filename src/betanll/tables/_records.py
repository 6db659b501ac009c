"""Rows of Python values, as spreadsheets and JSON have them, to tables."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from betanll.tables._file import CHUNK_ROWS, TableFile, check_rows, check_text_columns


@dataclass(frozen=True)
class RecordFile(TableFile):
    """A file that is read row by row."""

    @abstractmethod
    def _rows(self) -> Iterator[Sequence[Any]]:
        """Yield the cells of each row, as many as there are columns."""

    def read(
        self, nrows: int | None = None, *, text: Sequence[str] = ()
    ) -> pd.DataFrame:
        check_rows(nrows, "nrows")
        check_text_columns(self.path, self.columns, text)
        return self._frame(list(itertools.islice(self._rows(), nrows)), 0, text)

    def chunks(
        self, n_rows: int = CHUNK_ROWS, *, text: Sequence[str] = ()
    ) -> Iterator[pd.DataFrame]:
        check_rows(n_rows, "n_rows")
        check_text_columns(self.path, self.columns, text)
        rows, first = self._rows(), 0
        while piece := list(itertools.islice(rows, n_rows)):
            yield self._frame(piece, first, text)
            first += len(piece)

    def _frame(
        self, rows: list[Sequence[Any]], first: int, text: Sequence[str]
    ) -> pd.DataFrame:
        index = pd.RangeIndex(first, first + len(rows))
        frame = pd.DataFrame(
            {
                name: _series([row[i] for row in rows], index, name in text)
                for i, name in enumerate(self.columns)
            },
            index=index,
        )
        return self._marked(frame, text)


def _series(cells: list[Any], index: pd.RangeIndex, is_text: bool) -> pd.Series:
    """Return a column of the type of its cells, or of the cells as they are."""
    if is_text:
        return pd.Series(cells, index, dtype=object)
    types = {type(cell) for cell in cells} - {type(None)}
    # Others would be guessed: lists of pairs, truth values with gaps, dates with zones.
    is_plain = types <= {int, float} or types in ({str}, {bool})
    return pd.Series(cells, index, dtype=None if is_plain and types else object)
