"""The UCI regression sets: tables 1, S1 and S2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from betanll.sweeps import Request, Results, Task
from betanll_paper.experiment import PaperExperiment, Rows, methods_or
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

    def tasks_of(self, artefact: str, request: Request, results: Results) -> list[Task]:
        from betanll_paper.uci.protocol import uci_tasks

        methods = methods_or(request, METHODS)
        return uci_tasks(request.preset, methods=methods, datasets=request.datasets)

    def files(self, artefact: str, rows: Rows, request: Request) -> dict[str, bytes]:
        import pandas as pd

        from betanll_paper.comparison.tables import table_csv
        from betanll_paper.drawing.marks import NothingToDraw
        from betanll_paper.uci.tables import compare_uci, table_files

        if not rows:
            raise NothingToDraw("no task has a result")
        tables = table_files(artefact, compare_uci(rows), request.preset)
        return {"runs.csv": table_csv(pd.DataFrame(rows)), **tables}
