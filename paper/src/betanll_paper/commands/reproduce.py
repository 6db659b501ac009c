"""``betanll reproduce``: artefacts of the paper, beside the paper's numbers."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click

from betanll import objectives
from betanll.cli.options import (
    MAX_COUNT,
    exponent,
    import_plugins,
    objective_and_beta,
)
from betanll.cli.output import example
from betanll.cli.sweeping import opened_store, run_and_tell, sweep_options
from betanll.sweeps import (
    Experiment,
    Request,
    RequestError,
    Store,
    Task,
    check_experiments,
    installed_experiments,
    run_experiments,
)
from betanll_paper.autoencoders import AutoencoderModels
from betanll_paper.depth import DepthModels
from betanll_paper.dynamics import DynamicsModels
from betanll_paper.sine import SineFigures
from betanll_paper.uci import UCITables

EXPERIMENTS: tuple[Experiment, ...] = (
    UCITables(),
    SineFigures(),
    DynamicsModels(),
    AutoencoderModels(),
    DepthModels(),
)

#: Where the context of a command keeps the experiments of plug-ins.
_PLUGGED = f"{__name__}.plugged"


@cache
def _installed() -> list[Experiment]:
    """Return the experiments of other packages, and say which cannot be used."""
    experiments, complaints = installed_experiments()
    for complaint in complaints:
        click.echo(f"betanll: {complaint}", err=True)
    return experiments


def _experiments() -> list[Experiment]:
    """Return the paper's experiments, then those of other packages and plug-ins."""
    plugged = click.get_current_context().meta.get(_PLUGGED, [])
    return [*EXPERIMENTS, *_installed(), *plugged]


def _defined_in(module: str) -> list[Experiment]:
    found = vars(sys.modules[module]).values()
    kinds = [one for one in found if isinstance(one, type) and one.__module__ == module]
    return [
        kind()
        for kind in kinds
        if issubclass(kind, Experiment) and not inspect.isabstract(kind)
    ]


def _names(kind: str) -> list[str]:
    """Return all names that the experiments have of a kind, such as presets."""
    names = (name for one in _experiments() for name in getattr(one, kind))
    return list(dict.fromkeys(names))


class _OneOf(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A choice among names that are looked up when they are needed."""

    name = "choice"

    def __init__(self, names: Callable[[], list[str]]) -> None:
        self._names = names

    def convert(self, value: Any, *where: Any) -> Any:
        return click.Choice(self._names()).convert(value, *where)

    def get_metavar(self, *args: Any, **context: Any) -> str | None:
        return click.Choice(self._names()).get_metavar(*args, **context)


def _method(text: str) -> str:
    """Check a method; its beta is a number here, for the paper has no other."""
    names = (name for one in _experiments() for name in one.method_names())
    objective_and_beta(
        text, exponent, list(dict.fromkeys((*objectives.names(), *names)))
    )
    return text


def _imported(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Import plug-ins before other options are read, which may name what they add."""
    if names:
        import_plugins(names)
        context.meta[_PLUGGED] = [one for name in names for one in _defined_in(name)]
    return names


class _Reproduce(click.Command):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List what other packages add, then the example."""
        others = _experiments()[len(EXPERIMENTS) :]
        if others:
            with formatter.section("Artefacts of other packages"):
                formatter.write_dl([p for one in others for p in one.artefacts.items()])
        super().format_epilog(ctx, formatter)


@click.command(
    cls=_Reproduce, epilog=example("betanll reproduce fig1 fig2 --preset smoke")
)
@click.argument(
    "artefacts",
    nargs=-1,
    required=True,
    type=_OneOf(lambda: _names("artefacts")),
    metavar="ARTEFACT...",
)
@click.option(
    "--preset",
    type=_OneOf(lambda: _names("presets")),
    help="smoke: tiny runs; laptop: fewer splits and seeds, shorter runs except for "
    "the UCI tables, synthetic scenes for depth; paper: the paper's budgets.  "
    "[default: laptop, with --nyu-dir paper]",
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
    type=click.IntRange(1, MAX_COUNT),
    help="Processes on this machine.  [default: one for each core, with --nyu-dir one "
    "for each graphics card]",
)
@click.option("--scheduler", metavar="ADDRESS", help="Run on a Dask cluster instead.")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    is_eager=True,
    callback=_imported,
    metavar="MODULE",
    help="Python module to import first, here and in each worker: one that registers "
    "an objective, or defines an experiment. May be repeated.",
)
@sweep_options
def command(
    artefacts: tuple[str, ...],
    preset: str | None,
    methods: tuple[str, ...],
    datasets: tuple[str, ...],
    out: Path,
    data_dir: Path | None,
    nyu_dir: Path | None,
    workers: int | None,
    scheduler: str | None,
    imported: Path | None,
    exported: Path | None,
    plugins: tuple[str, ...],
    retry_failed: bool,
    stored_only: bool,
) -> None:
    """Compute tables and figures of the paper.

    UCI sets: table1, tableS1, tableS2. Sine: fig1, fig2, fig3, fig4, fig5, fig7, fig8,
    figS1, figS2, figS3. Dynamics models: table2, tableS7, fig6, fig9, figS4.
    Autoencoders: tableS3, table3-vae, figS5. Depth: tableS4, table3-depth, figS6.
    Results are stored one by one. To resume, run the same command again.
    """
    settings = {"data-dir": data_dir, "nyu-dir": nyu_dir}
    request = Request(
        artefacts,
        preset or ("laptop" if nyu_dir is None else "paper"),
        datasets,
        methods or None,
        {name: str(path) for name, path in settings.items() if path is not None},
        out,
    )
    try:
        check_experiments(
            _experiments(), request, stored_only=stored_only, option="--{}"
        )
    except RequestError as error:
        raise click.UsageError(str(error)) from None
    with opened_store(
        out / "sweep.db",
        imported=imported,
        exported=exported,
        retry_failed=retry_failed,
    ) as store:
        report = run_experiments(
            _experiments(),
            request,
            store=store,
            n_workers=workers,
            scheduler=scheduler,
            plugins=plugins,
            progress=True,
            stored_only=stored_only,
            sweep=_Sweep(),
        )
    if report.n_done < report.n_tasks:
        click.echo(f"{report.n_done} of {report.n_tasks} tasks have results.")
    for path in report.paths:
        click.echo(str(path))


class _Sweep:
    """Runs tasks and reports the result."""

    def __init__(self) -> None:
        self._rounds = itertools.count()

    def __call__(self, tasks: list[Task], store: Store, **options: Any) -> None:
        if next(self._rounds):
            click.echo("Further runs, chosen by these results:")
        run_and_tell(tasks, store, **options)
