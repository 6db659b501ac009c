"""The rows of a table to train on, checked before any work."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betanll.blocks import RowBlocks, SplitRows, splits_of
from betanll.columns import (
    Column,
    ColumnSummary,
    TableError,
    as_pandas,
    groups_of,
    is_frame,
    row_counters,
    sorting_dates,
    summarise,
    times_of,
)
from betanll.sentences import option
from betanll.tables._file import INDEX_NAME
from betanll.tables._open import open_table
from betanll.tables._schema import TableSchema
from betanll.typing import Array

#: What pandas makes of the missing name of an index that was written as a column.
_INDEX_NAMES = re.compile(rf"Unnamed: \d+(?:_level_\d+)?|{INDEX_NAME.pattern}")
#: Training, validation and held-out part need so many rows.
MIN_ROWS = 10
#: A fifth of fewer rows would say too little: they are judged by cross-validation.
FEW_ROWS = 250


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
        Sentences about rows that are left out, and how the rest should be split.
    blocks : RowBlocks, optional
        Rows of one time or group, which no split divides.

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
    blocks: RowBlocks | None = None

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
        time: str | None = None,
        group: str | None = None,
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
        time : str, optional
            Column of dates or numbers; the latest rows are held out.
        group : str, optional
            Column of labels such as patients; no group is on both sides of a split.
            The column is no input: new groups have other labels.

        Raises
        ------
        TableError
            With one sentence, if a column does not exist or cannot be used, if rows are
            too few, or if a target is constant.
        """
        targets = (target,) if isinstance(target, str) else tuple(target)
        notes: list[str] = []
        if time is not None and group is not None:
            raise TableError("rows are split by time or by group: give one of them")
        if group is not None and group not in (*targets, *drop, *ids):
            drop = (*drop, group)
            notes.append(f"column {group!r} is no input: new groups have other labels.")
        nameless: Sequence[str] = ()
        if is_frame(data):
            name, frame = "the table", as_pandas(data)
        else:
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
        blocks = _blocks(name, frame, time, group, kinds or {})
        if blocks is None:
            notes += _on_order(schema, frame)
        n_missing = int(np.isnan(y).sum())
        if n_missing:
            notes.append(f"{n_missing} missing targets do not count in training.")
        return cls(name, frame, schema, y, columns, notes, blocks)

    @property
    def column_notes(self) -> list[str]:
        """Sentences about columns that are odd."""
        return [
            f"column {line.name!r} {note}."
            for line in self.columns
            for note in line.notes
        ]

    def splits(
        self,
        test_fraction: float | None = None,
        n_folds: int | None = None,
        *,
        random_state: int = 0,
    ) -> Sequence[SplitRows]:
        """Return training rows and held-out rows, once or for each fold.

        Both are positions in ascending order. Held out are the latest rows of a table
        with times, whole groups, or else rows drawn at random.

        Parameters
        ----------
        test_fraction : float, optional
            Share of the rows in a single held-out part, by default a fifth.
        n_folds : int, optional
            Folds of a cross-validation instead. Without both, tables of fewer than 250
            rows have five folds; those with times have a single held-out part.
        random_state : int, default=0
            Draws rows or groups.
        """
        n = len(self.frame)
        is_timed = self.blocks is not None and self.blocks.is_ordered
        if test_fraction is None and n_folds is None and not is_timed and n < FEW_ROWS:
            n_folds = 5
        if n_folds is None:
            share = 0.2 if test_fraction is None else test_fraction
            if self.blocks is not None:
                return [self.blocks.held_out(share, random_state)]
            return [split_rows(n, share, random_state)]
        if test_fraction is not None:
            raise ValueError("give test_fraction or n_folds, not both")
        if not 2 <= n_folds <= n // 2:
            raise ValueError(
                f"n_folds must lie between 2 and {n // 2} for {n} rows, got {n_folds}"
            )
        return splits_of(n, self.blocks, n_folds, random_state)


def split_rows(n: int, test_fraction: float, seed: int) -> SplitRows:
    """Return positions of training and of held-out rows, both in ascending order."""
    n_test = min(max(2, round(test_fraction * n)), n - MIN_ROWS // 2)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def _blocks(
    name: str,
    frame: pd.DataFrame,
    time: str | None,
    group: str | None,
    kinds: Mapping[str, str | Column],
) -> RowBlocks | None:
    """Return the rows that belong together, by the column of times or of groups."""
    try:
        if time is not None:
            times = times_of(frame, time, kinds.get(time))
            if np.ptp(times) == 0:
                raise TableError(f"column {time!r} has a single time")
            return RowBlocks.of_times(times)
        if group is not None:
            groups = groups_of(frame, group)
            if np.ptp(groups) == 0:
                raise TableError(f"column {group!r} has a single group")
            return RowBlocks.of_groups(groups)
    except TableError as error:
        raise TableError(f"{name}: {error}") from None
    return None


def _on_order(schema: TableSchema, frame: pd.DataFrame) -> list[str]:
    """Suggest a split by time where dates sort the table."""
    return [
        f"rows are sorted by {column!r}: if the model will predict later rows, judge "
        f"it by {option('--time', column)}."
        for column in sorting_dates(schema.encoder.columns, frame)[:1]
    ]


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
