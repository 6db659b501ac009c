"""From tables to matrices, and the state that makes every later table the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from betanll.columns._cells import parse_cells
from betanll.columns._column import Column, check_texts
from betanll.columns._errors import TableError
from betanll.columns._infer import Known, check_kinds, infer_column
from betanll.columns._levels import N_FOLDS, TargetStatistics
from betanll.columns._missing import mark_missing
from betanll.columns._read import (
    MISSING_LEVEL,
    UNKNOWN,
    codes_of,
    encode_column,
    is_numpy_number,
    plain_matrix,
    values_of,
)
from betanll.sentences import listed
from betanll.typing import Array


@dataclass(frozen=True)
class ColumnEncoder:
    """How the columns of a table become numbers, in training and ever after.

    Parameters
    ----------
    columns : tuple of Column
        In the order of the table.
    notes : mapping of str to sequence of str
        What was noticed about columns while they were read, by name.

    Examples
    --------
    >>> import pandas as pd
    >>> from betanll.columns import ColumnEncoder
    >>> frame = pd.DataFrame(
    ...     {"age": [3, None, 5] * 3, "eyes": ["blue", "red", "blue"] * 3}
    ... )
    >>> encoder = ColumnEncoder.infer(frame)
    >>> encoder.encoded_names
    ('age', 'age is missing', 'eyes=blue', 'eyes=red')
    >>> encoder.encode(frame[:2])
    array([[3., 0., 1., 0.],
           [4., 1., 0., 1.]], dtype=float32)
    >>> ColumnEncoder.from_dict(encoder.to_dict()) == encoder
    True
    """

    columns: tuple[Column, ...]
    notes: Mapping[str, Sequence[str]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        check_texts((column.name for column in self.columns), "the names of columns")

    @classmethod
    def infer(
        cls,
        frame: pd.DataFrame,
        kinds: Mapping[str, Known] | None = None,
        *,
        missing: Sequence[str] = (),
    ) -> ColumnEncoder:
        """Find out how the columns of a training table are read.

        A column is read as numbers if all its cells are, also in writings such as
        ``$5,700``, ``12%`` or ``1.200,50 €``; as dates if one format reads 95% of the
        distinct texts;
        as booleans if all are true/false, yes/no, t/f or y/n; else as categories.

        Parameters
        ----------
        frame : DataFrame
            The input columns alone.
        kinds : mapping of str to str or Column, optional
            For some columns ``"number"``, ``"boolean"``, ``"category"``, ``"date"``,
            ``"date:%d/%m/%Y"`` or ``"ignored"``.
        missing : sequence of str
            Cells that count as missing beside the usual ones, here and in later
            tables. A number means all writings of it.

        Raises
        ------
        TableError
            With one sentence about all columns that cannot be used.
        """
        kinds = {} if kinds is None else kinds
        check_kinds(kinds)
        if unknown := [name for name in kinds if name not in frame.columns]:
            raise TableError(f"there is no column {listed(unknown)}")
        markers = {
            name: known.missing if isinstance(known, Column) else tuple(missing)
            for name in frame.columns
            for known in [kinds.get(name)]
        }
        frame = mark_missing(frame, markers)
        columns, notes, faults = [], {}, []
        for name in frame.columns:
            try:
                found = infer_column(frame, name, kinds.get(name))
            except TableError as error:
                faults.append(str(error))
                continue
            columns.append(replace(found.column, missing=markers[name]))
            if found.notes:
                notes[name] = found.notes
        if faults:
            raise TableError("; ".join(faults))
        encoder = cls(tuple(columns), notes)
        if not encoder.used:
            raise TableError(f"none of the columns {listed(frame.columns)} can be used")
        return encoder

    def fit_encode(
        self,
        frame: pd.DataFrame,
        targets: Array,
        weights: Array | None = None,
        *,
        blocks: NDArray[np.intp] | None = None,
        random_state: Any = 0,
    ) -> tuple[ColumnEncoder, Array]:
        """Learn what levels say about the targets, and encode the training table.

        Columns of more than 30 levels are described by statistics of the targets. In
        the matrix, the statistics of a row are made of the rows of other folds, so
        that no row sees its own target; the encoder uses all rows.

        Parameters
        ----------
        frame : DataFrame
        targets : array of shape (n, d)
            With mean 0 and variance 1, NaN where missing.
        weights : array of shape (n,), optional
        blocks : array of shape (n,), optional
            Numbers from 0; rows of one number share a fold.
        random_state : int, Generator or RandomState
            Draws the folds.

        Returns
        -------
        encoder : ColumnEncoder
        matrix : array of shape (n, n_encoded)
        """
        many = {column.name for column in self.columns if column.has_many_levels}
        if not many:
            return self, self.encode(frame)
        frame = self.marked(frame)
        n = len(frame)
        if isinstance(random_state, int):
            random_state = np.random.RandomState(random_state)
        if blocks is None:
            blocks = np.arange(n)
        folds = random_state.permutation(np.arange(blocks.max() + 1) % N_FOLDS)[blocks]
        shares = np.ones(n) if weights is None else weights / weights.mean()
        columns, described = [], {}
        for column in self.columns:
            if column.name not in many:
                columns.append(column)
                continue
            codes = codes_of(column, parse_cells(frame, column.name))
            n_levels = len(column.levels)
            statistics = TargetStatistics.of_rows(
                codes, n_levels, targets, shares, folds
            )
            rows = tuple(map(tuple, statistics.describe().tolist()))
            columns.append(replace(column, statistics=rows))
            # Codes below 0 pick the last row, that of unknown levels.
            places = np.where(codes < 0, n_levels, codes)
            out_of_fold = statistics.describe_out_of_fold().astype(np.float32)
            described[column.name] = out_of_fold[places, folds]
        encoder = ColumnEncoder(tuple(columns), self.notes)
        return encoder, encoder._matrix(frame, 0, described)

    def encode(self, frame: pd.DataFrame, *, first_row: int = 0) -> Array:
        """Return the columns as a new matrix without NaN.

        Parameters
        ----------
        frame : DataFrame
            Has all columns, in any order; other columns are ignored.
        first_row : int, default=0
            Added to the row numbers in errors, which come from an index of whole
            numbers as chunks have, else from the position.

        Returns
        -------
        array of shape (n_rows, n_encoded)
            In single precision, unless all columns are numbers, or numbers lie so far
            from zero that it would blur their differences.
        """
        return self._matrix(frame, first_row, {})

    @cached_property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the columns of the matrix."""
        return tuple(name for column in self.columns for name in column.encoded_names)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """For each column of the matrix, the column of the table it comes from."""
        return tuple(c.name for c in self.columns for _ in c.encoded_names)

    @property
    def used(self) -> tuple[Column, ...]:
        """Columns of which a network reads something."""
        return tuple(column for column in self.columns if column.is_used)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns whose cells must be kept as a text file spells them.

        In a file, or a part of it, where all cells are like ``1.200``, thousands would
        be read as decimals.
        """
        return tuple(c.name for c in self.columns if c.notation is not None)

    @property
    def missing(self) -> tuple[str, ...]:
        """Cells that count as missing in some column, beside the usual ones."""
        return tuple(dict.fromkeys(text for c in self.columns for text in c.missing))

    def marked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the table without the further cells that count as missing."""
        return mark_missing(frame, {c.name: c.missing for c in self.columns})

    def surprises(self, frame: pd.DataFrame) -> Counter[tuple[str, str]]:
        """Count the cells that training has not prepared for.

        Keys are ``(column, "missing")``, where training had no missing cell, and
        ``(column, "unknown")`` for unknown levels. Add up the counts of chunks and hand
        the sum to `surprise_notes`.
        """
        frame = self.marked(frame)
        found: Counter[tuple[str, str]] = Counter()
        for column in self.used:
            cells = parse_cells(frame, column.name, 0, column.notation)
            if column.kind == "category":
                codes = codes_of(column, cells)
                if not column.has_rare:
                    found[column.name, "unknown"] = int(np.sum(codes == UNKNOWN))
                is_missing = codes == MISSING_LEVEL
            else:
                is_missing = np.isnan(values_of(column, cells))
            if not column.has_missing:
                found[column.name, "missing"] = int(np.sum(is_missing))
        return +found

    def surprise_notes(
        self, found: pd.DataFrame | Counter[tuple[str, str]]
    ) -> list[str]:
        """Return sentences about unknown levels and newly missing cells.

        Parameters
        ----------
        found : DataFrame or Counter
            A table, or counts of `surprises`.
        """
        counts = found if isinstance(found, Counter) else self.surprises(found)
        sentences = []
        for column in self.columns:
            if n := counts[column.name, "unknown"]:
                sentences.append(
                    f"column {column.name!r}: {_cells(n)} with a category that is not "
                    f"among the {len(column.levels)} known ones"
                )
            if n := counts[column.name, "missing"]:
                effect = "as none of its categories"
                if column.kind != "category":
                    effect = f"as {column.fill:g}"
                sentences.append(
                    f"column {column.name!r}: {_cells(n, 'missing ')} (none in "
                    f"training), taken {effect}"
                )
        return sentences

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the columns in plain types that JSON knows."""
        return [column.to_dict() for column in self.columns]

    @classmethod
    def from_dict(cls, description: Any) -> ColumnEncoder:
        """Return the encoder that `to_dict` described, or raise if it is malformed."""
        if not isinstance(description, list):
            raise TableError(
                "the columns of a model must be a list, got "
                f"{type(description).__name__}"
            )
        return cls(tuple(Column.from_dict(column) for column in description))

    def _matrix(
        self, frame: pd.DataFrame, first_row: int, described: Mapping[str, Array]
    ) -> Array:
        check_present(frame.columns, [column.name for column in self.used])
        frame = self.marked(frame)
        if self._is_plain(frame):
            return plain_matrix(frame, list(self.encoded_names), first_row)
        matrix = np.zeros((len(frame), len(self.encoded_names)), self._dtype)
        first = 0
        for column in self.used:
            cells = parse_cells(frame, column.name, first_row, column.notation)
            last = first + len(column.encoded_names)
            known = described.get(column.name)
            encode_column(column, cells, known, matrix[:, first:last])
            first = last
        return matrix

    @property
    def _dtype(self) -> type[np.floating]:
        """Single precision, unless all columns are numbers or one needs more."""
        are_numbers = all(column.kind == "number" for column in self.used)
        needs_double = any(column.is_double for column in self.used)
        return np.float64 if are_numbers or needs_double else np.float32

    def _is_plain(self, frame: pd.DataFrame) -> bool:
        """Tell whether the matrix is the table itself."""
        return all(
            column.kind == "number"
            and not column.has_missing
            and column.notation is None
            and is_numpy_number(frame[column.name])
            for column in self.used
        )


def check_present(columns: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a table, in memory or in a file, that lacks columns."""
    columns = list(columns)
    missing = [name for name in names if name not in columns]
    if missing:
        noun = "column" if len(missing) == 1 else "columns"
        raise TableError(
            f"the table lacks the {noun} {listed(missing)} among {listed(columns)}"
        )


def _cells(n: int, what: str = "") -> str:
    return f"1 {what}cell" if n == 1 else f"{n} {what}cells"
