"""Parquet files, through pyarrow, which is optional."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from betanll.columns import TableError
from betanll.sentences import shown
from betanll.tables._errors import fault
from betanll.tables._file import (
    CHUNK_ROWS,
    INDEX_NAME,
    TableFile,
    check_rows,
    check_text_columns,
)
from betanll.tables._names import unique_names
from betanll.tables._options import ReadOptions
from betanll.tables._source import Source


@dataclass(frozen=True)
class ParquetFile(TableFile):
    """A Parquet file, without what pandas stored as the index of its rows."""

    def read(
        self, nrows: int | None = None, *, text: Sequence[str] = ()
    ) -> pd.DataFrame:
        check_rows(nrows, "nrows")
        check_text_columns(self.path, self.columns, text)
        with _opened(self.source) as file:
            if nrows is None:
                return self._frame(file.read(), 0, text)
            pieces, n = [], 0
            for batch in file.iter_batches(min(nrows, CHUNK_ROWS)):
                pieces.append(self._frame(batch.slice(0, nrows - n), n, text))
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
        with _opened(self.source) as file:
            for batch in file.iter_batches(n_rows):
                if len(batch):
                    yield self._frame(batch, first, text)
                    first += len(batch)

    def _frame(self, data: Any, first: int, text: Sequence[str]) -> pd.DataFrame:
        # Selected by place: a name that contains a dot would mean a nested field.
        names = data.schema.names
        # Else text that is not UTF-8 fails later, wherever it is first used.
        data.validate(full=True)
        chosen = data.select([i for i, n in enumerate(names) if n not in self.index])
        # The metadata of pandas would turn columns into an index, and may be damaged.
        plain = chosen.replace_schema_metadata(None)
        frame: pd.DataFrame = plain.to_pandas(ignore_metadata=True)
        frame = frame.set_axis(pd.RangeIndex(first, first + len(frame)))
        return self._marked(frame.set_axis(list(self.columns), axis=1), text)


def open_parquet(source: Source, options: ReadOptions) -> ParquetFile:
    """Read the names and the number of rows from the file's foot."""
    path = source.path
    options.refuse(path, "Parquet files", "encoding", "skip_rows", "sheet")
    with _opened(source) as file:
        names = tuple(file.schema_arrow.names)
        stored = _stored_index(file.schema_arrow.metadata)
        stored |= {name for name in names if INDEX_NAME.fullmatch(name)}
        n_rows = file.metadata.num_rows
    if not names:
        raise fault(path, "the file has no columns")
    if n_rows == 0:
        raise fault(path, "the file has column names but no rows")
    found = unique_names([name for name in names if name not in stored])
    if not found.columns:
        raise fault(
            path,
            "all columns belong to the index of a pandas table: call reset_index() "
            "before to_parquet()",
        )
    index = tuple(name for name in names if name in stored)
    index_notes = [
        f"{shown(name)} is the index of the pandas table and not used; to use it, "
        "call reset_index() before to_parquet()."
        for name in index
        if not INDEX_NAME.fullmatch(name)
    ]
    return ParquetFile(
        source,
        found.columns,
        has_header=True,
        nameless=found.nameless,
        index=index,
        missing=options.na_values,
        notes=(*index_notes, *found.notes),
    )


def _stored_index(metadata: Any) -> frozenset[str]:
    """Return the columns that hold the index of the pandas table in the file.

    The metadata of pandas lists them by name. An index that only counts rows is stored
    as a description instead, and has no column. Other programs that rewrite the file
    drop the metadata, and leave the names that pandas gave to an index without one.
    """
    try:
        description = json.loads((metadata or {})[b"pandas"])
        listed = description["index_columns"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return frozenset()  # not written by pandas, or damaged
    names = listed if isinstance(listed, list) else []
    return frozenset(name for name in names if isinstance(name, str))


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[Any]:
    """Yield the open file and turn pyarrow's errors into sentences."""
    path = source.path
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise fault(
            path, "Parquet files need pyarrow: install betanll[parquet]"
        ) from None
    try:
        # Opened here, because pyarrow takes "~" in a path for a home folder.
        with source.opened_raw() as raw, pyarrow.parquet.ParquetFile(raw) as file:
            yield file
    except TableError:
        raise
    except MemoryError:
        raise
    # Whatever else pyarrow and pandas make of damaged bytes.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise fault(path, f"the file is broken or not Parquet: {reason}") from None
