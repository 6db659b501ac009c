"""Results of the UCI benchmark over the splits, beside those of the paper."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from betanll.typing import Array
from betanll_paper.comparison.ties import ks_marks
from betanll_paper.published.methods import METHODS, Mark, Method, Metric, PaperCell
from betanll_paper.published.uci import DATASETS, paper_cells

Verdict = Literal["agrees", "better", "worse", "not judged", "not run", "not in paper"]

METRICS: tuple[Metric, ...] = ("ll", "rmse")
_COLUMNS: dict[Metric, str] = {"ll": "log_likelihood", "rmse": "rmse"}


@dataclass(frozen=True)
class Cell:
    """A result of one dataset and method, and the paper's.

    Attributes
    ----------
    metric : {"ll", "rmse"}
    dataset : str
    method : Method
    n_splits : int
        0 if it was not run.
    mean, std : float
        Over the splits, the latter with ``ddof=1``; NaN if unknown.
    mark : {"best", "tied", ""}
    paper : PaperCell or None
        None for a method that the paper does not have.
    """

    metric: Metric
    dataset: str
    method: Method
    n_splits: int
    mean: float
    std: float
    mark: Mark
    paper: PaperCell | None

    @property
    def tolerance(self) -> float:
        """Two standard errors of the difference, and what the paper rounded away."""
        if self.paper is None or self.n_splits < 2:
            return math.nan
        square = self.std**2 / self.n_splits + self.paper.std**2 / self.paper.n_splits
        return 2 * math.sqrt(square) + self.paper.half_unit

    @property
    def verdict(self) -> Verdict:
        """Whether the mean is within the tolerance of the paper's.

        A single split has no standard error, so it is not judged.
        """
        if self.n_splits == 0:
            return "not run"
        if self.paper is None:
            return "not in paper"
        if not math.isfinite(self.mean):
            return "worse"
        if self.n_splits < 2:
            return "not judged"
        difference = self.mean - self.paper.mean
        if abs(difference) <= self.tolerance:
            return "agrees"
        return "better" if (difference > 0) == (self.metric == "ll") else "worse"


@dataclass(frozen=True)
class Agreement:
    """How many cells agree with the paper.

    Attributes
    ----------
    n_agree : int
        Within two standard errors of the difference.
    n_better, n_worse : int
        Outside, on either side.
    n_not_judged : int
        Of one split, which has no standard error.
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


def split_values(runs: pd.DataFrame, metric: Metric) -> dict[tuple[str, Method], Array]:
    """Return the results of the splits by dataset and method, in the paper's order.

    Methods that the paper does not have come last. MSE has no log-likelihood.
    """
    values: dict[tuple[str, Method], Array] = {}
    keys = ["dataset", "method", "beta"]
    for _, group in runs.sort_values("split").groupby(keys, dropna=False):
        dataset, name = str(group["dataset"].iloc[0]), str(group["method"].iloc[0])
        beta = group["beta"].iloc[0]
        if metric == "ll" and name == "mse":
            continue
        method = Method(name, None if pd.isna(beta) else float(beta))
        values[dataset, method] = group[_COLUMNS[metric]].to_numpy(np.float64)
    return {key: values[key] for key in sorted(values, key=_order)}


