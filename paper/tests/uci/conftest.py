"""Runs of the UCI sets, drawn from the paper's numbers."""

import numpy as np
import pytest

from betanll_paper.published.methods import METHODS
from betanll_paper.published.uci import DATASETS, paper_cells


def drawn(*, seed=0, n_splits=None, datasets=DATASETS, methods=METHODS, shift=0.0):
    """Return runs drawn from the paper's means, moved by some deviations."""
    rng = np.random.default_rng(seed)
    rows = []
    for dataset in datasets:
        for method in methods:
            ll = paper_cells("ll").get((dataset, method))
            rmse = paper_cells("rmse")[dataset, method]
            for split in range(n_splits or rmse.n_splits):
                rows.append(
                    {
                        "dataset": dataset,
                        "method": method.name,
                        "beta": method.beta,
                        "split": split,
                        "log_likelihood": ll
                        and rng.normal(ll.mean - shift * ll.std, ll.std),
                        "rmse": rng.normal(rmse.mean + shift * rmse.std, rmse.std),
                    }
                )
    return rows


@pytest.fixture(scope="session")
def draw():
    """A function that returns runs drawn from the paper's means."""
    return drawn


@pytest.fixture(scope="session")
def runs():
    """Runs of all sets and methods; do not change them."""
    return drawn()
