"""The methods of the paper's tables, and numbers as they are printed."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from betanll.objectives import split_spec

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


def spec_of(name: str, beta: float | str | None) -> str:
    """Return the spec of an objective; a beta that is None, empty or NaN is no part.

    Examples
    --------
    >>> spec_of("beta-nll", 0.5), spec_of("mse", None)
    ('beta-nll:0.5', 'mse')
    """
    is_blank = beta is None or beta == "" or beta != beta
    return name if is_blank else f"{name}:{beta}"


@dataclass(frozen=True)
class Method:
    """A way to train: the spec of an objective, with the labels of the paper.

    ``nll`` is the same as ``beta-nll:0``.

    Examples
    --------
    >>> Method("beta-nll:0.5").label, Method("xvamp-star").label
    ('β-NLL, β = 0.5', 'xVAMP*')
    >>> Method("nll")
    Method(spec='beta-nll:0')
    """

    spec: str

    def __post_init__(self) -> None:
        name, beta = split_spec(self.spec)
        if name == "nll":
            name, beta = "beta-nll", beta or "0"
        text = str(float(beta)).removesuffix(".0") if beta else None
        object.__setattr__(self, "spec", spec_of(name, text))

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Method:
        """Read the columns method and beta of a result or a table."""
        return cls(spec_of(row["method"], row["beta"]))

    @property
    def name(self) -> str:
        return split_spec(self.spec)[0]

    @property
    def beta(self) -> float | None:
        beta = split_spec(self.spec)[1]
        return float(beta) if beta else None

    @property
    def settings(self) -> dict[str, Any]:
        """Method and beta as the settings of a task, and so as columns of results."""
        return {"method": self.name, "beta": self.beta}

    @property
    def objective(self) -> Objective:
        from betanll import objectives

        return objectives.get(self.spec)

    @property
    def short_label(self) -> str:
        """The name in a legend.

        Examples
        --------
        >>> Method("nll").short_label, Method("beta-nll:0.5").short_label
        ('NLL', 'β-NLL 0.5')
        """
        if self.name != "beta-nll":
            return self.name.upper()
        return f"β-NLL {self.beta:g}" if self.beta else "NLL"

    @property
    def label(self) -> str:
        """The name as the tables of the paper print it."""
        if self.name == "beta-nll":
            plain = " (NLL)" if self.beta == 0 else ""
            return f"β-NLL, β = {self.beta:g}{plain}"
        label = _LABELS.get(self.name, self.name)
        return label if self.beta is None else f"{label}, β = {self.beta:g}"


#: In the order of the paper's tables.
METHODS = (
    *(Method(f"beta-nll:{beta}") for beta in (0, 0.25, 0.5, 0.75, 1)),
    *(Method(name) for name in _COMPARED),
)
#: Methods whose loss averages over samples or components of a prior take many times
#: as long.
SLOW = frozenset(["xvamp", "xvamp-star", "vbem", "vbem-star"])
SLOW_NAMES = "xVAMP and VBEM"


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

    @classmethod
    def of_row(
        cls, row: Mapping[str, str], n_splits: int, mark: Mark = ""
    ) -> PaperCell:
        """Read the columns mean and std of a file of the paper's numbers."""
        digits = len(row["mean"].partition(".")[2])
        return cls(float(row["mean"]), float(row["std"]), n_splits, mark, digits)

    @property
    def half_unit(self) -> float:
        """How far rounding may have moved the mean."""
        return 0.5 * 10.0**-self.digits


def paper_rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the lines of one of the files of the paper's numbers."""
    text = files("betanll_paper.published").joinpath(name).read_text("utf-8")
    return csv.DictReader(text.splitlines())
