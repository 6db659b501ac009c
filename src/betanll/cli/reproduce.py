"""``betanll reproduce``: artefacts of the paper, beside the paper's numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from betanll.cli._options import OBJECTIVES, exponent, objective_and_beta

if TYPE_CHECKING:
    from betanll.experiments import Method
    from betanll.experiments._family import Family, Request
    from betanll.sweeps import Store, Task

# Spelt out, because --help must not import JAX; a test compares it with the library.
ARTEFACTS = (
    *("table1", "tableS1", "tableS2"),
    *("fig1", "fig2", "fig3", "fig4", "fig5", "fig7", "fig8"),
    *("figS1", "figS2", "figS3"),
    *("table2", "tableS7", "fig6", "fig9", "figS4"),
    *("tableS3", "table3-vae", "figS5"),
    *("tableS4", "table3-depth", "figS6"),
)
#: Losses of depth regression alone.
DEPTH_LOSSES = ("l1", "scale-invariant")


def _method(text: str) -> tuple[str, float | None]:
    """Read a method; its beta is a number here, for the paper has no other."""
    return objective_and_beta(text, exponent, (*OBJECTIVES, *DEPTH_LOSSES))


@click.command()
@click.argument(
    "artefacts",
    nargs=-1,
    required=True,
    type=click.Choice(ARTEFACTS),
    metavar="ARTEFACT...",
)
@click.option(
    "--preset",
    type=click.Choice(["smoke", "laptop", "paper"]),
    help="smoke: tiny trainings; laptop: fewer splits and seeds, shorter trainings but "
    "for the UCI tables, synthetic scenes for depth; paper: everything.  [default: "
    "laptop, with --nyu-dir paper]",
)
@click.option(
    "--method",
    "methods",
    type=_method,
    multiple=True,
    metavar="NAME",
    help="For tables and fig9: objective, such as mse or beta-nll:0.5; beta-nll alone "
    "means the five of the paper; for depth also l1 and scale-invariant. May be "
    "repeated.  [default: those of the paper]",
)
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="NAME",
    help="UCI set, object-slide, fetch-pick-and-place, mnist or fashion-mnist; may be "
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
    "--nyu-dir",
    type=click.Path(path_type=Path),
    help="Folder of NYU Depth V2, to learn depth from photographs.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes on this machine.  [default: one for each core, with --nyu-dir one "
    "for each graphics card]",
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
    preset: str | None,
    methods: tuple[tuple[str, float | None], ...],
    datasets: tuple[str, ...],
    out: Path,
    data_dir: Path | None,
    nyu_dir: Path | None,
    workers: int | None,
    scheduler: str | None,
    imported: Path | None,
    exported: Path | None,
    retry_failed: bool,
    stored_only: bool,
) -> None:
    """Compute tables and figures of the paper.

    UCI sets: table1, tableS1, tableS2. Sine: fig1, fig2, fig3, fig4, fig5, fig7, fig8,
    figS1, figS2, figS3. Dynamics models: table2, tableS7, fig6, fig9, figS4.
    Autoencoders: tableS3, table3-vae, figS5. Depth: tableS4, table3-depth, figS6.
    Results are stored one by one. The same command goes on where it stopped.
    """
    from betanll._files import check_writable
    from betanll.sweeps import Store

    if data_dir is not None:
        # Workers inherit it; where the data is does not belong to a task.
        os.environ["BETANLL_DATA"] = str(data_dir.resolve())
    preset = preset or ("laptop" if nyu_dir is None else "paper")
    requests = _requests(artefacts, preset, methods, datasets, data_dir)
    _tell_depth_models(requests, nyu_dir, out)
    check_writable(out)
    if not stored_only:
        for family, request in requests:
            family.check_data(request)
    if workers is None:
        limits = (family.max_workers(request) for family, request in requests)
        workers = min((limit for limit in limits if limit), default=None)
    tasks = [task for family, request in requests for task in family.tasks(request)]
    with Store(out / "sweep.db") as store:
        if imported is not None:
            click.echo(f"{store.import_csv(imported)} new results from {imported}")
        if retry_failed:
            store.forget_failures()
        try:
            if not stored_only:
                _run(tasks, store, workers, scheduler)
            further = [
                task
                for family, request in requests
                for task in family.further_tasks(request, store)
            ]
            if further and not stored_only:
                click.echo("Further trainings, chosen by these:")
                _run(further, store, workers, scheduler)
        finally:
            if exported is not None:
                store.export_csv(exported)
        paths = [
            path
            for family, request in requests
            for path in family.write(request, store, out)
        ]
        keys = {task.key for task in [*tasks, *further]}
        n_done = len(store.done() & keys)
    if n_done < len(keys):
        click.echo(f"{n_done} of {len(keys)} tasks have results.")
    for path in paths:
        click.echo(str(path))


def _requests(
    artefacts: tuple[str, ...],
    preset: str,
    methods: tuple[tuple[str, float | None], ...],
    datasets: tuple[str, ...],
    data_dir: Path | None,
) -> list[tuple[Family, Request]]:
    """Return what is asked of each family, or refuse what concerns none."""
    from betanll.experiments._families import FAMILIES
    from betanll.experiments._family import Request

    asked = [f for f in FAMILIES if any(name in f.artefacts for name in artefacts)]
    offered = [name for family in asked for name in family.datasets]
    _refuse_restrictions(
        {
            "--method": methods and not any(family.methods for family in asked),
            "--dataset": datasets and not offered,
            "--data-dir": data_dir is not None and not offered,
        }
    )
    for name in datasets:
        if name not in offered:
            raise click.UsageError(
                f"--dataset must be among {', '.join(offered)}, got {name!r}"
            )
    requests = []
    for family in asked:
        mine = [name for name in dict.fromkeys(artefacts) if name in family.artefacts]
        chosen = [name for name in dict.fromkeys(datasets) if name in family.datasets]
        if datasets and family.datasets and not chosen:
            raise click.UsageError(
                f"{', '.join(mine)} needs a --dataset among "
                f"{', '.join(family.datasets)}"
            )
        for name, _ in methods:
            if family.methods and name not in family.methods:
                raise click.UsageError(
                    f"{', '.join(mine)} can be made with {', '.join(family.methods)}, "
                    f"not with {name}"
                )
        wanted = _methods(methods) if methods else None
        requests.append(
            (family, Request(mine, preset, chosen or family.datasets, wanted))
        )
    return requests


def _refuse_restrictions(is_idle: dict[str, Any]) -> None:
    names = [name for name, value in is_idle.items() if value]
    if names:
        concern = "concerns" if len(names) == 1 else "concern"
        raise click.UsageError(
            f"{' and '.join(names)} {concern} nothing that is asked for."
        )


def _tell_depth_models(
    requests: list[tuple[Family, Request]], nyu_dir: Path | None, out: Path
) -> None:
    """Say where photographs and checkpoints are, in a way that workers inherit."""
    from betanll.experiments._depth import NYU_VARIABLE, RUNS_VARIABLE
    from betanll.experiments._depth_artefacts import DepthModels

    is_asked = any(isinstance(family, DepthModels) for family, _ in requests)
    _refuse_restrictions({"--nyu-dir": nyu_dir is not None and not is_asked})
    if not is_asked:
        return
    os.environ.pop(NYU_VARIABLE, None)
    if nyu_dir is not None:
        os.environ[NYU_VARIABLE] = str(nyu_dir.resolve())
    os.environ[RUNS_VARIABLE] = str((out / "depth-runs").resolve())


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

    methods: dict[Method, None] = {}
    for name, beta in chosen:
        if name == "nll":
            methods[Method("beta-nll", 0.0)] = None
        elif name == "beta-nll" and beta is None:
            methods.update(dict.fromkeys(m for m in METHODS if m.name == name))
        else:
            methods[Method(name, beta)] = None
    return list(methods)
