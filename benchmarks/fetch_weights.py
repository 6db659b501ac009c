"""Figure S4 with longer runs than preset laptop has.

    BETANLL_DATA=DIR python benchmarks/fetch_weights.py --epochs 500

Trains NLL and the squared error on Fetch-PickAndPlace with the paper's best
configurations, without a search. Writes ``paper/results/dynamics/figS4-500.png`` and
``figS4-500.csv``. An hour on one core, after the rollouts (``betanll data generate
fetch-pick-and-place``). Stopped, it goes on from its store.
"""

from __future__ import annotations

from pathlib import Path

import click

from betanll.files import write_files
from betanll.reports.style import rendered, report_style
from betanll.sweeps import Store, Task, run_sweep
from betanll_paper.dynamics.figures import figS4
from betanll_paper.dynamics.training import train
from betanll_paper.published.dynamics import FETCH, paper_best
from betanll_paper.published.methods import METHODS

RESULTS = Path(__file__).parents[1] / "paper" / "results" / "dynamics"


def tasks(epochs: int, n_rollouts: int) -> list[Task]:
    """Return one run of each of the two losses; their keys are those of the sweep."""
    return [
        Task.of(
            train,
            dataset=FETCH,
            method=method.name,
            beta=method.beta,
            **paper_best()[FETCH, method]._asdict(),
            epochs=epochs,
            seed=1,
            is_final=True,
            n_rollouts=n_rollouts,
            data_seed=0,
        )
        for method in METHODS
        if (method.name, method.beta) in (("beta-nll", 0.0), ("mse", None))
    ]


@click.command()
@click.option("--epochs", type=click.IntRange(1), default=500, show_default=True)
@click.option("--rollouts", type=click.IntRange(7), default=16_800, show_default=True)
@click.option("--store", type=Path, default="fetch-weights.db", show_default=True)
@click.option("--import", "imported", type=Path, help="Export of other runs.")
@click.option("--out", type=Path, default=RESULTS)
def main(
    epochs: int, rollouts: int, store: Path, imported: Path | None, out: Path
) -> None:
    with Store(store) as results:
        if imported is not None:
            results.import_csv(imported)
        run_sweep(tasks(epochs, rollouts), results, n_workers=1, progress=True)
        rows = results.rows(tasks(epochs, rollouts))
    with report_style():
        drawing = figS4(rows, "paper")
        note = f"{epochs} epochs with the paper's best configurations, without a search"
        drawing.figure.supxlabel(f"{note}.", fontsize=8, color="0.35")
        picture = rendered(drawing.figure, "png")
    table = drawing.tables[""].to_csv(index=False, float_format="%.6g")
    name = f"figS4-{epochs}"
    write_files(out, {f"{name}.png": picture, f"{name}.csv": table.encode()})


if __name__ == "__main__":
    main()
