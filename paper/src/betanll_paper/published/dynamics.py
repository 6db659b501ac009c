"""The dynamics models of the paper: Tables 2, S6 and S7."""

from __future__ import annotations

import itertools
from functools import cache
from typing import NamedTuple

from betanll_paper.published.methods import Method, Metric, PaperCell, paper_rows

OBJECT_SLIDE, FETCH = DATASETS = ("object-slide", "fetch-pick-and-place")
NAMES = {OBJECT_SLIDE: "ObjectSlide", FETCH: "Fetch-PickAndPlace"}
N_SEEDS = 5
#: The fair control of Student-t: the floor of its scale is that of the Gaussians.
CONTROL = Method("student-t-floored")


class Configuration(NamedTuple):
    """A network and its learning rate.

    Examples
    --------
    >>> print(Configuration(1e-3, 3, 128, "relu"))
    3x128 relu, learning rate 0.001
    """

    learning_rate: float
    n_layers: int
    n_units: int
    activation: str

    def __str__(self) -> str:
        network = f"{self.n_layers}x{self.n_units} {self.activation}"
        return f"{network}, learning rate {self.learning_rate:g}"


#: Table S6: 96 configurations.
GRID = tuple(
    itertools.starmap(
        Configuration,
        itertools.product(
            (3e-5, 1e-4, 3e-4, 1e-3), (2, 3, 4), (128, 256, 386, 512), ("tanh", "relu")
        ),
    )
)


@cache
def paper_cells(metric: Metric) -> dict[tuple[str, Method], PaperCell]:
    """Return the numbers of Table 2 by dataset and method.

    MSE has no log-likelihood, and that of moment matching on ObjectSlide diverged.

    Examples
    --------
    >>> paper_cells("rmse")["object-slide", Method("beta-nll:0.5")].mean
    0.0064
    """
    return {
        (row["dataset"], Method.of_row(row)): PaperCell.of_row(row, N_SEEDS)
        for row in paper_rows("table2.csv")
        if row["metric"] == metric and row["mean"]
    }


@cache
def paper_best() -> dict[tuple[str, Method], Configuration]:
    """Return the best configurations, Table S7, by dataset and method.

    Examples
    --------
    >>> print(paper_best()["object-slide", Method("vbem")])
    2x256 tanh, learning rate 0.0003
    """
    return {
        (row["dataset"], Method.of_row(row)): Configuration(
            float(row["lr"]),
            int(row["hidden_layers"]),
            int(row["units_per_layer"]),
            row["activation"],
        )
        for row in paper_rows("tableS7.csv")
    }
