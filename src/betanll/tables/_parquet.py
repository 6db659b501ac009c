"""Parquet files, through pyarrow, which is optional."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from betanll.tables._errors import TableError
from betanll.tables._file import (
    CHUNK_ROWS,
    TableFile,
    check_names,
    check_rows,
    check_text_columns,
    fault,
)


@dataclass(frozen=True)
class ParquetFile(TableFile):
    def read(
        self, nrows: int | None = None, *, text: Sequence[str] = ()
    ) -> pd.DataFrame:
        check_rows(nrows, "nrows")
        check_text_columns(self.path, self.columns, text)
        with _opened(self.path) as file:
            if nrows is None:
                return _frame(file.read(), 0)
            pieces, n = [], 0
            for batch in file.iter_batches(min(nrows, CHUNK_ROWS)):
                pieces.append(_frame(batch.slice(0, nrows - n), n))
                n += len(pieces[-1])
                if n == nrows:
                    break
            return pd.concat(pieces)

    def chunks(
        self, n_rows: int = CHUNK_ROWS, *, text: Sequence[str] = ()
    ) -> Iterator[pd.DataFrame]:
        check_rows(n_rows, "n_rows")
        check_text_columns(self.path, self.columns, text)
        first = 0
        with _opened(self.path) as file:
            for batch in file.iter_batches(n_rows):
                if len(batch):
                    yield _frame(batch, first)
                    first += len(batch)


def open_parquet(path: Path) -> ParquetFile:
    """Read the names and the number of rows from the file's foot."""
    with _opened(path) as file:
        columns = tuple(file.schema_arrow.names)
        n_rows = file.metadata.num_rows
    check_names(path, columns)
    if not columns:
        raise fault(path, "the file has no columns")
    if n_rows == 0:
        raise fault(path, "the file has column names but no rows")
    return ParquetFile(path, columns, has_header=True, nameless=())


def _frame(data: Any, first: int) -> pd.DataFrame:
    # The metadata of pandas would turn columns into an index.
    frame: pd.DataFrame = data.to_pandas(ignore_metadata=True)
    return frame.set_axis(pd.RangeIndex(first, first + len(frame)))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Yield the open file and turn pyarrow's errors into sentences."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise fault(
            path, "Parquet files need pyarrow: install betanll[parquet]"
        ) from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except PermissionError:
        raise fault(path, "the file may not be read") from None
    except TableError:
        raise
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise fault(path, f"the file is broken or no Parquet file: {reason}") from None
