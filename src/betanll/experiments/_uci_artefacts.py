"""The tables of the UCI benchmark on the command line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from betanll._files import written_atomically
from betanll.datasets import UCI_NAMES, load_uci
from betanll.experiments._family import Family, Request
from betanll.experiments._paper import METHODS
from betanll.experiments._render import write_tables
from betanll.experiments._uci import uci_tasks
from betanll.experiments._uci_runs import read_runs
from betanll.objectives import OBJECTIVES
from betanll.sweeps import Store, Task


class UCITables(Family):
    """Tables 1, S1 and S2, and the file of single runs."""

    artefacts = ("table1", "tableS1", "tableS2")
    datasets = UCI_NAMES
    methods = tuple(OBJECTIVES)

    def check_data(self, request: Request) -> None:
        for name in request.datasets:
            load_uci(name)

    def tasks(self, request: Request) -> list[Task]:
        methods = METHODS if request.methods is None else request.methods
        return uci_tasks(request.preset, methods=methods, datasets=request.datasets)

    def write(self, request: Request, store: Store, folder: Path) -> list[Path]:
        rows = store.rows(self.tasks(request))
        if not rows:
            raise ValueError("no task has a result, so there is no table to write")
        path = folder / "runs.csv"
        with written_atomically(path) as temporary:
            pd.DataFrame(rows).to_csv(temporary, index=False, float_format="%.10g")
        # As they are read again: the tables are those of the file.
        runs = read_runs(path)
        tables = write_tables(runs, folder, request.artefacts, preset=request.preset)
        return [path, *tables]
