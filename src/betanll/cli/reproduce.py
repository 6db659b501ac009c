"""``betanll reproduce``: artefacts of the paper, beside the paper's numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from betanll.cli._options import objective_and_beta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from betanll.experiments import Method
    from betanll.sweeps import Store, Task

# Spelt out, because --help must not import JAX; a test compares it with the library.
_UCI = ("table1", "tableS1", "tableS2")
_DYNAMICS = ("table2", "tableS7", "fig6", "fig9", "figS4")
_SINE = (
    *("fig1", "fig2", "fig3", "fig4", "fig5", "fig7", "fig8"),
    *("figS1", "figS2", "figS3"),
)


def _method(text: str) -> tuple[str, float | None]:
    """Read a method; its beta is a number here, for the paper has no other."""
    return objective_and_beta(text, _number)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number.") from None


@click.command()
@click.argument(
    "artefacts",
    nargs=-1,
    required=True,
    type=click.Choice([*_UCI, *_SINE, *_DYNAMICS]),
    metavar="ARTEFACT...",
)
@click.option(
    "--preset",
    type=click.Choice(["smoke", "laptop", "paper"]),
    default="laptop",
    show_default=True,
    help="smoke: tiny trainings; laptop: fewer splits and seeds, shorter trainings but "
    "for the UCI tables; paper: everything.",
)
@click.option(
    "--method",
    "methods",
    type=_method,
    multiple=True,
    metavar="NAME",
    help="For tables and fig9: objective, such as mse or beta-nll:0.5; beta-nll alone "
    "means the five of the paper. May be repeated.  [default: the twelve of the paper]",
)
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="NAME",
    help="For tables and fig9: UCI set, object-slide or fetch-pick-and-place. May be "
    "repeated.  [default: all]",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("betanll-results"),
    show_default=True,
    help="Folder for tables, figures, their numbers and the store of results.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Folder of the data.  [default: $BETANLL_DATA, else the user's cache]",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes on this machine.  [default: one for each core]",
)
@click.option("--scheduler", metavar="ADDRESS", help="Run on a Dask cluster instead.")
@click.option(
    "--import",
    "imported",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Results exported elsewhere, to go on from.",
)
@click.option(
    "--export",
    "exported",
    type=click.Path(dir_okay=False, path_type=Path),
    help="CSV file for all results, to go on elsewhere.",
)
@click.option("--retry-failed", is_flag=True, help="Give failed tasks new attempts.")
@click.option(
    "--stored-only",
    is_flag=True,
    help="Train nothing: write what the stored results give.",
)
def command(
    artefacts: tuple[str, ...],
    preset: str,
    methods: tuple[tuple[str, float | None], ...],
    datasets: tuple[str, ...],
    out: Path,
    data_dir: Path | None,
    workers: int | None,
    scheduler: str | None,
    imported: Path | None,
    exported: Path | None,
    retry_failed: bool,
    stored_only: bool,
) -> None:
    """Compute tables and figures of the paper.

    UCI sets: table1, tableS1, tableS2. Sine: fig1, fig2, fig3, fig4, fig5, fig7, fig8,
    figS1, figS2, figS3. Dynamics models: table2, tableS7, fig6, fig9, figS4. Results
    are stored one by one. The same command goes on where it stopped.
    """
    from betanll._files import check_writable
    from betanll.experiments import figure_tasks, write_figures, write_tables
    from betanll.experiments._dynamics_artefacts import (
        dynamics_final_tasks,
        dynamics_search_tasks,
        write_dynamics,
    )
    from betanll.experiments._uci import uci_tasks
    from betanll.sweeps import Store

    uci, sine, dynamics = (
        [name for name in dict.fromkeys(artefacts) if name in family]
        for family in (_UCI, _SINE, _DYNAMICS)
    )
    if not uci and not dynamics:
        _refuse_options_of_tables(methods, datasets, data_dir)
    uci_sets, simulated = _chosen_datasets(datasets, uci, dynamics)
    check_writable(out)
    if data_dir is not None:
        # Workers inherit it; where the data is does not belong to a task.
        os.environ["BETANLL_DATA"] = str(data_dir.resolve())
    restriction: dict[str, Any] = {"datasets": simulated}
    if methods:
        restriction["methods"] = _methods(methods)
    of_dynamics = dynamics_search_tasks(dynamics, preset, **restriction)
    of_uci = []
    if uci:
        of_uci = uci_tasks(preset, methods=_methods(methods), datasets=uci_sets)
    if not stored_only:
        _check_data(uci_sets if uci else [], of_dynamics)
    tasks = list(dict.fromkeys([*of_uci, *figure_tasks(sine, preset), *of_dynamics]))
    with Store(out / "sweep.db") as store:
        if imported is not None:
            click.echo(f"{store.import_csv(imported)} new results from {imported}")
        if retry_failed:
            store.forget_failures()
        try:
            if not stored_only:
                _run(tasks, store, workers, scheduler)
            # What is tested is chosen by the trainings before.
            final = dynamics_final_tasks(dynamics, preset, store, **restriction)
            if final and not stored_only:
                click.echo("The best configurations, with further seeds:")
                _run(final, store, workers, scheduler)
            tasks = [*tasks, *final]
        finally:
            if exported is not None:
                store.export_csv(exported)
        paths = []
        if uci:
            runs = _write_runs(store, of_uci, out / "runs.csv")
            paths += [out / "runs.csv", *write_tables(runs, out, uci, preset=preset)]
        if sine:
            paths += write_figures(store, out, sine, preset=preset)
        if dynamics:
            paths += write_dynamics(store, out, dynamics, preset=preset, **restriction)
        n_done = len(store.done() & {task.key for task in tasks})
    if n_done < len(tasks):
        click.echo(f"{n_done} of {len(tasks)} tasks have results.")
    for path in paths:
        click.echo(str(path))


def _refuse_options_of_tables(methods: Any, datasets: Any, data_dir: Any) -> None:
    given = {"--method": methods, "--dataset": datasets, "--data-dir": data_dir}
    names = [name for name, value in given.items() if value]
    if names:
        concern = "concerns" if len(names) == 1 else "concern"
        raise click.UsageError(
            f"{' and '.join(names)} {concern} none of the figures that are asked for."
        )


def _chosen_datasets(
    given: tuple[str, ...], uci: list[str], dynamics: list[str]
) -> tuple[list[str], list[str]]:
    """Return the UCI sets and the simulated ones."""
    from betanll.datasets import UCI_NAMES
    from betanll.experiments._paper_dynamics import DATASETS

    names = list(dict.fromkeys(given))
    offered = [*(UCI_NAMES if uci else ()), *(DATASETS if dynamics else ())]
    for name in names:
        if name not in offered:
            raise click.UsageError(
                f"--dataset must be among {', '.join(offered)}, got {name!r}"
            )
    for family, known in ((uci, UCI_NAMES), (dynamics, DATASETS)):
        if family and names and not any(name in known for name in names):
            raise click.UsageError(
                f"{', '.join(family)} needs a --dataset among {', '.join(known)}"
            )
    return (
        [name for name in names or UCI_NAMES if name in UCI_NAMES],
        [name for name in names or DATASETS if name in DATASETS],
    )


def _check_data(uci_sets: Iterable[str], of_dynamics: Iterable[Task]) -> None:
    """Refuse data that is not here before anything is trained."""
    from betanll.datasets import data_directory, load_uci
    from betanll.dynamics._fetch_files import complete_shards
    from betanll.experiments._paper_dynamics import FETCH

    for name in uci_sets:
        load_uci(name)
    if any(dict(task.settings)["dataset"] == FETCH for task in of_dynamics):
        complete_shards(data_directory() / FETCH)


def _run(
    tasks: list[Task], store: Store, workers: int | None, scheduler: str | None
) -> None:
    """Run what has no result, and say what is missing."""
    from betanll.sweeps import run_sweep

    try:
        report = run_sweep(
            tasks, store, n_workers=workers, scheduler=scheduler, progress=True
        )
    except KeyboardInterrupt:
        done = store.done()
        n_done = sum(task.key in done for task in tasks)
        click.echo(
            f"\nStopped with {n_done} of {len(tasks)} results stored in "
            f"{store.path}; the same command goes on from there.",
            err=True,
        )
        raise
    if report.n_given_up:
        missing = {task.key for task in tasks} - store.done()
        task, text = [(t, e) for t, e in store.failures() if t.key in missing][-1]
        reason = text.strip().rpartition("\n")[2]
        click.echo(
            f"{report.n_given_up} tasks were given up after three attempts, the "
            f"last one with: {reason} ({dict(task.settings)})",
            err=True,
        )
    click.echo(
        f"{report.n_done} tasks in {report.seconds:.0f} s; "
        f"{report.n_before} had results before."
    )


def _methods(chosen: tuple[tuple[str, float | None], ...]) -> list[Method]:
    from betanll.experiments import Method
    from betanll.experiments._paper import METHODS

    if not chosen:
        return list(METHODS)
    methods: dict[Method, None] = {}
    for name, beta in chosen:
        if name == "nll":
            methods[Method("beta-nll", 0.0)] = None
        elif name == "beta-nll" and beta is None:
            methods.update(dict.fromkeys(m for m in METHODS if m.name == name))
        else:
            methods[Method(name, beta)] = None
    return list(methods)


def _write_runs(store: Store, tasks: list[Task], path: Path) -> Any:
    """Write the results of the tasks and return them as they are read again."""
    import pandas as pd

    from betanll._files import written_atomically
    from betanll.experiments import read_runs

    rows = store.rows(tasks)
    if not rows:
        raise ValueError("no task has a result, so there is no table to write")
    with written_atomically(path) as temporary:
        pd.DataFrame(rows).to_csv(temporary, index=False, float_format="%.10g")
    return read_runs(path)
