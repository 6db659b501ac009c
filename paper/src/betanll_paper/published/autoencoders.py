"""The variational autoencoders of the paper: Table S3, and its excerpt in Table 3."""

from __future__ import annotations

from functools import cache

from betanll_paper.published.methods import (
    METHODS,
    Method,
    Metric,
    PaperCell,
    paper_rows,
)

DATASETS = ("mnist", "fashion-mnist")
NAMES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}
N_SEEDS = 5
#: Length of the code; the released script has 10 for both.
N_LATENT = {"mnist": 10, "fashion-mnist": 25}

#: In the order of Table S3. MSE has no likelihood: its place takes a fixed variance.
ROWS = (
    Method("fixed-variance"),
    *(method for method in METHODS if method.name != "mse"),
)
#: Those of Table 3.
SELECTED = (
    *(Method(f"beta-nll:{beta}") for beta in (0.0, 0.5, 1.0)),
    *(Method(name) for name in ("student-t", "xvamp-star", "vbem-star")),
)


@cache
def paper_cells(metric: Metric) -> dict[tuple[str, Method], PaperCell]:
    """Return the numbers of Table S3 by dataset and method.

    Examples
    --------
    >>> paper_cells("ll")["mnist", Method("beta-nll:0.5")].mean
    2220.0
    """
    return {
        (row["dataset"], Method.of_row(row)): PaperCell.of_row(row, N_SEEDS)
        for row in paper_rows("tableS3.csv")
        if row["metric"] == metric
    }
