"""Tables of pandas, polars and pyarrow as one kind of table."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd

from betanll.columns._errors import TableError, repeated
from betanll.sentences import shown


def is_frame(data: Any) -> bool:
    """Tell whether data is a table with named columns in memory."""
    return bool(nw.dependencies.is_into_dataframe(data)) or isinstance(
        data, nw.DataFrame
    )


def as_pandas(data: Any) -> pd.DataFrame:
    """Return a table of pandas, polars or pyarrow as one of pandas.

    Cells of pandas are not copied. Names that are numbers become text.

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
    table = nw.from_native(data, eager_only=True, pass_through=False)
    native = table.to_native()
    if isinstance(native, pd.DataFrame):
        return _named(native)
    columns = {name: pd.Series(table[name].to_numpy()) for name in table.columns}
    return _named(pd.DataFrame(columns))


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
    if (name := repeated(texts)) is not None:
        raise TableError(f"the name {name!r} is shared by several columns")
    return frame
