"""How often the doctor errs, over synthetic cases of which the truth is known.

    python benchmarks/doctor.py --cases 210 --first-seed 3000

Continues where it stopped; writes ``results/doctor/cases.csv`` and prints the rates.
"""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd
from scipy.stats import binomtest

RESULTS = Path(__file__).parents[1] / "results" / "doctor"
#: The likelihood starves points if another network would save this share of its
#: expected squared error ...
TRUE_GAIN = 0.25
#: ... and this part of the saving lies where it sees noise that is none.
SAVED_THERE = 0.5
#: Families in which there is only noise that is noise.
HARMLESS = (
    *("growing-sine", "pure-noise", "pure-growing-noise", "line-with-growing-noise"),
    *("smooth-with-noise", "two-noise-levels", "heavy-tails", "waves-in-noise"),
)


@click.command()
@click.option("--cases", default=210, show_default=True)
@click.option("--first-seed", default=3000, show_default=True)
@click.option("--workers", type=int)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS)
def main(cases: int, first_seed: int, workers: int | None, out: Path) -> None:
    from benchmarks.doctor_cases import case_tasks

    from betanll.sweeps import Store, run_sweep

    out.mkdir(parents=True, exist_ok=True)
    tasks = case_tasks(cases, first_seed=first_seed)
    with Store(out / "sweep.db") as store:
        run_sweep(tasks, store, n_workers=workers, progress=True)
        frame = pd.DataFrame(store.rows(tasks))
    frame.to_csv(out / "cases.csv", index=False, float_format="%.6g")
    if len(frame) < cases:
        click.echo(f"{cases - len(frame)} of {cases} cases have no result")
    show(frame)


def show(frame: pd.DataFrame) -> None:
    """Print the rates of both errors, with 95 % intervals, and by family."""
    found = frame["pitfall"].astype(bool)
    for gain in (TRUE_GAIN, 0.15, 0.35):
        truth = is_starved(frame, gain)
        click.echo(f"if a true gain of {gain:.0%} counts:")
        click.echo(f"  false alarms {rate(found[~truth])}")
        click.echo(f"  misses       {rate(~found[truth])}")
    harmless = frame["family"].isin(HARMLESS)
    click.echo(f"alarms where there is only noise: {rate(found[harmless])}")
    table = frame.assign(truth=is_starved(frame), found=found)
    columns = ["truth", "found", "true_gain", "gain", "saved_there", "seconds"]
    click.echo(table.groupby("family", sort=False)[columns].mean().round(2))


def is_starved(frame: pd.DataFrame, gain: float = TRUE_GAIN) -> pd.Series:
    """Return the truth of each case."""
    return (frame["true_gain"] >= gain) & (frame["saved_there"] >= SAVED_THERE)


def rate(wrong: pd.Series) -> str:
    """Return how many are wrong, in words."""
    n, among = int(wrong.sum()), len(wrong)
    if not among:
        return "none of 0"
    low, high = binomtest(n, among).proportion_ci(method="wilson")
    return f"{n} of {among} = {n / among:.1%} ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    main()
