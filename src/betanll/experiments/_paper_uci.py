"""The UCI results of the paper: Tables 1, S1 and S2."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from betanll.datasets import UCI_NAMES

Metric = Literal["ll", "rmse"]
Mark = Literal["best", "tied", ""]

_LABELS = {
    "mm": "Moment matching",
    "mse": "MSE",
    "student-t": "Student-t",
    "xvamp": "xVAMP",
    "xvamp-star": "xVAMP*",
    "vbem": "VBEM",
    "vbem-star": "VBEM*",
}


class Method(NamedTuple):
    """A way to train: the name of its objective and the beta, if it has one.

    Examples
    --------
    >>> Method("beta-nll", 0.5).label, Method("xvamp-star").label
    ('β-NLL, β = 0.5', 'xVAMP*')
    """

    name: str
    beta: float | None = None

    @property
    def label(self) -> str:
        """The name as the paper prints it."""
        if self.name == "beta-nll":
            plain = " (NLL)" if self.beta == 0 else ""
            return f"β-NLL, β = {self.beta:g}{plain}"
        label = _LABELS.get(self.name, self.name)
        return label if self.beta is None else f"{label}, β = {self.beta:g}"


#: In the order of the paper's tables.
METHODS = (
    *(Method("beta-nll", beta) for beta in (0.0, 0.25, 0.5, 0.75, 1.0)),
    *(Method(name) for name in _LABELS),
)
DATASETS = UCI_NAMES
#: Of Table 1.
OVERVIEW_DATASETS = ("concrete", "energy", "naval", "yacht")

_TABLES: dict[Metric, str] = {"ll": "tableS1.csv", "rmse": "tableS2.csv"}


class PaperCell(NamedTuple):
    """An entry of Table S1 or S2.

    Parameters
    ----------
    mean, std : float
        Over the splits.
    n_splits : int
    mark : {"best", "tied", ""}
        Bold, dagger or neither.
    digits : int
        Decimals that are printed.
    """

    mean: float
    std: float
    n_splits: int
    mark: Mark
    digits: int

    @property
    def half_unit(self) -> float:
        """How far rounding may have moved the mean."""
        return 0.5 * 10.0**-self.digits


def n_paper_splits(dataset: str) -> int:
    """Return the number of splits behind the paper's numbers of a dataset.

    The text says 20 for all; the published code has 5 for protein.
    """
    return 5 if dataset == "protein" else 20


@cache
def paper_cells(metric: Metric) -> dict[tuple[str, Method], PaperCell]:
    """Return the paper's Table S1 (``"ll"``) or S2 (``"rmse"``) by dataset and method.

    MSE has no log-likelihood, so Table S1 is without it.

    Examples
    --------
    >>> cell = paper_cells("ll")["yacht", Method("mm")]
    >>> cell.mean, cell.std, cell.n_splits
    (-11.24, 31.03, 20)
    """
    cells = {}
    for row in _rows(_TABLES[metric]):
        if not row["mean"]:
            continue
        mark: Mark = "best" if row["best"] == "1" else ""
        if row["dagger"] == "1":
            mark = "tied"
        cells[row["dataset"], _method(row)] = PaperCell(
            mean=float(row["mean"]),
            std=float(row["std"]),
            n_splits=n_paper_splits(row["dataset"]),
            mark=mark,
            digits=len(row["mean"].partition(".")[2]),
        )
    return cells


@cache
def paper_ties(metric: Metric) -> dict[Method, int]:
    """Return the column "Ties" of the paper's Table 1, of twelve datasets.

    Examples
    --------
    >>> paper_ties("ll")[Method("student-t")]
    10
    """
    return {
        _method(row): int(row["ties_of_12"])
        for row in _rows("table1.csv")
        if row["metric"] == metric and row["ties_of_12"]
    }


def digits_of(metric: Metric, dataset: str) -> int:
    """Return how many decimals the paper prints for a dataset."""
    cells = paper_cells(metric)
    return max(cell.digits for (name, _), cell in cells.items() if name == dataset)


def _method(row: dict[str, str]) -> Method:
    return Method(row["method"], float(row["beta"]) if row["beta"] else None)


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = files("betanll.experiments").joinpath("paper", name).read_text("utf-8")
    return csv.DictReader(text.splitlines())
