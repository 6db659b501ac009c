"""Tables of pandas, polars and pyarrow as one kind of table."""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from typing import Any

import narwhals as nw
import pandas as pd

from betanll.columns._errors import TableError, repeated
from betanll.sentences import listed, shown

#: How pandas calls an index without a name in files and tables of Arrow.
INDEX_NAME = re.compile(r"__index_level_\d+__")


def is_frame(data: Any) -> bool:
    """Tell whether data is a table with named columns in memory.

    Raises
    ------
    TableError
        For what is nearly one: lazy tables, single columns and batches of rows.
    """
    what = type(data).__name__
    if nw.dependencies.is_into_dataframe(data) or isinstance(data, nw.DataFrame):
        return True
    if nw.dependencies.is_polars_lazyframe(data) or isinstance(data, nw.LazyFrame):
        raise TableError("the table is lazy: call collect() first")
    if isinstance(data, nw.Series) or nw.dependencies.is_into_series(data):
        raise TableError(
            f"got a {what}, a single column: make it a table, as with to_frame()"
        )
    if what == "RecordBatch" and type(data).__module__.startswith("pyarrow"):
        raise TableError(
            "got a RecordBatch: make it a table with pyarrow.Table.from_batches([...])"
        )
    return False


def as_pandas(data: Any) -> pd.DataFrame:
    """Return a table of pandas, polars or pyarrow as one of pandas.

    Cells of pandas are not copied. Names that are numbers become text. An index that
    pandas stored as columns of a table of another library is left out with a warning.

    Examples
    --------
    >>> import polars
    >>> as_pandas(polars.DataFrame({"age": [3, None], "eyes": ["blue", "red"]}))
       age  eyes
    0  3.0  blue
    1  NaN   red
    """
    if isinstance(data, pd.DataFrame):
        return _named(data)
    native = data.to_native() if isinstance(data, nw.DataFrame) else data
    if isinstance(native, pd.DataFrame):
        return _named(native)
    # Some tables of Arrow have names twice, which narwhals refuses.
    _check_names(getattr(native, "column_names", None) or list(native.columns))
    table = nw.from_native(native, eager_only=True, pass_through=False)
    index = [name for name in table.columns if INDEX_NAME.fullmatch(name)]
    index += [name for name in _stored_index(native) if name in table.columns]
    if index := list(dict.fromkeys(index)):
        warnings.warn(
            f"{listed(index)} is the index of a pandas table and not used: call "
            "reset_index() before storing the table to use it",
            UserWarning,
            stacklevel=3,
        )
    columns = {
        name: _series(table[name]) for name in table.columns if name not in index
    }
    return _named(pd.DataFrame(columns))


def _series(column: Any) -> pd.Series:
    if column.dtype.is_nested():  # refused where it is used, unless it is not used
        return pd.Series(column.to_list(), dtype=object)
    return pd.Series(column.to_numpy())


def _stored_index(table: Any) -> list[str]:
    """Return the columns that hold the index, by what pandas wrote into the table."""
    metadata = getattr(getattr(table, "schema", None), "metadata", None) or {}
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        described = json.loads(metadata.get(b"pandas", b"{}"))
        names = described.get("index_columns", [])
        return [name for name in names if isinstance(name, str)]
    return []


def take_rows(data: Any, rows: Any) -> Any:
    """Return some rows of an array or of a table of pandas."""
    return data.iloc[rows] if isinstance(data, pd.DataFrame) else data[rows]


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    names = list(frame.columns)
    if all(isinstance(name, str) for name in names):
        texts = names
    else:
        if odd := [name for name in names if not isinstance(name, str | int)]:
            raise TableError(f"column names must be text, got {shown(odd[0])}")
        texts = [str(name) for name in names]
        frame = frame.set_axis(texts, axis=1)
    _check_names(texts)
    return frame


def _check_names(names: Any) -> None:
    if (name := repeated(names)) is not None:
        raise TableError(f"the name {name!r} is shared by several columns")
