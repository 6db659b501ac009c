"""Which trainings the tables and figures of the dynamics models need."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from betanll.experiments._dynamics import CONTROL, final_tasks, search_tasks
from betanll.experiments._paper import METHODS, Method
from betanll.experiments._paper_dynamics import DATASETS, FETCH, OBJECT_SLIDE
from betanll.sweeps import Store, Task

_NLL, _HALF, _MSE = Method("beta-nll", 0.0), Method("beta-nll", 0.5), Method("mse")


class _Need(NamedTuple):
    """Trainings behind an artefact: those of the grid, and perhaps tested ones."""

    datasets: tuple[str, ...] = DATASETS
    methods: tuple[Method, ...] | None = None
    is_tested: bool = True


NEEDS = {
    "table2": _Need(),
    "tableS7": _Need(is_tested=False),
    "fig6": _Need((OBJECT_SLIDE,), (_NLL, _MSE, _HALF)),
    "fig9": _Need(is_tested=False),
    "figS4": _Need((FETCH,), (_NLL, _MSE)),
}


def dynamics_search_tasks(
    artefacts: Iterable[str],
    preset: str,
    *,
    methods: Sequence[Method] = (*METHODS, CONTROL),
    datasets: Sequence[str] = DATASETS,
) -> list[Task]:
    """Return the trainings of the grid behind artefacts, each once.

    Parameters
    ----------
    artefacts : iterable of str
        Among ``table2 tableS7 fig6 fig9 figS4``.
    preset : {"smoke", "laptop", "paper"}
    methods, datasets : sequences
        What tables and figure 9 are restricted to; a figure of certain methods has
        those in any case.

    Examples
    --------
    >>> len(dynamics_search_tasks(["fig6"], "paper"))
    288
    """
    tasks = []
    for name in artefacts:
        need = NEEDS[name]
        tasks += search_tasks(
            preset,
            methods=need.methods or methods,
            datasets=[dataset for dataset in need.datasets if dataset in datasets],
        )
    return list(dict.fromkeys(tasks))


def dynamics_final_tasks(
    artefacts: Iterable[str], preset: str, store: Store, **restriction: Any
) -> list[Task]:
    """Return the trainings to be tested, by what the search has found.

    A method whose grid is not complete yet is left out: its best configuration could
    still change.
    """
    tasks = []
    done = store.done()
    for name in artefacts:
        if not NEEDS[name].is_tested:
            continue
        grids: dict[tuple[Any, ...], list[Task]] = {}
        for task in dynamics_search_tasks([name], preset, **restriction):
            settings = dict(task.settings)
            key = settings["dataset"], settings["method"], settings["beta"]
            grids.setdefault(key, []).append(task)
        for grid in grids.values():
            if all(task.key in done for task in grid):
                tasks += final_tasks(preset, store.rows(grid))
    return list(dict.fromkeys(tasks))


def write_dynamics(
    store: Store,
    folder: str | os.PathLike[str],
    artefacts: Sequence[str],
    *,
    preset: str,
    **restriction: Any,
) -> list[Path]:
    """Write tables and figures of the dynamics models from stored results.

    Raises
    ------
    ValueError
        If a table or figure lacks results, or a training that it shows diverged; the
        others are written.
    """
    from betanll.experiments import _dynamics_figures
    from betanll.experiments._drawing import NothingToDraw
    from betanll.experiments._dynamics_tables import TABLES, table_files
    from betanll.experiments._figures import drawn_files, write_files

    contents: dict[str, bytes] = {}
    failures = []
    for name in artefacts:
        tasks = dynamics_search_tasks([name], preset, **restriction)
        tasks += dynamics_final_tasks([name], preset, store, **restriction)
        rows = store.rows(tasks)
        try:
            if name in TABLES:
                contents |= table_files(name, rows, preset)
            else:
                draw = partial(getattr(_dynamics_figures, name), rows, preset)
                contents |= drawn_files(name, draw)
        except NothingToDraw as error:
            failures.append(f"{name} cannot be written: {error}")
    paths = write_files(folder, contents)
    if failures:
        raise ValueError("; ".join(failures))
    return paths
