"""What all tables of the paper share: methods, and numbers as they are printed."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from betanll.objectives import Objective

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
    "student-t-floored": "Student-t, floored",
    "fixed-variance": "Fixed variance",
    "mm-averaged": "Moment matching, pixels averaged",
    "l1": "L1",
    "scale-invariant": "Scale-invariant",
    "adabins": "AdaBins",
    "bts": "BTS",
    "dav": "DAV",
}
#: In the order of the tables that compare all methods.
_COMPARED = ("mm", "mse", "student-t", "xvamp", "xvamp-star", "vbem", "vbem-star")


class Method(NamedTuple):
    """A way to train: the name of its objective and the beta, if it has one.

    Examples
    --------
    >>> Method("beta-nll", 0.5).label, Method("xvamp-star").label
    ('β-NLL, β = 0.5', 'xVAMP*')
    """

    name: str
    beta: float | None = None

    @classmethod
    def of_row(cls, row: dict[str, str]) -> Method:
        """Read the columns method and beta of a table."""
        return cls(row["method"], float(row["beta"]) if row["beta"] else None)

    @property
    def objective(self) -> Objective:
        from betanll import objectives

        if self.beta is None:
            return objectives.get(self.name)
        return objectives.BetaNLL(self.beta)

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
    *(Method(name) for name in _COMPARED),
)


class PaperCell(NamedTuple):
    """An entry of a table.

    Parameters
    ----------
    mean, std : float
        Over splits, or over seeds.
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


def paper_rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the lines of one of the files of the paper's numbers."""
    text = files("betanll_paper.published").joinpath(name).read_text("utf-8")
    return csv.DictReader(text.splitlines())
