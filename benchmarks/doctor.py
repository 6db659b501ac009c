"""How often the doctor errs, over synthetic cases of which the truth is known.

    python benchmarks/doctor.py --cases 210 --first-seed 1000

Continues where it stopped; writes ``results/doctor/cases.csv`` and prints the rates.
"""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd
from scipy.stats import binomtest

RESULTS = Path(__file__).parents[1] / "results" / "doctor"
#: Expected squared error that another objective must save for the truth to be "yes".
TRUE_GAIN = 0.25


@click.command()
@click.option("--cases", default=210, show_default=True)
@click.option("--first-seed", default=1000, show_default=True)
@click.option("--workers", type=int)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS)
def main(cases: int, first_seed: int, workers: int | None, out: Path) -> None:
    from betanll.experiments._doctor_cases import case_tasks
    from betanll.sweeps import Store, run_sweep

    out.mkdir(parents=True, exist_ok=True)
    tasks = case_tasks(cases, first_seed=first_seed)
    with Store(out / "sweep.db") as store:
        run_sweep(tasks, store, n_workers=workers, progress=True)
        frame = pd.DataFrame(store.rows(tasks))
    frame.to_csv(out / "cases.csv", index=False, float_format="%.6g")
    show(frame)


def show(frame: pd.DataFrame) -> None:
    """Print the rates of both errors, with 95 % intervals, and by family."""
    truth, found = frame["true_gain"] >= TRUE_GAIN, frame["pitfall"].astype(bool)
    for name, wrong in {
        "false alarms": ~truth & found,
        "misses": truth & ~found,
    }.items():
        among = int((truth if name == "misses" else ~truth).sum())
        n = int(wrong.sum())
        bounds = binomtest(n, among).proportion_ci(method="wilson") if among else (0, 1)
        click.echo(
            f"{name}: {n} of {among}"
            + (
                f" = {n / among:.1%} ({bounds[0]:.1%} to {bounds[1]:.1%})"
                if among
                else ""
            )
        )
    table = frame.assign(truth=truth, found=found).groupby("family", sort=False)
    click.echo(
        table[["truth", "found", "true_gain", "gain", "seconds"]].mean().round(2)
    )


if __name__ == "__main__":
    main()
