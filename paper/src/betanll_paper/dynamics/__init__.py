"""Models of simulated dynamics: tables 2 and S7, figures 6, 9 and S4."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from betanll.sweeps import Request, Results, Task
from betanll_paper.experiment import PaperExperiment, Rows, methods_or
from betanll_paper.published.dynamics import CONTROL, DATASETS, FETCH, OBJECT_SLIDE
from betanll_paper.published.methods import METHODS, Method

_NLL, _HALF, _MSE = Method("nll"), Method("beta-nll:0.5"), Method("mse")


class _Need(NamedTuple):
    """Runs behind an artefact: those of the grid, and perhaps tested ones."""

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


def _object_slide() -> Any:
    from betanll_paper.simulators import object_slide_splits

    return object_slide_splits()


def _fetch() -> Any:
    from betanll_paper.datasets import data_directory
    from betanll_paper.simulators.fetch_files import complete_shards

    return complete_shards(data_directory() / FETCH)


class DynamicsModels(PaperExperiment):
    """A grid search, then runs of the best configuration with further seeds.

    Figures of certain methods ignore the methods of the request.
    """

    name = "dynamics"
    artefacts: ClassVar[Mapping[str, str]] = {
        "table2": "Log-likelihood and RMSE of dynamics models.",
        "tableS7": "The best configuration of each method.",
        "fig6": "Residuals on ObjectSlide.",
        "fig9": "Validation scores of all configurations.",
        "figS4": "Sampling probabilities and residuals on Fetch-PickAndPlace.",
    }
    datasets: ClassVar[Mapping[str, Callable[[], Any]]] = {
        OBJECT_SLIDE: _object_slide,
        FETCH: _fetch,
    }

    def check(self, request: Request) -> None:
        asked = {name: _asked(name, request)[0] for name in request.artefacts}
        for name, datasets in asked.items():
            if not datasets:
                shown = " and ".join(NEEDS[name].datasets)
                raise ValueError(f"{name} shows {shown}, which --dataset leaves out")
        # ObjectSlide is simulated.
        if any(FETCH in datasets for datasets in asked.values()):
            _fetch()

    def tasks(self, request: Request, results: Results) -> list[Task]:
        from betanll_paper.dynamics.protocol import longest_first

        return longest_first(super().tasks(request, results))

    def tasks_of(self, artefact: str, request: Request, results: Results) -> list[Task]:
        """Return the runs of the grids, and the runs to test that are known.

        A method has no run to test before its grid is complete, because its best
        configuration could still change.
        """
        from betanll_paper.dynamics.protocol import final_tasks, search_tasks

        datasets, methods = _asked(artefact, request)
        searched = search_tasks(request.preset, methods=methods, datasets=datasets)
        tested = []
        for dataset, method in itertools.product(datasets, methods):
            if not NEEDS[artefact].is_tested:
                break
            grid = search_tasks(request.preset, methods=[method], datasets=[dataset])
            if all(map(results.is_done, grid)):
                rows = results.rows(grid)
                tested += final_tasks(request.preset, dataset, method, rows)
        return [*searched, *tested]

    def files(self, artefact: str, rows: Rows, request: Request) -> dict[str, bytes]:
        from betanll_paper.drawing.marks import figure_files
        from betanll_paper.dynamics import figures
        from betanll_paper.dynamics.tables import TABLES, table_files

        if artefact in TABLES:
            return table_files(artefact, rows, request.preset)
        draw = getattr(figures, artefact)
        return figure_files(artefact, draw, rows, request.preset)


def _asked(name: str, request: Request) -> tuple[list[str], tuple[Method, ...]]:
    """Return the datasets and methods of an artefact in a request."""
    need = NEEDS[name]
    methods = need.methods or methods_or(request, (*METHODS, CONTROL))
    return [name for name in need.datasets if name in request.datasets], methods
