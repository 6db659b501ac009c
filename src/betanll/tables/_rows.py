"""Rows of a table to explain: inputs, targets where there are any, and names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from betanll.columns import TableError, as_markers, as_pandas, check_present, is_frame
from betanll.tables._open import open_table
from betanll.tables._schema import TableSchema
from betanll.typing import Array


class TableRows(NamedTuple):
    """Rows as a model takes them.

    Parameters
    ----------
    inputs : DataFrame
        The input columns.
    targets : array of shape (n, d) or None
        NaN where a target is missing; None if the table has no target column.
    names : tuple of str
        Row numbers, counted from one as in messages, and ids behind them.
    """

    inputs: pd.DataFrame
    targets: Array | None
    names: tuple[str, ...]

    @classmethod
    def read(
        cls,
        schema: TableSchema,
        data: Any,
        *,
        na_values: Sequence[str | float] | str | float = (),
        **reading: Any,
    ) -> TableRows:
        """Read a file or a table in memory; it needs no targets and no ids."""
        if is_frame(data):
            name, frame = "the table", as_pandas(data)
        else:
            missing = as_markers([*schema.encoder.missing, *as_markers(na_values)])
            file = open_table(data, na_values=missing, **reading)
            name = os.fspath(file.path)
            text = [one for one in schema.text_columns if one in file.columns]
            frame = file.read(text=text)
        try:
            if not len(frame):
                raise TableError("the table has no rows")
            return cls.of_frame(schema, frame)
        except TableError as error:
            raise TableError(f"{name}: {error}") from None

    @classmethod
    def of_frame(cls, schema: TableSchema, frame: pd.DataFrame) -> TableRows:
        """Return the rows of a table of pandas."""
        check_present(frame.columns, [column.name for column in schema.encoder.used])
        # Columns that the model ignores may be absent.
        names = [column.name for column in schema.encoder.columns]
        present = [name for name in schema.targets if name in frame.columns]
        targets = None
        if present:
            absent = {name: np.nan for name in schema.targets if name not in present}
            targets = schema.target_values(frame.assign(**absent))
        ids = frame[[name for name in schema.ids if name in frame.columns]]
        return cls(frame.reindex(columns=names), targets, row_names(frame.index, ids))


def row_names(index: pd.Index, ids: pd.DataFrame | None = None) -> tuple[str, ...]:
    """Return what rows are called: their number in the file, and their ids.

    An index of whole numbers counts the rows of a file from zero, as for messages.

    Examples
    --------
    >>> row_names(pd.Index([0, 7]), pd.DataFrame({"id": ["a7", "b1"]}))
    ('1 (a7)', '8 (b1)')
    >>> row_names(pd.Index(["Mo", "Tu"]))
    ('Mo', 'Tu')
    """
    if pd.api.types.is_integer_dtype(index.dtype):
        names = [str(label + 1) for label in index.tolist()]
    else:
        names = [str(label) for label in index]
    if ids is None or not len(ids.columns):
        return tuple(names)
    texts = [", ".join(map(str, row)) for row in ids.itertuples(index=False)]
    return tuple(f"{name} ({text})" for name, text in zip(names, texts, strict=True))
