"""How one column of a table is read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from betanll.columns._dates import PARTS, is_format
from betanll.columns._errors import TableError, repeated
from betanll.columns._notation import Notation
from betanll.sentences import listed, shown

Kind = Literal["number", "boolean", "category", "date", "ignored"]
#: Up to so many levels, each gets an input of its own.
MAX_ONE_HOT = 30
KINDS = ("number", "boolean", "category", "date", "ignored")


@dataclass(frozen=True)
class Column:
    """One input column and the numbers that a network reads of it.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "category", "date", "ignored"}
        A number gives itself, a boolean 0 or 1, a date its parts. A category of few
        levels gives a 0/1 column for each, and one for rare and unseen levels; a
        category of many levels gives what the levels say about the targets. An ignored
        column gives nothing.
    has_missing : bool
        Whether training had missing cells, which get a 0/1 column.
    fill : float, optional
        Stands for missing cells of a number, a boolean or a date: the median, or the
        more frequent value.
    levels : tuple of str
        Levels of a category that are known.
    statistics : tuple of tuple of float
        For a category of many levels: the numbers of each level, then those of rare
        and unseen ones.
    has_rare : bool
        Whether training had rows of rare levels, which get a 0/1 column.
    has_text : bool
        Whether training had texts among the numbers or dates, which count as missing.
    is_double : bool
        Whether single precision would blur the differences between its numbers.
    notation : Notation, optional
        How texts write numbers, such as ``$5,700``.
    date_format : str, optional
        How texts write dates.
    parts : tuple of str
        The parts of a date that are used.
    missing : tuple of str
        Cells that count as missing beside the usual ones, such as ``-99``.

    Examples
    --------
    >>> Column("age", "number", fill=3.5).encoded_names
    ('age',)
    >>> Column("eyes", "category", True, levels=("blue", "brown")).encoded_names
    ('eyes=blue', 'eyes=brown', 'eyes is missing')
    """

    name: str
    kind: Kind
    has_missing: bool = False
    fill: float | None = None
    levels: tuple[str, ...] = ()
    statistics: tuple[tuple[float, ...], ...] = ()
    has_rare: bool = False
    has_text: bool = False
    is_double: bool = False
    notation: Notation | None = None
    date_format: str | None = None
    parts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_texts([self.name], "the name of a column")
        what = f"column {self.name!r}"
        if self.kind not in KINDS:
            raise TableError(f"{what} has the unknown kind {shown(self.kind)}")
        check_texts(self.levels, f"levels of {what}")
        check_texts(self.missing, f"missing cells of {what}")
        for name in ("has_missing", "has_rare", "has_text", "is_double"):
            if not isinstance(getattr(self, name), bool):
                raise TableError(f"{name} of {what} must be true or false")
        has_fill = self.kind in ("number", "boolean", "date")
        is_right = (_is_finite(self.fill) if has_fill else self.fill is None) and (
            self.kind == "category" or not (self.levels or self.statistics)
        )
        if self.kind == "boolean":
            is_right = is_right and self.fill in (0, 1)
        if self.statistics:
            sizes = {len(row) for row in self.statistics}
            is_right = is_right and (
                len(self.statistics) == len(self.levels) + 1
                and len(sizes) == 1
                and sizes.pop() % 2 == 1
                and all(_is_finite(value) for row in self.statistics for value in row)
            )
        is_right = is_right and (self.kind == "date" or not self.parts)
        if not is_right:
            raise TableError(
                f"{what} is read as {self.kind}, which does not go with "
                f"fill {self.fill!r} and {len(self.levels)} levels"
            )
        if unknown := [part for part in self.parts if part not in PARTS]:
            raise TableError(f"{what} has the unknown part {shown(unknown[0])}")
        form = self.date_format
        if form is not None and not (isinstance(form, str) and is_format(form)):
            raise TableError(f"{what} has the unknown date format {shown(form)}")
        if self.notation is not None and self.kind != "number":
            raise TableError(f"{what} has a notation but no numbers")

    @property
    def is_used(self) -> bool:
        """Whether a network reads anything of the column."""
        return self.has_many_levels or bool(self.encoded_names)

    @property
    def has_many_levels(self) -> bool:
        """Whether levels are described by what they say about the targets."""
        return len(self.levels) > MAX_ONE_HOT

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the numbers that a network reads."""
        if self.kind == "ignored":
            return ()
        if self.kind == "category":
            names = [f"{self.name}={level}" for level in self.levels]
            if self.has_many_levels:
                if not self.statistics:  # not learned yet
                    return ()
                n_targets = len(self.statistics[0]) // 2
                which = [f" of target {i + 1}" for i in range(n_targets)]
                which = which if n_targets > 1 else [""]
                names = [f"{self.name}: mean{one}" for one in which]
                names += [f"{self.name}: spread{one}" for one in which]
                names += [f"{self.name}: rows"]
            names += [f"{self.name} is rare"] if self.has_rare else []
        elif self.kind == "date":
            names = [f"{self.name}: {part}" for part in self.parts]
        else:
            names = [self.name]
        names += [f"{self.name} is missing"] if self.has_missing else []
        return tuple(names)

    def to_dict(self) -> dict[str, Any]:
        """Return the column in plain types that JSON knows, without defaults."""
        found: dict[str, Any] = {"name": self.name, "kind": self.kind}
        for field in fields(self)[2:]:
            value = getattr(self, field.name)
            if value != field.default:
                found[field.name] = value
        if self.notation is not None:
            found["notation"] = {
                "unit": self.notation.unit,
                "decimal": self.notation.decimal,
            }
        for name in ("levels", "parts", "missing"):
            if name in found:
                found[name] = list(found[name])
        if self.statistics:
            found["statistics"] = [list(row) for row in self.statistics]
        return found

    @classmethod
    def from_dict(cls, description: Any) -> Column:
        """Return the column that `to_dict` described, or raise if it is malformed."""
        if not isinstance(description, Mapping):
            raise TableError(f"a column must be an object, got {shown(description)}")
        known = {field.name for field in fields(cls)}
        if unknown := set(description) - known:
            raise TableError(
                f"a column has the unknown entry {listed(sorted(unknown))}"
            )
        if missing := {"name", "kind"} - set(description):
            raise TableError(f"a column lacks {listed(sorted(missing))}")
        values = dict(description)
        for name in ("levels", "parts", "missing", "statistics"):
            values[name] = _tuple(values.get(name, []), name)
        values["statistics"] = tuple(
            _tuple(row, "statistics") for row in values["statistics"]
        )
        if (notation := values.get("notation")) is not None:
            if not isinstance(notation, Mapping) or set(notation) != {
                "unit",
                "decimal",
            }:
                raise TableError(f"a notation has a unit and a decimal, got {notation}")
            values["notation"] = Notation(
                values["name"], notation["unit"], notation["decimal"]
            )
        return cls(**values)


def check_texts(values: Iterable[Any], what: str) -> None:
    """Refuse values that are not distinct Unicode texts."""
    texts = list(values)
    for text in texts:
        if not isinstance(text, str):
            raise TableError(f"{what} must be text, got {shown(text)}")
        # pandas cannot hold half a character, as JSON can spell it.
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise TableError(f"{what} must be Unicode text, got {shown(text)}")
    if (text := repeated(texts)) is not None:
        raise TableError(f"{what} must differ, got {shown(text)} twice")


def _is_finite(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= sys.float_info.max


def _tuple(values: Any, what: str) -> tuple[Any, ...]:
    if not isinstance(values, list | tuple):
        raise TableError(f"{what} of a column must be a list, got {shown(values)}")
    return tuple(values)
