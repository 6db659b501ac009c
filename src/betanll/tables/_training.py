"""The rows of a table to train on, checked before any work."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from betanll.columns import (
    Column,
    ColumnSummary,
    TableError,
    as_pandas,
    is_frame,
    row_counters,
    summarise,
)
from betanll.sentences import option, shown
from betanll.tables._file import INDEX_NAME
from betanll.tables._open import check_is_path, open_table
from betanll.tables._schema import TableSchema
from betanll.typing import Array, Rows

#: What pandas makes of the missing name of an index that was written as a column.
_INDEX_NAMES = re.compile(rf"Unnamed: \d+(?:_level_\d+)?|{INDEX_NAME.pattern}")
#: Training, validation and held-out part need so many rows.
MIN_ROWS = 10


class Split(NamedTuple):
    """Rows to train on and rows held out: input columns and targets."""

    schema: TableSchema
    train: tuple[pd.DataFrame, Array]
    test: tuple[pd.DataFrame, Array]


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """Rows with at least one target, and what was noticed about their columns.

    Attributes
    ----------
    name : str
        Of the file, in messages.
    frame : DataFrame
        The rows.
    schema : TableSchema
        What each column is.
    targets : array of shape (n_rows, n_targets)
        NaN where a target is missing.
    columns : list of ColumnSummary
        How each input column was read, and what is odd about it.
    notes : list of str
        Sentences about rows that are left out.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [0.5, 1.5] * 8, "y": range(16)})
    >>> table = TrainingTable.read(frame, target="y")
    >>> table.columns[0].content, table.targets.shape
    ('0.5 to 1.5', (16, 1))
    """

    name: str
    frame: pd.DataFrame
    schema: TableSchema
    targets: Array
    columns: list[ColumnSummary]
    notes: list[str]

    @property
    def inputs(self) -> pd.DataFrame:
        """The input columns."""
        return self.frame[[column.name for column in self.schema.encoder.columns]]

    @classmethod
    def read(
        cls,
        data: Any,
        target: str | Sequence[str],
        *,
        drop: Sequence[str] = (),
        ids: Sequence[str] = (),
        kinds: Mapping[str, str | Column] | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
    ) -> TrainingTable:
        """Read a table and refuse one that is useless for training.

        Parameters
        ----------
        data : path or DataFrame
            A CSV or Parquet file, or a table of pandas, polars or pyarrow.
        target : str or sequence of str
            Columns to predict.
        drop, ids : sequence of str
            Columns that are left out; `ids` are repeated beside predictions.
        kinds : mapping of str to str, optional
            How to read some columns, as in :meth:`ColumnEncoder.infer`.
        delimiter, header
            As in :func:`open_table`.

        Raises
        ------
        TableError
            With one sentence, if a column does not exist or cannot be used, if rows are
            too few, or if a target is constant.
        """
        targets = (target,) if isinstance(target, str) else tuple(target)
        notes: list[str] = []
        nameless: Sequence[str] = ()
        if is_frame(data):
            name, frame = "the table", as_pandas(data)
        else:
            check_is_path(data)
            file = open_table(data, delimiter=delimiter, header=header)
            name, nameless = os.fspath(data), file.nameless
            notes += file.index_notes
            frame = file.read(text=[one for one in ids if one in file.columns])
        try:
            schema = TableSchema.infer(
                frame, targets=targets, drop=drop, ids=ids, kinds=kinds
            )
            y = schema.target_values(frame)
        except TableError as error:
            raise TableError(f"{name}: {error}") from None
        # Of all rows, before some are left out.
        counters = row_counters(schema.encoder, frame)
        if len(schema.encoder.columns) == 1:  # a series over time
            counters, nameless = [], ()
        columns = [
            _with_counter(line, counters, nameless)
            for line in summarise(schema.encoder, frame)
        ]
        has_target = np.flatnonzero(~np.isnan(y).all(axis=1))
        n_without = len(frame) - len(has_target)
        if n_without:
            notes.append(f"{_rows(n_without)} without any target left out.")
            frame, y = frame.iloc[has_target], y[has_target]
        _check_targets(name, schema, y)
        n_missing = int(np.isnan(y).sum())
        if n_missing:
            notes.append(f"{n_missing} missing targets do not count in training.")
        return cls(name, frame, schema, y, columns, notes)

    @property
    def column_notes(self) -> list[str]:
        """Sentences about columns that are odd."""
        return [
            f"column {line.name!r} {note}."
            for line in self.columns
            for note in line.notes
        ]

    def split(self, test_fraction: float = 0.2, *, random_state: int = 0) -> Split:
        """Hold a random part of the rows out; both parts keep the order of the table.

        What the model learns of the columns, such as what fills gaps, comes from the
        training rows; what kind of column each one is, from all rows.
        """
        check_fraction(test_fraction)
        train, test = split_rows(len(self.frame), test_fraction, random_state)
        inputs, y = self.inputs, self.targets
        return Split(
            self.schema,
            (inputs.iloc[train], y[train]),
            (inputs.iloc[test], y[test]),
        )


def split_rows(n: int, test_fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Return positions of training and of held-out rows, both in ascending order."""
    n_test = min(max(2, round(test_fraction * n)), n - MIN_ROWS // 2)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def check_fraction(test_fraction: Any) -> None:
    """Refuse what is not a share of the rows, numbers of another kind included."""
    is_number = isinstance(test_fraction, Real) and not isinstance(test_fraction, bool)
    if not is_number or not 0 < test_fraction < 1:
        raise ValueError(
            "test_fraction must be a number between 0 and 1, got "
            f"{shown(test_fraction)}"
        )


def _check_targets(name: str, schema: TableSchema, y: Array) -> None:
    if len(y) < MIN_ROWS:
        raise TableError(
            f"{name} has {_rows(len(y))} with a target; at least {MIN_ROWS} are needed"
        )
    for target, column in zip(schema.targets, y.T, strict=True):
        if np.nanmin(column) == np.nanmax(column):
            raise TableError(
                f"{name}: target {target!r} is always "
                f"{column[~np.isnan(column)][0]:g}: there is nothing to predict"
            )


def _with_counter(
    line: ColumnSummary, counters: Sequence[str], nameless: Sequence[str]
) -> ColumnSummary:
    """Add a note to a column that counts the rows, or may do so: it has no name."""
    name = line.name
    is_index = _INDEX_NAMES.fullmatch(name) is not None
    if name not in counters and name not in nameless and not is_index:
        return line
    what = "had no name and " if name in nameless else ""
    what += "is called as pandas calls an index and " if is_index else ""
    what += "counts the rows and " if name in counters else ""
    note = (
        f"{what}is used as an input; if it is only a row number, leave it out with "
        f"{option('--drop', name)}"
    )
    return line._replace(notes=(*line.notes, note))


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"
