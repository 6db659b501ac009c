"""Results of several repeats as the cells of a table, beside those of the paper."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from betanll_paper.comparison.ties import ks_marks
from betanll_paper.published.methods import Mark, Method, Metric, PaperCell

Verdict = Literal[
    "agrees", "better", "worse", "not judged", "not run", "not in paper", "too short"
]
#: Dataset and method of a result.
Key: TypeAlias = tuple[str, Method]
Row: TypeAlias = Mapping[str, Any]

METRICS: dict[Metric, str] = {"ll": "log_likelihood", "rmse": "rmse"}


@dataclass(frozen=True)
class Cell:
    """A result of one dataset and method, and the paper's.

    Attributes
    ----------
    metric : {"ll", "rmse"}
    dataset : str
    method : Method
    values : tuple of float
        Of the splits or seeds; empty if it was not run.
    paper : PaperCell or None
        None for a method that the paper does not have.
    mark : {"best", "tied", ""}
    is_trained : bool
        False for runs so short that their numbers have no meaning.
    """

    metric: Metric
    dataset: str
    method: Method
    values: tuple[float, ...]
    paper: PaperCell | None
    mark: Mark = ""
    is_trained: bool = True

    @property
    def n_repeats(self) -> int:
        """Number of splits or seeds."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """Mean over the repeats; not finite if a value is not."""
        if not self.values:
            return math.nan
        with np.errstate(invalid="ignore"):  # infinities of both signs
            return float(np.mean(self.values))

    @property
    def std(self) -> float:
        """Deviation over the repeats with ``ddof=1``; NaN of a single one."""
        if len(self.values) < 2 or not math.isfinite(self.mean):
            return math.nan
        return float(np.std(self.values, ddof=1))

    @property
    def tolerance(self) -> float:
        """Two standard errors of the difference, plus the rounding of the paper.

        Both means count as independent. On the splits of the paper they vary together,
        so that the tolerance is generous.
        """
        if self.paper is None or self.n_repeats < 2:
            return math.nan
        square = self.std**2 / self.n_repeats + self.paper.std**2 / self.paper.n_splits
        return 2 * math.sqrt(square) + self.paper.half_unit

    @property
    def verdict(self) -> Verdict:
        """Whether our mean is within the tolerance of the paper's.

        A single repeat has no standard error and gets no verdict.
        """
        if self.n_repeats == 0:
            return "not run"
        if self.paper is None:
            return "not in paper"
        if not self.is_trained:
            return "too short"
        if not math.isfinite(self.mean):
            return "worse"
        if self.n_repeats < 2:
            return "not judged"
        difference = self.mean - self.paper.mean
        if abs(difference) <= self.tolerance:
            return "agrees"
        return "better" if (difference > 0) == (self.metric == "ll") else "worse"


@dataclass(frozen=True)
class Agreement:
    """Counts of cells by their agreement with the paper.

    Attributes
    ----------
    n_agree : int
        Within two standard errors of the difference.
    n_better, n_worse : int
        Outside, on either side.
    n_not_judged : int
        Of one repeat, which has no standard error.
    n_not_run : int
    """

    n_agree: int
    n_better: int
    n_worse: int
    n_not_judged: int
    n_not_run: int

    @property
    def n_compared(self) -> int:
        """Cells that agree or differ."""
        return self.n_agree + self.n_better + self.n_worse

    @property
    def share(self) -> float:
        """Cells that agree, of those compared; NaN without any."""
        return self.n_agree / self.n_compared if self.n_compared else math.nan


def count_agreement(cells: Iterable[Cell]) -> Agreement:
    """Count cells by their agreement with the paper."""
    verdicts = Counter(cell.verdict for cell in cells)
    return Agreement(
        n_agree=verdicts["agrees"],
        n_better=verdicts["better"],
        n_worse=verdicts["worse"],
        n_not_judged=verdicts["not judged"],
        n_not_run=verdicts["not run"],
    )


def key_of(row: Row) -> Key:
    """Return dataset and method of a result."""
    return row["dataset"], Method.of_row(row)


def in_order(
    rows: Iterable[dict[str, Any]], known: Sequence[Key], *, repeat: str = "seed"
) -> list[dict[str, Any]]:
    """Return results in the order of a table and then of seeds, others last."""
    places = {key: place for place, key in enumerate(known)}

    def place(row: Row) -> tuple[Any, ...]:
        key = key_of(row)
        return places.get(key, len(known)), str(key), row[repeat]

    return sorted(rows, key=place)


def compare_with_paper(
    rows: Iterable[dict[str, Any]],
    paper: Callable[[Metric], Mapping[Key, PaperCell]],
    *,
    known: Sequence[Key],
    repeat: str = "seed",
) -> list[Cell]:
    """Return the cells of a table: all of the paper's, and all that have a result.

    Parameters
    ----------
    rows : iterable of dict
        With dataset, method, beta, rmse, log_likelihood and the number of the repeat;
        None where training diverged.
    paper : callable
        Returns the paper's cells of a metric.
    known : sequence of (str, Method)
        The order of the table; other results come last. MSE has no likelihood.
    repeat : {"seed", "split"}

    Examples
    --------
    >>> from betanll_paper.published.uci import paper_cells
    >>> mm = Method("mm")
    >>> results = {"rmse": [3.1, 3.3], "log_likelihood": [-3.0, -4.0]}
    >>> rows = [
    ...     {"dataset": "yacht", "method": "mm", "beta": None, "seed": seed}
    ...     | {name: values[seed] for name, values in results.items()}
    ...     for seed in (0, 1)
    ... ]
    >>> cells = compare_with_paper(rows, paper_cells, known=[("yacht", mm)])
    >>> [(cell.metric, cell.verdict) for cell in cells if cell.n_repeats]
    [('ll', 'agrees'), ('rmse', 'agrees')]
    """
    groups: dict[Key, list[Row]] = {key: [] for key in known}
    for row in in_order(rows, known, repeat=repeat):
        groups.setdefault(key_of(row), []).append(row)
    cells = []
    for metric, column in METRICS.items():
        in_paper = paper(metric)
        for key, runs in groups.items():
            values = [run.get(column) for run in runs]
            if metric == "ll" and key[1].name == "mse":
                values = []
            if values or key in in_paper:
                numbers = tuple(math.nan if x is None else float(x) for x in values)
                cells.append(Cell(metric, *key, numbers, in_paper.get(key)))
    return cells


def untrained(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells as those of runs that are too short to be judged."""
    return [replace(cell, is_trained=False) for cell in cells]


def with_ties(cells: Sequence[Cell]) -> list[Cell]:
    """Mark the best of each dataset and metric, and those tied with it."""
    groups: dict[tuple[Metric, str], dict[Method, Any]] = {}
    for cell in cells:
        if cell.values:
            group = groups.setdefault((cell.metric, cell.dataset), {})
            group[cell.method] = np.array(cell.values)
    marks = {
        place: ks_marks(group, higher_is_better=place[0] == "ll")
        for place, group in groups.items()
    }
    return [
        replace(cell, mark=marks[cell.metric, cell.dataset][cell.method])
        if cell.values
        else cell
        for cell in cells
    ]
