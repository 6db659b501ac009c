"""The stored description of a table: which columns it has and what they mean."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from betanll.sentences import listed
from betanll.tables import _encode, _infer, _notes
from betanll.tables._cells import parse_cells, target_numbers
from betanll.tables._errors import TableError, repeated
from betanll.tables._notation import Notation
from betanll.typing import Array

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["numeric", "boolean", "categorical"]
KINDS = ("numeric", "boolean", "categorical")


@dataclass(frozen=True)
class Column:
    """One feature of a table.

    Parameters
    ----------
    name : str
    kind : {"numeric", "boolean", "categorical"}
    categories : tuple of str
        Texts with an encoded column of their own; empty for the other kinds.
    fill : float, optional
        Value put in place of missing cells: the median of a numeric column, the more
        frequent of 0 and 1 of a boolean one, None for a categorical one.
    has_missing : bool
        Whether cells were missing in training, which adds an encoded 0/1 column.
    is_constant : bool, default=False
        Whether training showed a single value and no missing cell.

    Examples
    --------
    >>> from betanll.tables import Column
    >>> Column("age", "numeric", fill=3.5).has_missing
    False
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    fill: float | None = None
    has_missing: bool = False
    is_constant: bool = False

    def __post_init__(self) -> None:
        _check_texts([self.name], "the name of a feature")
        what = f"feature {self.name!r}"
        if self.kind not in KINDS:
            raise TableError(f"{what} has the unknown kind {self.kind!r}")
        _check_texts(self.categories, f"categories of {what}")
        for name in ("has_missing", "is_constant"):
            if not isinstance(getattr(self, name), bool):
                raise TableError(f"{name} of {what} must be true or false")
        if self.kind == "categorical":
            is_right = bool(self.categories) and self.fill is None
        else:
            is_right = _is_finite(self.fill) and not self.categories
            if self.kind == "boolean":
                is_right = is_right and self.fill in (0, 1)
        if not is_right:
            raise TableError(
                f"{what} is {self.kind}, which does not go with "
                f"fill {self.fill!r} and {len(self.categories)} categories"
            )


