"""A claim of the paper with a verdict, and the numbers that verdicts rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from betanll_paper.published.methods import paper_rows

#: A data frame or a column; the stubs of pandas know too little of what cells hold.
Table = Any

Verdict = Literal["confirmed", "not confirmed", "contradicted", "cannot be judged here"]
VERDICTS: tuple[Verdict, ...] = (
    "confirmed",
    "not confirmed",
    "contradicted",
    "cannot be judged here",
)


class Claim(NamedTuple):
    """A line of the overview.

    Parameters
    ----------
    artefact : str
        Figure, table or section of the paper.
    text : str
        What the paper says or shows.
    scale : str
        Ours / the paper's.
    ours, paper : str
        The numbers.
    verdict : Verdict
        "not confirmed" if our runs do not show it but are too short or too few to
        contradict it.
    why : str
        One sentence.
    """

    artefact: str
    text: str
    scale: str
    ours: str
    paper: str
    verdict: Verdict
    why: str


class Evidence:
    """The committed results.

    Parameters
    ----------
    folder : path
        With a folder for each family, such as ``pitfall``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def table(self, name: str) -> Table:
        """Return a CSV file, such as ``"pitfall/fig1"``."""
        return pd.read_csv(self._folder / f"{name}.csv")

    def longest(self, family: str, stem: str) -> tuple[int, Table]:
        """Return the epochs of the longest runs, and their file.

        Files are named by their epochs, such as ``object-slide-1000.csv``. Without any,
        it is the file without a number, and 0.
        """
        epochs = [
            int(path.stem.removeprefix(f"{stem}-"))
            for path in (self._folder / family).glob(f"{stem}-*.csv")
            if path.stem.removeprefix(f"{stem}-").isdigit()
        ]
        if not epochs:
            return 0, self.table(f"{family}/{stem}")
        return max(epochs), self.table(f"{family}/{stem}-{max(epochs)}")


class Scores(NamedTuple):
    """Mean and standard deviation over runs."""

    mean: float
    std: float
    n: int

    @property
    def standard_error(self) -> float:
        return self.std / math.sqrt(self.n) if self.n > 1 else math.nan


def scores(table: Table, column: str, method: str, beta: float | None = None) -> Scores:
    """Return what the rows of a method have in a column."""
    chosen = table[table["method"] == method]
    if beta is not None:
        chosen = chosen[chosen["beta"] == beta]
    values = chosen[column].dropna()
    return Scores(float(values.mean()), float(values.std()), len(values))


@cache
def paper_scores(table: str) -> Table:
    """Return a table of the paper: ``"table2"``, ``"tableS3"``, ``"tableS4"``."""
    frame = pd.DataFrame(list(paper_rows(f"{table}.csv")))
    names = [n for n in frame.columns if n not in ("dataset", "method", "metric")]
    for name in names:
        converted = pd.to_numeric(frame[name], errors="coerce")
        if converted.notna().any():
            frame[name] = converted
    return frame


def paper_mean(
    table: str, method: str, beta: float | None = None, **where: str
) -> float:
    """Return a mean that the paper prints.

    Examples
    --------
    >>> paper_mean("table2", "beta-nll", 0.5, dataset="object-slide", metric="rmse")
    0.0064
    """
    frame = paper_scores(table)
    for name, value in where.items():
        frame = frame[frame[name] == value]
    return scores(frame, "mean", method, beta).mean


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits.

    Examples
    --------
    >>> number(0.01234), number(-4.5261, 2), number(2116), number(2.5e-06)
    ('0.0123', '−4.5', '2,116', '2.5e-06')
    """
    if value and abs(value) < 1e-4:
        text = f"{value:.{digits}g}"
    elif abs(value) >= 10 ** (digits - 1):
        text = f"{value:,.0f}"
    else:
        text = f"{float(f'{value:.{digits}g}'):g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def listed(values: Sequence[float], digits: int = 3) -> str:
    """Return numbers with commas between them."""
    return ", ".join(number(value, digits) for value in values)


def decimals(values: Sequence[float], places: int) -> str:
    """Return numbers with so many decimals and commas between them.

    Examples
    --------
    >>> decimals([-1.0, 0.385], 2)
    '−1.00, 0.39'
    """
    return ", ".join(f"{value:.{places}f}" for value in values).replace("-", "−")


def between(values: Sequence[float], digits: int = 3) -> str:
    """Return the smallest and the largest number."""
    low, high = number(min(values), digits), number(max(values), digits)
    return low if low == high else f"{low} to {high}"


def confirmed_if(holds: bool, otherwise: Verdict = "not confirmed") -> Verdict:
    """Return a verdict that follows from numbers."""
    return "confirmed" if holds else otherwise
