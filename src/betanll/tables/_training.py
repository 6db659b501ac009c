"""The rows of a table to train on, checked before any work."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from betanll.sentences import option
from betanll.tables._counters import row_counters
from betanll.tables._errors import TableError
from betanll.tables._file import INDEX_NAME
from betanll.tables._open import open_table
from betanll.tables._schema import TableSchema
from betanll.typing import Array, Rows

#: What pandas makes of the missing name of an index that was written as a column.
_INDEX_NAMES = re.compile(rf"Unnamed: \d+(?:_level_\d+)?|{INDEX_NAME.pattern}")
#: Training, validation and held-out part need so many rows.
MIN_ROWS = 10


class Split(NamedTuple):
    """Encoded rows to train on and rows held out; gaps are filled by training rows."""

    schema: TableSchema
    train: tuple[Array, Array]
    test: tuple[Array, Array]


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
    notes : list of str
        Sentences about columns that are cut, read in a special way or suspicious.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [0.5, 1.5] * 8, "y": range(16)})
    >>> table = TrainingTable.read(frame, target="y")
    >>> table.schema.encoded_names, table.targets.shape
    (('x',), (16, 1))
    """

    name: str
    frame: pd.DataFrame
    schema: TableSchema
    targets: Array
    notes: list[str]

    @classmethod
    def read(
        cls,
        data: str | os.PathLike[str] | pd.DataFrame,
        target: str | Sequence[str],
        *,
        drop: Sequence[str] = (),
        ids: Sequence[str] = (),
        delimiter: str | None = None,
        header: bool | None = None,
    ) -> TrainingTable:
        """Read a table and refuse one that is useless for training.

        Parameters
        ----------
        data : path or DataFrame
            A CSV or Parquet file, or a table in memory.
        target : str or sequence of str
            Columns to predict.
        drop, ids : sequence of str
            Columns that are left out; `ids` are repeated beside predictions.
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
        if isinstance(data, pd.DataFrame):
            name, frame = "the table", data
        else:
            file = open_table(data, delimiter=delimiter, header=header)
            name, nameless = os.fspath(data), file.nameless
            notes += file.index_notes
            frame = file.read(text=[one for one in ids if one in file.columns])
        try:
            schema = TableSchema.infer(frame, targets=targets, drop=drop, ids=ids)
            y = schema.target_values(frame)
        except TableError as error:
            raise TableError(f"{name}: {error}") from None
        # Of all rows, before some are left out.
        counters = row_counters(schema, frame)
        notes += [f"{note}." for note in schema.training_notes(frame)]
        has_target = np.flatnonzero(~np.isnan(y).all(axis=1))
        n_without = len(frame) - len(has_target)
        if n_without:
            notes.append(f"{_rows(n_without)} without any target left out.")
            frame, y = frame.iloc[has_target], y[has_target]
        _check_targets(name, schema, y)
        n_missing = int(np.isnan(y).sum())
        if n_missing:
            notes.append(f"{n_missing} missing targets do not count in training.")
        notes += [
            f"column {column!r} is constant and says nothing."
            for column in schema.constant_features
        ]
        if len(schema.features) > 1:
            notes += _counter_notes(schema, counters, nameless)
        return cls(name, frame, schema, y, notes)

    def split(self, test_fraction: float = 0.2, *, random_state: int = 0) -> Split:
        """Hold a random part of the rows out; both parts keep the order of the table.

        What fills gaps, and which categories there are, is learnt from training rows.
        """
        train, test = split_rows(len(self.frame), test_fraction, random_state)
        try:
            schema = self.schema.relearnt(self.frame.iloc[train])
        except TableError as error:
            raise TableError(
                f"{self.name}, {len(train)} training rows: {error}"
            ) from None
        X, y = schema.encode(self.frame), self.targets
        return Split(schema, (X[train], y[train]), (X[test], y[test]))


def split_rows(n: int, test_fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Return positions of training and of held-out rows, both in ascending order."""
    n_test = min(max(2, round(test_fraction * n)), n - MIN_ROWS // 2)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


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


def _counter_notes(
    schema: TableSchema, counters: Sequence[str], nameless: Sequence[str]
) -> list[str]:
    """Name each input that counts the rows, or may do so because it has no name."""
    notes = []
    for name in (column.name for column in schema.features):
        what = f"column {name!r}"
        if name in nameless:
            what = f"the first column, which has no name and is called {name},"
        elif _INDEX_NAMES.fullmatch(name):
            what += ", called as pandas calls an index without a name,"
        elif name not in counters:
            continue
        if name in counters:
            what += " counts the rows and"
        notes.append(
            f"{what} is used as an input; if it is only a row number, leave it "
            f"out with {option('--drop', name)}."
        )
    return notes


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"