def summarise(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation over the splits.

    Parameters
    ----------
    runs : DataFrame
        As :func:`read_runs` returns it.

    Returns
    -------
    DataFrame
        With the columns dataset, method, beta, metric (``"ll"`` or ``"rmse"``),
        n_splits, mean and std, the latter with ``ddof=1``. If the result of a split is
        not finite, neither is the mean.

    Notes
    -----
    The RMSE is the mean of the splits' RMSEs, as in the paper; the summary line of the
    paper's code is the root of the mean MSE.

    Examples
    --------
    >>> runs = pd.DataFrame(
    ...     {
    ...         "dataset": "yacht",
    ...         "method": "student-t",
    ...         "beta": np.nan,
    ...         "split": [0, 1],
    ...         "log_likelihood": [-1.0, -2.0],
    ...         "rmse": [0.5, 0.7],
    ...     }
    ... )
    >>> summarise(runs)[["metric", "n_splits", "mean", "std"]].round(4)
      metric  n_splits  mean     std
    0     ll         2  -1.5  0.7071
    1   rmse         2   0.6  0.1414
    """
    rows = []
    for metric in METRICS:
        for (dataset, method), values in split_values(runs, metric).items():
            rows.append((dataset, *method, metric, len(values), *mean_and_std(values)))
    columns = ["dataset", "method", "beta", "metric", "n_splits", "mean", "std"]
    summary = pd.DataFrame(rows, columns=columns)
    return summary.astype({"beta": np.float64})


def mean_and_std(values: Array) -> tuple[float, float]:
    """Return both over the splits; NaN for the deviation of a single one."""
    with np.errstate(invalid="ignore"):  # infinities of both signs
        mean = float(np.mean(values))
    if len(values) < 2 or not math.isfinite(mean):
        return mean, math.nan
    return mean, float(np.std(values, ddof=1))


def compare_with_paper(runs: pd.DataFrame) -> list[Cell]:
    """Return every cell of the paper's Tables S1 and S2 and of the runs.

    By metric and dataset, the methods in the paper's order and then others. The best
    and the tied ones are found among all methods that were run.

    Notes
    -----
    The tolerance takes both means as independent. On the splits of the paper they vary
    together, so that it is on the generous side.

    Examples
    --------
    >>> runs = pd.DataFrame(
    ...     {
    ...         "dataset": "yacht",
    ...         "method": "mm",
    ...         "beta": np.nan,
    ...         "split": [0, 1],
    ...         "log_likelihood": [-3.0, -4.0],
    ...         "rmse": [3.1, 3.3],
    ...     }
    ... )
    >>> cells = [cell for cell in compare_with_paper(runs) if cell.n_splits]
    >>> [(cell.metric, cell.mark, cell.verdict) for cell in cells]
    [('ll', 'best', 'agrees'), ('rmse', 'best', 'agrees')]
    >>> round(cells[1].tolerance, 4)  # 2 sqrt(0.02 / 2 + 1.38**2 / 20) + 0.005
    0.6538
    """
    cells = []
    for metric in METRICS:
        values, paper = split_values(runs, metric), paper_cells(metric)
        for dataset in DATASETS:
            of_methods = {key[1]: v for key, v in values.items() if key[0] == dataset}
            marks = ks_marks(of_methods, higher_is_better=metric == "ll")
            in_paper = [method for name, method in paper if name == dataset]
            for method in [*in_paper, *(m for m in of_methods if m not in in_paper)]:
                n, mean, std = 0, math.nan, math.nan
                if method in of_methods:
                    n = len(of_methods[method])
                    mean, std = mean_and_std(of_methods[method])
                cells.append(
                    Cell(
                        metric=metric,
                        dataset=dataset,
                        method=method,
                        n_splits=n,
                        mean=mean,
                        std=std,
                        mark=marks.get(method, ""),
                        paper=paper.get((dataset, method)),
                    )
                )
    return cells


def count_agreement(cells: Iterable[Cell]) -> Agreement:
    """Count cells by how they compare with the paper's."""
    verdicts = Counter(cell.verdict for cell in cells)
    return Agreement(
        n_agree=verdicts["agrees"],
        n_better=verdicts["better"],
        n_worse=verdicts["worse"],
        n_not_judged=verdicts["not judged"],
        n_not_run=verdicts["not run"],
    )


def _order(key: tuple[str, Method]) -> tuple[int, int, str, float]:
    dataset, method = key
    place = METHODS.index(method) if method in METHODS else len(METHODS)
    beta = -1.0 if method.beta is None else method.beta
    return DATASETS.index(dataset), place, method.name, beta
