"""Run the tasks of experiments and write their files."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from betanll import plugins as packages
from betanll.files import check_writable, write_files
from betanll.processes import environment
from betanll.sentences import shortened
from betanll.sweeps._experiment import (
    NO_RESULTS,
    Experiment,
    MissingResultsError,
    Request,
    split_request,
)
from betanll.sweeps._run import run_sweep
from betanll.sweeps._store import Store
from betanll.sweeps._task import Task

#: Entry points of experiments that other packages add.
GROUP = "betanll.experiments"


class ExperimentReport(NamedTuple):
    """Files written, and how many tasks of the request have results."""

    paths: list[Path]
    n_tasks: int
    n_done: int


def run_experiments(
    experiments: Iterable[Experiment],
    request: Request,
    *,
    store: Store | Path | None = None,
    n_workers: int | None = None,
    scheduler: str | None = None,
    plugins: Sequence[str] = (),
    progress: bool = False,
    stored_only: bool = False,
    sweep: Callable[..., Any] = run_sweep,
) -> ExperimentReport:
    """Run the tasks that a request needs, and write its artefacts.

    Results are stored one by one. To resume after an interruption, call again.

    Parameters
    ----------
    experiments : iterable of Experiment
        Experiments without any of the requested artefacts are ignored.
    request : Request
    store : Store or path, optional
        An open store, or the file of one, by default ``sweep.db`` in the folder of the
        request. A file is opened after the request was checked; with an open store,
        call :func:`check_experiments` before opening it.
    n_workers, scheduler, plugins, progress
        As in :func:`run_sweep`. By default, cores and experiments limit the number of
        workers.
    stored_only : bool, default=False
        Run no task: write the artefacts of the stored results.
    sweep : callable
        Runs the tasks, with the arguments of :func:`run_sweep`.

    Returns
    -------
    ExperimentReport

    Raises
    ------
    RequestError
        If the request concerns no experiment, or names something unknown.
    MissingResultsError
        If artefacts lack results, after writing the others; if every task of an
        experiment failed, with one of the reasons.

    Examples
    --------
    ``examples/own_experiment.py`` compares objectives on a custom dataset.
    """
    experiments = list(experiments)
    if not isinstance(store, Store):
        check_experiments(experiments, request, stored_only=stored_only)
    parts = split_request(request, experiments)
    with _environment(parts), _opened(store or request.folder / "sweep.db") as results:
        if n_workers is None:
            limits = (one.max_workers(part) for one, part in parts)
            n_workers = min((limit for limit in limits if limit), default=None)
        tasks: dict[str, Task] = {}
        for n_rounds in itertools.count():
            named = [task for one, part in parts for task in one.tasks(part, results)]
            new = {task.key: task for task in named if task.key not in tasks}
            if n_rounds and not new:
                break
            tasks |= new
            if not stored_only:
                sweep(
                    list(new.values()),
                    results,
                    n_workers=n_workers,
                    scheduler=scheduler,
                    plugins=plugins,
                    progress=progress,
                )
        paths = _write(parts, results)
        n_done = len(results.done() & tasks.keys())
    return ExperimentReport(paths, len(tasks), n_done)


def check_experiments(
    experiments: Iterable[Experiment],
    request: Request,
    *,
    stored_only: bool = False,
    option: str = "{}",
) -> None:
    """Raise if a request cannot be fulfilled, before anything is written.

    Parameters
    ----------
    experiments, request, stored_only
        As in :func:`run_experiments`. With `stored_only`, no data is needed.
    option : str
        Format of option names in messages, such as ``"--{}"`` on a command line.

    Raises
    ------
    RequestError
        If the request concerns no experiment, or names something unknown.
    """
    parts = split_request(request, experiments, option=option)
    with _environment(parts):
        check_writable(request.folder)
        for one, part in parts:
            if not stored_only:
                one.check(part)
            one.tasks(part, NO_RESULTS)


def installed_experiments() -> tuple[list[Experiment], list[str]]:
    """Return the experiments of other packages, and complaints about broken ones.

    They are subclasses of :class:`Experiment` named by entry points of the group
    ``betanll.experiments``.
    """
    found, complaints = packages.load(GROUP)
    experiments = []
    for name, loaded in found.items():
        if isinstance(loaded, type) and issubclass(loaded, Experiment):
            try:
                experiments.append(loaded())
            except packages.FAULTS as error:
                complaints.append(
                    f"the experiment {name!r} cannot be used: "
                    f"{packages.reason_of(error)}"
                )
        else:
            complaints.append(
                f"the experiment {name!r} is not a subclass of betanll.sweeps."
                f"Experiment: {shortened(repr(loaded))}"
            )
    return experiments, complaints


@contextlib.contextmanager
def _opened(store: Store | Path) -> Iterator[Store]:
    """Yield an open store; close it afterwards unless the caller opened it."""
    if isinstance(store, Store):
        yield store
        return
    with Store(store) as opened:
        yield opened


def _check_not_all_failed(name: str, tasks: Sequence[Task], store: Store) -> None:
    """Raise if all tasks of an experiment failed: rendering would hide the reason."""
    keys = {task.key for task in tasks}
    faults = [text for task, text in store.failures() if task.key in keys]
    if faults and not keys & store.done():
        reason = shortened(faults[-1].strip().rpartition("\n")[2])
        raise MissingResultsError(
            f"every task of {name} failed, the last by {reason}; tasks that failed "
            "three times run again after Store.forget_failures()"
        )


def _write(parts: list[tuple[Experiment, Request]], store: Store) -> list[Path]:
    """Render all artefacts, then write those whose results suffice."""
    paths = []
    failures = []
    for one, part in parts:
        files: dict[str, bytes] = {}
        for name in part.artefacts:
            try:
                files |= one.render(name, store, part)
            except MissingResultsError as error:
                failures.append(str(error))
            except Exception as error:
                tasks = one.tasks(part, store)
                _check_not_all_failed(one.name, tasks, store)
                n_done = len(store.done() & {task.key for task in tasks})
                if n_done == len(tasks):
                    raise
                # Perhaps for want of rows: what can be said is how many there are.
                failures.append(
                    f"{name} cannot be made of the results of {n_done} of "
                    f"{len(tasks)} tasks: {packages.reason_of(error)}"
                )
        paths += write_files(part.folder, files)
    if failures:
        raise MissingResultsError("; ".join(failures))
    return paths


@contextlib.contextmanager
def _environment(parts: list[tuple[Experiment, Request]]) -> Iterator[None]:
    """Set the experiments' variables temporarily; new processes inherit them."""
    wanted: dict[str, str] = {}
    for one, part in parts:
        wanted |= one.environment(part)
    with environment(**wanted):
        yield
