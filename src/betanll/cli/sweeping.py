"""Options and sentences of commands that run a sweep."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from betanll.sentences import shortened

if TYPE_CHECKING:
    from betanll.sweeps import Store, SweepReport, Task

Command = TypeVar("Command", bound=Callable[..., Any])

#: Tasks that are named with what went wrong.
MAX_TOLD = 20


def sweep_options(command: Command) -> Command:
    """Add what says which stored results are used, and where they go.

    The names of the parameters are `retry_failed`, `stored_only`, `imported` and
    `exported`: those of :func:`opened_store` and `stored_only`.
    """
    for decorate in reversed(
        [
            click.option(
                "--import",
                "imported",
                type=click.Path(exists=True, dir_okay=False, path_type=Path),
                help="Results exported elsewhere, to resume from.",
            ),
            click.option(
                "--export",
                "exported",
                type=click.Path(dir_okay=False, path_type=Path),
                help="CSV file for all results in the store, to resume elsewhere.",
            ),
            click.option(
                "--retry-failed", is_flag=True, help="Give failed tasks new attempts."
            ),
            click.option(
                "--stored-only",
                is_flag=True,
                help="Run nothing: write what the stored results give.",
            ),
        ]
    ):
        command = decorate(command)
    return command


@contextlib.contextmanager
def opened_store(
    path: Path, *, imported: Path | None, exported: Path | None, retry_failed: bool
) -> Iterator[Store]:
    """Yield the store of a sweep as :func:`sweep_options` ask for it.

    Results are exported also after an error or Ctrl-C.
    """
    from betanll.sweeps import Store

    with Store(path) as store:
        if imported is not None:
            click.echo(f"{store.import_csv(imported)} new results from {imported}")
        if retry_failed:
            store.forget_failures()
        try:
            yield store
        finally:
            if exported is not None:
                store.export_csv(exported)


def run_and_tell(tasks: Sequence[Task], store: Store, **options: Any) -> SweepReport:
    """Run tasks and say how many were done, and why others were given up.

    Parameters
    ----------
    tasks, store, **options
        As in :func:`betanll.sweeps.run_sweep`.
    """
    from betanll.sweeps import run_sweep

    try:
        report = run_sweep(tasks, store, **options)
    except KeyboardInterrupt:
        n_done = sum(map(store.is_done, tasks))
        click.echo(
            f"\nStopped with {n_done} of {len(tasks)} results stored in {store.path}. "
            "To resume, run the same command again.",
            err=True,
        )
        raise
    if report.n_given_up:
        _tell_of_failures(tasks, store, report.n_given_up)
    click.echo(
        f"{report.n_done} tasks in {report.seconds:.0f} s; "
        f"{report.n_before} had results before."
    )
    return report


def _tell_of_failures(tasks: Sequence[Task], store: Store, n_given_up: int) -> None:
    """Name tasks without a result, each with its last error."""
    missing = {task.key for task in tasks if not store.is_done(task)}
    last = {task: text for task, text in store.failures() if task.key in missing}
    click.echo(f"{n_given_up} tasks were given up after three attempts:", err=True)
    for task, text in list(last.items())[:MAX_TOLD]:
        reason = text.strip().rpartition("\n")[2]
        settings = ", ".join(f"{name} {value}" for name, value in task.settings)
        click.echo(f"  {shortened(f'{settings}: {reason}')}", err=True)
    if len(last) > MAX_TOLD:
        click.echo(f"  and {len(last) - MAX_TOLD} more", err=True)