@dataclass(frozen=True)
class TableSchema:
    """How the columns of a table become numbers, in training and ever after.

    A numeric or boolean feature gives one encoded column, with missing cells filled,
    and a second one that marks them if there were any in training. A categorical
    feature gives one 0/1 column for each category and one for missing cells if there
    were any in training; rare and unknown categories are zero in all of them, and so
    are missing cells if training had none. `encoded_names` tells the order.

    Parameters
    ----------
    targets : tuple of str
        Columns to predict.
    features : tuple of Column
        Columns to predict from.
    ids : tuple of str
        Columns that are carried along unchanged.
    notations : tuple of Notation
        How numbers are written in columns of text, such as ``$5,700``.

    Examples
    --------
    >>> import pandas as pd
    >>> from betanll.tables import TableSchema
    >>> frame = pd.DataFrame(
    ...     {"age": [3, None, 5], "eyes": ["blue", "brown", "blue"], "y": [1, 2, 3]}
    ... )
    >>> schema = TableSchema.infer(frame, targets=["y"])
    >>> schema.encoded_names
    ('age', 'age is missing', 'eyes=blue', 'eyes=brown')
    >>> schema.encode(frame)
    array([[3., 0., 1., 0.],
           [4., 1., 0., 1.],
           [5., 0., 1., 0.]])
    >>> TableSchema.from_dict(schema.to_dict()) == schema
    True
    """

    targets: tuple[str, ...]
    features: tuple[Column, ...]
    ids: tuple[str, ...] = ()
    notations: tuple[Notation, ...] = ()

    def __post_init__(self) -> None:
        _check_texts(self.targets, "the targets")
        _check_texts(self.ids, "the ids")
        names = [column.name for column in self.features]
        _check_texts(names, "the features")
        if not self.targets or not names:
            raise TableError("a table schema needs a target and a feature")
        if (name := repeated([*self.targets, *self.ids, *names])) is not None:
            raise TableError(f"the table schema uses column {name!r} twice")
        written = [notation.column for notation in self.notations]
        _check_texts(written, "the columns of notations")
        numeric = {c.name for c in self.features if c.kind == "numeric"}
        for name in written:
            if name not in numeric and name not in self.targets:
                raise TableError(f"a notation needs a column of numbers, not {name!r}")

    @classmethod
    def infer(
        cls,
        frame: pd.DataFrame,
        *,
        targets: Sequence[str],
        drop: Sequence[str] = (),
        ids: Sequence[str] = (),
    ) -> TableSchema:
        """Find out what the columns of a training table mean.

        A column is numeric if at least half of its cells are numbers, and then all of
        them must be, or if all are written like ``$5,700``, ``12%`` or ``1.200,50 €``;
        boolean if all are true/false, yes/no, t/f or y/n; else categorical with its 30
        most frequent texts. Row numbers in errors count data rows from one.

        Parameters
        ----------
        frame : DataFrame
        targets : sequence of str
            Columns to predict; numbers, or truth values, which count as 0 and 1.
        drop : sequence of str
            Columns to leave out.
        ids : sequence of str
            Columns to leave out of the features and to hand on with predictions.
        """
        chosen = _infer.choose_columns(frame, targets, drop, ids)
        names = (*chosen.targets, *chosen.features)
        found = {name: _infer.infer_notation(frame, name) for name in names}
        for name in chosen.targets:
            _infer.check_target(frame, name, found[name])
        columns = tuple(
            Column(**_infer.infer_column(frame, name, found[name]))
            for name in chosen.features
        )
        notations = tuple(notation for notation in found.values() if notation)
        return cls(chosen.targets, columns, chosen.ids, notations)

    def relearnt(self, frame: pd.DataFrame) -> TableSchema:
        """Return the schema with fills and categories of other rows of the table.

        Kinds and notations of columns stay: a rare "unknown" among yes and no need not
        be among these rows.
        """
        for name in self.targets:
            _infer.check_target(frame, name, self.notation(name))
        learnt = [
            Column(**_infer.infer_column(frame, c.name, self.notation(c.name)))
            for c in self.features
        ]
        features = tuple(
            new if new.kind == old.kind else old
            for new, old in zip(learnt, self.features, strict=True)
        )
        return replace(self, features=features)

    def training_notes(self, frame: pd.DataFrame) -> list[str]:
        """Return sentences about written numbers and rare categories in `frame`.

        Examples
        --------
        >>> import pandas as pd
        >>> from betanll.tables import TableSchema
        >>> frame = pd.DataFrame({"price": ["$5,700", "$90"], "y": [1, 2]})
        >>> TableSchema.infer(frame, targets=["y"]).training_notes(frame)
        ["column 'price' is read as numbers: '$5,700' is 5700"]
        """
        return [
            *_notes.notation_notes(self._notation, frame),
            *_notes.category_notes(self.features, frame),
        ]

    def notation(self, name: str) -> Notation | None:
        """Return how numbers of a column are written, None for a plain column."""
        return self._notation.get(name)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Ids, and features with a notation: keep their cells as a text file has them.

        In a file, or a part of it, where all cells are like ``1.200``, thousands would
        be read as decimals.
        """
        names = (column.name for column in self.features)
        return (*self.ids, *(name for name in names if self.notation(name)))

    @property
    def constant_features(self) -> tuple[str, ...]:
        """Names of features that had a single value, which says nothing."""
        return tuple(column.name for column in self.features if column.is_constant)

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns: numbers, marks of missing ones, categories."""
        return _encode.encoded_names(self.features)

    def encode(self, frame: pd.DataFrame, *, first_row: int = 0) -> Array:
        """Return the features as a new matrix without NaN.

        Parameters
        ----------
        frame : DataFrame
            Has all features, in any order; other columns are ignored.
        first_row : int, default=0
            Added to the row numbers in errors, which come from an index of whole
            numbers as chunks have, else from the position.

        Returns
        -------
        array of shape (n_rows, n_encoded)
        """
        raw = _encode.raw_matrix(self.features, frame, first_row, self._notation)
        if self._is_plain and not np.isnan(raw).any():
            return raw
        if not len(raw):
            return np.empty((0, len(self.encoded_names)))
        return np.ascontiguousarray(self._transformer.transform(raw), np.float64)

    def target_values(self, frame: pd.DataFrame, *, first_row: int = 0) -> Array:
        """Return the targets, with NaN where they are missing.

        Returns
        -------
        array of shape (n_rows, n_targets)
        """
        _encode.check_present(frame, self.targets)
        columns = [
            target_numbers(parse_cells(frame, name, first_row, self.notation(name)))
            for name in self.targets
        ]
        return np.column_stack(columns)

    def id_frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the id columns, unchanged."""
        _encode.check_present(frame, self.ids)
        return frame[list(self.ids)]

    def surprises(self, frame: pd.DataFrame) -> Counter[tuple[str, str]]:
        """Count the cells that training has not prepared for.

        Keys are ``(column, "missing")``, where training had no missing cell, and
        ``(column, "unknown")``, for categories without an encoded column. Add up the
        counts of chunks and hand the sum to `notes`.
        """
        raw = _encode.raw_matrix(self.features, frame, 0, self._notation)
        return _encode.surprises(self.features, raw)

    def notes(self, found: pd.DataFrame | Counter[tuple[str, str]]) -> list[str]:
        """Return sentences about unknown categories and newly missing cells.

        Parameters
        ----------
        found : DataFrame or Counter
            A table, or counts of `surprises`.
        """
        counts = found if isinstance(found, Counter) else self.surprises(found)
        return _encode.notes(self.features, counts)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema in plain types that JSON knows."""
        description: dict[str, Any] = {
            "targets": list(self.targets),
            "features": [
                {**vars(column), "categories": list(column.categories)}
                for column in self.features
            ],
            "ids": list(self.ids),
        }
        if self.notations:
            description["notations"] = [dict(vars(n)) for n in self.notations]
        return description

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> TableSchema:
        """Return the schema that `to_dict` described, or raise if it is malformed."""
        if isinstance(description, Mapping):
            # Schemas of plain columns do not mention notations.
            description = {"notations": [], **description}
        _check_keys(description, cls, "the table schema")
        lists = {f.name: _tuple(description[f.name], f.name) for f in fields(cls)}
        notations = []
        for notation in lists.pop("notations"):
            _check_keys(notation, Notation, "a notation of the table schema")
            notations.append(Notation(**notation))
        columns = []
        for column in lists.pop("features"):
            _check_keys(column, Column, "a feature of the table schema")
            categories = _tuple(column["categories"], "categories")
            columns.append(Column(**{**column, "categories": categories}))
        return cls(features=tuple(columns), notations=tuple(notations), **lists)

    @cached_property
    def _notation(self) -> dict[str, Notation]:
        return {notation.column: notation for notation in self.notations}

    @cached_property
    def _is_plain(self) -> bool:
        return not any(c.has_missing or c.categories for c in self.features)

    @cached_property
    def _transformer(self) -> Any:
        return _encode.build_transformer(self.features)


def _check_keys(description: Any, cls: type[Any], what: str) -> None:
    if not isinstance(description, Mapping):
        raise TableError(f"{what} must be an object with names, got {description!r}")
    expected = {field.name for field in fields(cls)}
    if missing := expected.difference(description):
        raise TableError(f"{what} lacks {listed(sorted(missing))}")
    if unknown := set(description).difference(expected):
        raise TableError(f"{what} has the unknown entry {listed(sorted(unknown))}")


def _is_finite(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def _tuple(values: Any, what: str) -> tuple[Any, ...]:
    if not isinstance(values, list | tuple):
        raise TableError(f"{what} of the table schema must be a list, got {values!r}")
    return tuple(values)


def _check_texts(values: Iterable[Any], what: str) -> None:
    texts = list(values)
    for text in texts:
        if not isinstance(text, str):
            raise TableError(f"{what} must be text, got {text!r}")
        # pandas cannot hold half a character, as JSON can spell it.
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise TableError(f"{what} must be Unicode text, got {text!r}")
    if (text := repeated(texts)) is not None:
        raise TableError(f"{what} must differ, got {text!r} twice")
