"""The tables of the UCI benchmark."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

from betanll.sweeps import MissingResultsError, Request, Results, Task
from betanll_paper.experiments.base import PaperExperiment, methods_or
from betanll_paper.published.methods import METHODS
from betanll_paper.published.uci import DATASETS

if TYPE_CHECKING:
    from betanll_paper.comparison.cells import Cell


def _load(name: str) -> Any:
    from betanll_paper.datasets import load_uci

    return load_uci(name)


class UCITables(PaperExperiment):
    """Tables 1, S1 and S2, and the file of single runs."""

    name = "uci"
    artefacts: ClassVar[Mapping[str, str]] = {
        "table1": "Log-likelihood and RMSE on four UCI sets, and ties on all twelve.",
        "tableS1": "Log-likelihood on the UCI sets.",
        "tableS2": "RMSE on the UCI sets.",
    }
    datasets: ClassVar[Mapping[str, Callable[[], Any]]] = {
        name: partial(_load, name) for name in DATASETS
    }

    def tasks(self, request: Request, results: Results) -> list[Task]:
        from betanll_paper.uci.protocol import uci_tasks

        return uci_tasks(
            request.preset,
            methods=methods_or(request, METHODS),
            datasets=request.datasets,
        )

    def files(
        self, artefact: str, results: Results, request: Request
    ) -> Mapping[str, bytes]:
        import pandas as pd

        from betanll_paper.uci.render import table_files

        rows = results.rows(self.tasks(request, results))
        if not rows:
            raise MissingResultsError(
                "no task has a result, so there is no table to write"
            )
        runs = pd.DataFrame(rows).to_csv(
            index=False, float_format="%.10g", lineterminator="\n"
        )
        tables = table_files(artefact, _cells(runs), preset=request.preset)
        return {"runs.csv": runs.encode(), **tables}


@lru_cache(maxsize=1)
def _cells(runs: str) -> list[Cell]:
    """Return the cells that the file of runs gives, once for all tables."""
    from betanll_paper.comparison.cells import compare_with_paper
    from betanll_paper.uci.runs import read_runs

    return compare_with_paper(read_runs(io.StringIO(runs)))
