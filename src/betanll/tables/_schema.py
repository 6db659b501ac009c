"""What the columns of a table are for: targets, inputs, and ids to hand on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from betanll.columns import (
    Column,
    ColumnEncoder,
    Notation,
    TableError,
    check_known,
    check_present,
    check_texts,
    infer_notation,
    mark_missing,
    parse_cells,
    repeated,
    target_numbers,
)
from betanll.sentences import listed, shown
from betanll.typing import Array

if TYPE_CHECKING:
    import pandas as pd

_ENTRIES = ("targets", "ids", "notations")


@dataclass(frozen=True)
class TableSchema:
    """What the columns of a table are for, and how they are read.

    Parameters
    ----------
    targets : tuple of str
        Columns to predict.
    encoder : ColumnEncoder
        How input columns become numbers.
    ids : tuple of str
        Columns that are carried along unchanged.
    notations : tuple of Notation
        How numbers are written in targets of text, such as ``$5,700``.

    Examples
    --------
    >>> import pandas as pd
    >>> from betanll.tables import TableSchema
    >>> frame = pd.DataFrame(
    ...     {"age": [3, None, 5], "eyes": ["blue", "brown", "blue"], "y": [1, 2, 3]}
    ... )
    >>> schema = TableSchema.infer(frame, targets=["y"])
    >>> schema.encoder.encoded_names
    ('age', 'age is missing', 'eyes=blue', 'eyes=brown')
    >>> schema.target_values(frame).ravel()
    array([1., 2., 3.])
    """

    targets: tuple[str, ...]
    encoder: ColumnEncoder
    ids: tuple[str, ...] = ()
    notations: tuple[Notation, ...] = ()

    def __post_init__(self) -> None:
        check_texts(self.targets, "the targets")
        check_texts(self.ids, "the ids")
        if not self.targets or not self.encoder.columns:
            raise TableError("a table schema needs a target and an input")
        names = [*self.targets, *self.ids, *(c.name for c in self.encoder.columns)]
        if (name := repeated(names)) is not None:
            raise TableError(f"the table schema uses column {name!r} twice")
        for notation in self.notations:
            if notation.column not in self.targets:
                raise TableError(f"a notation needs a target, not {notation.column!r}")

    @classmethod
    def infer(
        cls,
        frame: pd.DataFrame,
        *,
        targets: Sequence[str],
        drop: Sequence[str] = (),
        ids: Sequence[str] = (),
        kinds: Mapping[str, str | Column] | None = None,
        missing: Sequence[str] = (),
    ) -> TableSchema:
        """Find out how the columns of a training table are read.

        Parameters
        ----------
        frame : DataFrame
        targets : sequence of str
            Columns to predict; numbers, or truth values, which count as 0 and 1.
        drop : sequence of str
            Columns to leave out.
        ids : sequence of str
            Columns to leave out of the inputs and to hand on with predictions.
        kinds : mapping of str to str, optional
            How to read some columns, as in :meth:`ColumnEncoder.infer`.
        missing : sequence of str
            Cells that count as missing beside the usual ones, except among ids.
        """
        targets, drop, ids = (_as_tuple(names) for names in (targets, drop, ids))
        names = _input_columns(list(frame.columns), targets, drop, ids)
        frame = mark_missing(frame, dict.fromkeys(targets, missing))
        notations = [infer_notation(frame, name) for name in targets]
        for name, notation in zip(targets, notations, strict=True):
            cells = parse_cells(frame, name, 0, notation)
            if np.isnan(target_numbers(cells)).all():
                raise TableError(f"target {name!r} has no values")
        if unused := [name for name in kinds or {} if name not in names]:
            check_known(unused, list(frame.columns))
            raise TableError(f"column {unused[0]!r} is not an input")
        encoder = ColumnEncoder.infer(frame[names], kinds, missing=missing)
        return cls(targets, encoder, ids, tuple(filter(None, notations)))

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns whose cells must be kept as a text file spells them."""
        return (*self.ids, *self.encoder.text_columns)

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that predictions need: inputs that are used, and ids."""
        return (*(column.name for column in self.encoder.used), *self.ids)

    def target_values(self, frame: pd.DataFrame, *, first_row: int = 0) -> Array:
        """Return the targets, with NaN where they are missing.

        Returns
        -------
        array of shape (n_rows, n_targets)
        """
        check_present(frame.columns, self.targets)
        markers = dict.fromkeys(self.targets, self.encoder.missing)
        frame = mark_missing(frame, markers)
        notation = {one.column: one for one in self.notations}
        columns = [
            target_numbers(parse_cells(frame, name, first_row, notation.get(name)))
            for name in self.targets
        ]
        return np.column_stack(columns)

    def id_frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the id columns, unchanged."""
        check_present(frame.columns, self.ids)
        return frame[list(self.ids)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the encoder in plain types that JSON knows."""
        return {
            "targets": list(self.targets),
            "ids": list(self.ids),
            "notations": [dict(vars(notation)) for notation in self.notations],
        }

    @classmethod
    def from_dict(cls, description: Any, encoder: ColumnEncoder) -> TableSchema:
        """Return the schema that `to_dict` described, or raise if it is malformed."""
        what = "the table schema"
        if not isinstance(description, Mapping) or set(description) != set(_ENTRIES):
            raise TableError(f"{what} must have the entries {listed(_ENTRIES)}")
        targets, ids, notations = (_tuple(description[name], name) for name in _ENTRIES)
        built = []
        for notation in notations:
            if not isinstance(notation, Mapping) or set(notation) != {
                *("column", "unit", "decimal")
            }:
                raise TableError(f"a notation of {what} is {shown(notation)}")
            built.append(Notation(**notation))
        return cls(targets, encoder, ids, tuple(built))


def _input_columns(
    columns: list[Any], targets: Sequence[str], drop: Sequence[str], ids: Sequence[str]
) -> list[str]:
    """Return the columns to predict from, or raise if the choice makes no sense."""
    if odd := [name for name in columns if not isinstance(name, str)]:
        raise TableError(f"column names must be text, got {shown(odd[0])}")
    if (name := repeated(columns)) is not None:
        raise TableError(f"the name {name!r} is shared by several columns")
    if not targets:
        raise TableError("no target is given")
    check_known((*targets, *drop, *ids), columns)
    for what, names in (("target", targets), ("id", ids)):
        if (name := repeated(names)) is not None:
            raise TableError(f"column {name!r} is given twice as {what}")
    for what, others in (("dropped", drop), ("an id", ids)):
        for name in targets:
            if name in others:
                raise TableError(f"column {name!r} cannot be a target and {what}")
    left_out = {*targets, *drop, *ids}
    inputs = [name for name in columns if name not in left_out]
    if not inputs:
        hint = ", so --delimiter may be wrong" if len(columns) == 1 else ""
        raise TableError(f"no input is left among the columns {listed(columns)}{hint}")
    return inputs


def _as_tuple(names: Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _tuple(values: Any, what: str) -> tuple[Any, ...]:
    if not isinstance(values, list):
        raise TableError(f"{what} of the table schema must be a list, got {values!r}")
    return tuple(values)
