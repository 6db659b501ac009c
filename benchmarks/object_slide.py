"""Longer trainings of three losses on ObjectSlide than preset laptop has.

    python benchmarks/object_slide.py --epochs 1000

Trains the paper's best configuration with the likelihood, beta-NLL 0.5 and the squared
error, five seeds each, and writes
``paper/results/dynamics/object-slide-1000.csv``. Stopped, it goes on from its store.
"""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from betanll.sweeps import Store, Task, run_sweep
from betanll_paper.dynamics.training import train
from betanll_paper.published import Method
from betanll_paper.published.dynamics import N_SEEDS, OBJECT_SLIDE, paper_best

RESULTS = Path(__file__).parents[1] / "paper" / "results" / "dynamics"
METHODS = (Method("nll"), Method("beta-nll:0.5"), Method("mse"))
COLUMNS = ("method", "beta", "seed", "rmse", "log_likelihood", "best_epoch", "seconds")


def tasks(epochs: int) -> list[Task]:
    return [
        Task.of(
            train,
            dataset=OBJECT_SLIDE,
            **method.settings,
            **paper_best()[OBJECT_SLIDE, method]._asdict(),
            epochs=epochs,
            seed=seed,
            is_final=True,
            n_episodes=2000,
        )
        for method in METHODS
        for seed in range(1, N_SEEDS + 1)
    ]


@click.command()
@click.option("--epochs", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--store", type=Path, default="object-slide.db", show_default=True)
def main(epochs: int, store: Path) -> None:
    with Store(store) as results:
        run_sweep(tasks(epochs), results, progress=True)
        rows = [row for row in results.rows(tasks(epochs)) if row["kind"] == "final"]
    table = pd.DataFrame(rows)[list(COLUMNS)]
    table.to_csv(RESULTS / f"object-slide-{epochs}.csv", index=False)
    scores = ["rmse", "log_likelihood"]
    print(table.groupby(["method", "beta"], dropna=False)[scores].agg(["mean", "std"]))


if __name__ == "__main__":
    main()
