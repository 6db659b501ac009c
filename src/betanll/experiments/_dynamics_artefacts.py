"""Tables and figures of the dynamics models on the command line."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from betanll.datasets import data_directory
from betanll.experiments._dynamics import (
    CONTROL,
    final_tasks,
    longest_first,
    search_tasks,
)
from betanll.experiments._family import Family, Request
from betanll.experiments._figures import drawn_files, write_artefacts
from betanll.experiments._paper import METHODS, Method
from betanll.experiments._paper_dynamics import DATASETS, FETCH, OBJECT_SLIDE
from betanll.objectives import OBJECTIVES
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


class DynamicsModels(Family):
    """A search in a grid, then the best of it with further seeds.

    A figure of certain methods has those whatever the request is restricted to.
    """

    artefacts = tuple(NEEDS)
    datasets = DATASETS
    methods = tuple(OBJECTIVES)

    def check_data(self, request: Request) -> None:
        from betanll.dynamics._fetch_files import complete_shards

        if any(FETCH in _asked(name, request)[0] for name in request.artefacts):
            complete_shards(data_directory() / FETCH)

    def tasks(self, request: Request) -> list[Task]:
        return _once(
            task
            for name in request.artefacts
            for task in (*_search(name, request), *_final(name, request, None))
        )

    def further_tasks(self, request: Request, store: Store) -> list[Task]:
        return _once(
            task for name in request.artefacts for task in _final(name, request, store)
        )

    def write(self, request: Request, store: Store, folder: Path) -> list[Path]:
        from betanll.experiments import _dynamics_figures
        from betanll.experiments._dynamics_tables import TABLES, table_files

        contents = {}
        for name in request.artefacts:
            tasks = [*_search(name, request), *_final(name, request, store)]
            rows = store.rows(tasks)
            if name in TABLES:
                contents[name] = partial(table_files, name, rows, request.preset)
            else:
                draw = partial(getattr(_dynamics_figures, name), rows, request.preset)
                contents[name] = partial(drawn_files, name, draw)
        return write_artefacts(contents, folder)


def _search(name: str, request: Request) -> list[Task]:
    datasets, methods = _asked(name, request)
    return search_tasks(request.preset, methods=methods, datasets=datasets)


def _final(name: str, request: Request, store: Store | None) -> list[Task]:
    """Return the trainings to be tested; without a store, those that need no search.

    A method whose grid is not complete yet is left out: its best configuration could
    still change.
    """
    if not NEEDS[name].is_tested:
        return []
    done = set() if store is None else store.done()
    tasks = []
    for dataset, method in itertools.product(*_asked(name, request)):
        grid = search_tasks(request.preset, methods=[method], datasets=[dataset])
        if all(task.key in done for task in grid):
            rows = [] if store is None else store.rows(grid)
            tasks += final_tasks(request.preset, dataset, method, rows)
    return tasks


def _asked(name: str, request: Request) -> tuple[list[str], tuple[Method, ...]]:
    """Return the datasets and methods that an artefact has in a request."""
    need = NEEDS[name]
    methods = (*METHODS, CONTROL) if request.methods is None else request.methods
    datasets = [dataset for dataset in need.datasets if dataset in request.datasets]
    return datasets, need.methods or tuple(methods)


def _once(tasks: Iterable[Task]) -> list[Task]:
    """Return each task once, those that take long at the beginning."""
    return longest_first(dict.fromkeys(tasks))
