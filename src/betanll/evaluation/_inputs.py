"""Rows of a table, the numbers that networks read of them, and columns to vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from betanll.columns import (
    Column,
    ColumnValues,
    as_pandas,
    is_frame,
    named_columns,
    read_values,
    take_rows,
)
from betanll.distributions import Distribution
from betanll.estimators import (
    HeteroscedasticRegressor,
    VarianceParts,
    distribution_of,
    interval_of,
)
from betanll.typing import Rows

#: Coverage of the intervals of an explanation.
COVERAGE = 0.9


@dataclass(frozen=True, eq=False)
class InputColumn:
    """A column of the table that the model reads.

    Attributes
    ----------
    name : str
    places : array of int
        Its columns in the encoded matrix: to vary a column is to vary all of them.
    cells : ColumnValues
        As people read them.
    description : Column or None
        How the encoder reads it; None for a matrix of numbers.
    """

    name: str
    places: Rows
    cells: ColumnValues
    description: Column | None = None


@dataclass(frozen=True, eq=False)
class InputRows:
    """Rows to explain, as the user wrote them and as the networks read them.

    The encoding works cell by cell, so the encoded rows with exchanged columns are the
    encoding of rows with exchanged cells, and the table is encoded only once.
    """

    model: HeteroscedasticRegressor
    table: Any
    matrix: NDArray[np.floating]
    columns: tuple[InputColumn, ...]

    @classmethod
    def of(
        cls,
        model: HeteroscedasticRegressor,
        table: Any,
        feature_names: Sequence[str] | None = None,
    ) -> InputRows:
        """Encode rows of an array or a table of pandas."""
        matrix = model.encode(table)
        encoder = model.encoder_
        if encoder is None:
            names = feature_names or _names(model, matrix.shape[1])
            if len(names) != matrix.shape[1]:
                raise ValueError(
                    f"{len(names)} names were given for {matrix.shape[1]} columns"
                )
            return cls(model, table, matrix, tuple(_number_columns(matrix, names)))
        frame = named_columns(table, [column.name for column in encoder.columns])
        sources = np.array(encoder.sources, object)
        columns = tuple(
            InputColumn(
                column.name,
                np.flatnonzero(sources == column.name),
                read_values(column, frame),
                column,
            )
            for column in encoder.used
        )
        return cls(model, table, matrix, columns)

    def __len__(self) -> int:
        return len(self.matrix)

    def predict(self, matrix: NDArray[np.floating] | None = None) -> Distribution:
        """Return the predictive distributions of these or of varied rows, (n, d)."""
        return distribution_of(self.model, self.matrix if matrix is None else matrix)

    def interval(self, predictive: Distribution) -> NDArray[np.float64]:
        """Return the intervals of distributions, of shape (n, 2, d)."""
        return interval_of(self.model, predictive, COVERAGE)

    def parts(self) -> VarianceParts:
        """Return noise and disagreement, as variances of shape (n, d)."""
        aleatoric, epistemic = self.model.predict_parts(self.table)
        n = len(self)
        return VarianceParts(aleatoric.reshape(n, -1), epistemic.reshape(n, -1))


def as_table(X: Any) -> pd.DataFrame | NDArray[Any]:
    """Return an array or a table of pandas, of which rows can be taken."""
    return as_pandas(X) if is_frame(X) else np.asarray(X)


def sample_of(rows: Rows, at_most: int, seed: int) -> Rows:
    """Return some of the rows, drawn at random, in their order.

    Examples
    --------
    >>> len(sample_of(np.arange(100), 7, seed=0)), sample_of(np.arange(3), 7, seed=0)
    (7, array([0, 1, 2]))
    """
    if len(rows) <= at_most:
        return rows
    chosen = np.random.default_rng(seed).choice(len(rows), at_most, replace=False)
    return rows[np.sort(chosen)]


def rows_of(table: pd.DataFrame | NDArray[Any], rows: Rows) -> Any:
    """Return some rows of an array or a table of pandas."""
    return take_rows(table, rows)


def _names(model: HeteroscedasticRegressor, n: int) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    return [f"x{i}" for i in range(n)] if names is None else [str(x) for x in names]


def _number_columns(
    matrix: NDArray[np.floating], names: Sequence[str]
) -> list[InputColumn]:
    return [
        InputColumn(
            name,
            np.array([i]),
            ColumnValues("number", matrix[:, i].astype(np.float64)),
        )
        for i, name in enumerate(names)
    ]
