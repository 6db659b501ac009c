"""What an explanation consists of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from betanll.evaluation._dependence import PartialDependence
from betanll.evaluation._facts import Usual
from betanll.evaluation._importance import ColumnImportance
from betanll.evaluation._subject import Subject
from betanll.evaluation._why import RowExplanation
from betanll.typing import Rows


@dataclass(frozen=True, eq=False)
class TargetExplanation:
    """What is to be said about one target, in its own unit.

    Attributes
    ----------
    name : str
    importances : list of ColumnImportance
        One for each column that the model reads, in the order of the table; empty
        without known targets.
    dependences : list of PartialDependence
        Of the most important columns, most important first.
    worst : list of RowExplanation
        Rows whose truth is most standard deviations away, largest first.
    uncertain : list of RowExplanation
        Rows with the largest spread, largest first.
    """

    name: str
    importances: list[ColumnImportance]
    dependences: list[PartialDependence]
    worst: list[RowExplanation]
    uncertain: list[RowExplanation]

    @property
    def ranked(self) -> list[ColumnImportance]:
        """The importances, most important column first."""
        return ranked(self.importances)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Which columns matter, how predictions depend on them, and odd rows.

    Attributes
    ----------
    targets : list of d TargetExplanation
    n_rows : int
        Rows that were given.
    rows : array of int
        Positions of the rows that were predicted: all, but for very many.
    importance_rows : array of int
        Positions of the rows whose cells were shuffled.
    n_repeats : int
        How often the cells were shuffled.
    """

    targets: list[TargetExplanation]
    n_rows: int
    rows: Rows
    importance_rows: Rows
    n_repeats: int
    _subject: Subject = field(repr=False)
    _usual: Usual = field(repr=False)

    def why(self, row: int, target: int = 0) -> RowExplanation:
        """Explain the interval of one row, also by the columns that widen it.

        Parameters
        ----------
        row : int
            Position among the rows that were given, from 0.
        target : int, default=0
            Which of several targets.
        """
        for name, value, n in (
            ("row", row, self.n_rows),
            ("target", target, len(self.targets)),
        ):
            if not 0 <= value < n:
                raise ValueError(f"{name} must lie in 0 to {n - 1}, got {value}")
        return self._subject.why(row, target, self._usual, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain types that JSON knows, None for NaN."""
        targets = [
            {
                "name": target.name,
                "importances": [_plain(one._asdict()) for one in target.ranked],
                "dependences": [_plain(one._asdict()) for one in target.dependences],
                "worst": [plain_row(row) for row in target.worst],
                "uncertain": [plain_row(row) for row in target.uncertain],
            }
            for target in self.targets
        ]
        return {
            "n_rows": self.n_rows,
            "n_predicted_rows": len(self.rows),
            "n_importance_rows": len(self.importance_rows),
            "n_repeats": self.n_repeats,
            "targets": targets,
        }


def ranked(importances: Sequence[ColumnImportance]) -> list[ColumnImportance]:
    """Return importances, most important column for mean or spread first.

    Each of the two is measured by its largest value, and counts only if it is clear:
    above two standard errors.
    """
    largest = [
        max((_clear(one)[part] for one in importances), default=0.0) or 1.0
        for part in (0, 1)
    ]

    def score(one: ColumnImportance) -> tuple[float, float]:
        shares = [value / top for value, top in zip(_clear(one), largest, strict=True)]
        return max(shares), sum(shares)

    return sorted(importances, key=score, reverse=True)


def _clear(one: ColumnImportance) -> tuple[float, ...]:
    """Return the importances for mean and spread, 0 unless they are clear."""
    mean = one.mean if one.is_clear_for_mean else 0.0
    spread = one.spread if one.is_clear_for_spread else 0.0
    return tuple(value if math.isfinite(value) else 0.0 for value in (mean, spread))


def plain_row(row: RowExplanation) -> dict[str, Any]:
    """Return the explanation of a row in plain types that JSON knows."""
    outside = [cell._asdict() for cell in row.outside]
    drivers = [driver._asdict() for driver in row.drivers]
    fields = asdict(row) | {"outside": outside, "drivers": drivers}
    return _plain(fields | {"cause": row.cause})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value
