"""A model and the table that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betanll.estimators import (
    HeteroscedasticRegressor,
    checked_targets,
    quiet_about_missing_cells,
)
from betanll.evaluation._drivers import drivers_of, max_references
from betanll.evaluation._facts import RowFacts, Usual
from betanll.evaluation._inputs import InputRows, as_table, rows_of, sample_of
from betanll.evaluation._why import RowExplanation, explained_row
from betanll.typing import Array, Rows


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model, a table and the names of its parts.

    Attributes
    ----------
    model : HeteroscedasticRegressor
    table : DataFrame or array
    target : array of shape (n, d)
        NaN where it is not known.
    feature_names : sequence of str or None
    target_names : tuple of d str
    row_names : tuple of n str
    seed : int
    """

    model: HeteroscedasticRegressor
    table: Any
    target: Array
    feature_names: Sequence[str] | None
    target_names: tuple[str, ...]
    row_names: tuple[str, ...]
    seed: int

    @classmethod
    def of(
        cls,
        model: HeteroscedasticRegressor,
        X: Any,
        y: Any,
        feature_names: Sequence[str] | None,
        target_names: Sequence[str] | None,
        row_names: Sequence[str] | None,
        seed: int,
    ) -> Subject:
        """Check what the user has given and fill in names."""
        table = as_table(X)
        n, d = len(table), model.n_outputs_
        target = np.full((n, d), np.nan) if y is None else checked_targets(model, y, n)
        if row_names is None:
            labels = table.index if isinstance(table, pd.DataFrame) else range(n)
            row_names = [str(label) for label in labels]
        if target_names is None:
            target_names = [f"y{i}" for i in range(d)]
        for names, n_wanted, what in (
            (row_names, n, "rows"),
            (target_names, d, "targets"),
        ):
            if len(names) != n_wanted:
                raise ValueError(f"{len(names)} names were given for {n_wanted} {what}")
        return cls(
            model,
            table,
            target,
            feature_names,
            tuple(target_names),
            tuple(row_names),
            seed,
        )

    @property
    def is_single(self) -> bool:
        """Whether one network predicts, which cannot disagree with itself."""
        return len(self.model.members_) == 1

    def inputs(self, rows: Rows) -> InputRows:
        """Return some rows, encoded."""
        return InputRows.of(self.model, rows_of(self.table, rows), self.feature_names)

    def facts(self, rows: Rows) -> RowFacts:
        """Predict some rows in detail."""
        return RowFacts.of(self.inputs(rows), self.target[rows])

    def explained(
        self, facts: RowFacts, usual: Usual, rows: Rows, i: int, target: int
    ) -> RowExplanation:
        """Explain row ``rows[i]``, of which facts are known."""
        row = int(rows[i])
        return explained_row(
            facts,
            usual,
            i,
            target,
            row=row,
            name=self.row_names[row],
            target_name=self.target_names[target],
            is_single=self.is_single,
        )

    @quiet_about_missing_cells()
    def why(
        self, row: int, target: int, usual: Usual, references: Rows
    ) -> RowExplanation:
        """Explain one row by itself, also by the columns that widen its interval."""
        one = np.array([row])
        inputs = self.inputs(one)
        n = max_references(len(inputs.columns))
        return explained_row(
            RowFacts.of(inputs, self.target[one]),
            usual,
            0,
            target,
            row=row,
            name=self.row_names[row],
            target_name=self.target_names[target],
            is_single=self.is_single,
            drivers=drivers_of(
                inputs, self.inputs(sample_of(references, n, self.seed)), target
            ),
        )
