"""Runs of the UCI sets, drawn from the paper's numbers."""

import numpy as np
import pandas as pd
import pytest

from betanll_paper.published.methods import METHODS
from betanll_paper.published.uci import DATASETS, paper_cells
from betanll_paper.uci import read_runs

HEAD = (
    "dataset,method,beta,split,log_likelihood,rmse,learning_rate,epochs,updates,seconds"
)


def drawn(*, seed=0, n_splits=None, datasets=DATASETS, methods=METHODS, shift=0.0):
    """Return runs drawn from the paper's means, moved by some deviations."""
    rng = np.random.default_rng(seed)
    lines = []
    for dataset in datasets:
        for method in methods:
            ll = paper_cells("ll").get((dataset, method))
            rmse = paper_cells("rmse")[dataset, method]
            for split in range(n_splits or rmse.n_splits):
                lines.append(
                    {
                        "dataset": dataset,
                        "method": method.name,
                        "beta": method.beta,
                        "split": split,
                        "log_likelihood": ll
                        and rng.normal(ll.mean - shift * ll.std, ll.std),
                        "rmse": rng.normal(rmse.mean + shift * rmse.std, rmse.std),
                        "learning_rate": 1e-3,
                        "epochs": 40,
                        "updates": 80,
                        "seconds": 0.5,
                    }
                )
    runs = pd.DataFrame(lines, columns=HEAD.split(","))
    return runs.astype({"beta": float, "log_likelihood": float})


@pytest.fixture(scope="session")
def draw():
    """A function that returns runs drawn from the paper's means."""
    return drawn


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Runs of all sets and methods, as read from a file; do not change them."""
    path = tmp_path_factory.mktemp("runs") / "runs.csv"
    drawn().to_csv(path, index=False)
    return read_runs(path)
