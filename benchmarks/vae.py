"""Longer trainings of two likelihoods on MNIST than preset laptop has.

    BETANLL_DATA=DIR python benchmarks/vae.py --epochs 150

Trains the autoencoders of the Gaussian and of the Student-t likelihood, which are
close in RMSE after 40 epochs and far apart in the paper, and writes
``paper/results/vae/mnist-150.csv``. Stopped, it goes on from its store.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import pandas as pd

from betanll.sweeps import Store, Task, run_sweep
from betanll_paper.autoencoders.protocol import PRESETS, vae_tasks
from betanll_paper.published import Method

RESULTS = Path(__file__).parents[1] / "paper" / "results" / "vae"
METHODS = (Method("nll"), Method("student-t"))
COLUMNS = (
    *("dataset", "method", "beta", "seed", "rmse", "log_likelihood"),
    *("n_epochs", "best_epoch", "collapse_ratio", "seconds"),
)


def tasks(epochs: int) -> list[Task]:
    longer = replace(PRESETS["laptop"], length={"": epochs})
    return vae_tasks(longer, methods=METHODS, datasets=["mnist"])


@click.command()
@click.option("--epochs", type=click.IntRange(1), default=150, show_default=True)
@click.option("--store", type=Path, default="vae.db", show_default=True)
def main(epochs: int, store: Path) -> None:
    with Store(store) as results:
        run_sweep(tasks(epochs), results, progress=True)
        rows = [row for row in results.rows(tasks(epochs)) if row["kind"] == "result"]
    table = pd.DataFrame(rows)[list(COLUMNS)]
    table.to_csv(RESULTS / f"mnist-{epochs}.csv", index=False)
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
