"""The tables of the UCI benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from betanll.sweeps import MissingResultsError, Request, Results, Task
from betanll_paper.experiments.base import PaperExperiment, methods_or
from betanll_paper.published.methods import METHODS
from betanll_paper.published.uci import DATASETS


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

        from betanll_paper.comparison.tables import table_csv
        from betanll_paper.uci.tables import compare_uci, table_files

        rows = results.rows(self.tasks(request, results))
        if not rows:
            raise MissingResultsError(
                "no task has a result, so there is no table to write"
            )
        tables = table_files(artefact, compare_uci(rows), request.preset)
        return {"runs.csv": table_csv(pd.DataFrame(rows)), **tables}
