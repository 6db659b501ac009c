"""Tables and the figure of the variational autoencoders on the command line."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from betanll.datasets import load_images
from betanll.experiments._family import Family, Request
from betanll.experiments._figures import drawn_files, write_artefacts
from betanll.experiments._paper_vae import DATASETS, ROWS, SELECTED
from betanll.experiments._vae import AVERAGED, PRESETS, vae_tasks
from betanll.objectives import OBJECTIVES
from betanll.sweeps import Store, Task


class Autoencoders(Family):
    """Tables S3 and 3, and figure S5, all of the same trainings."""

    artefacts = ("tableS3", "table3-vae", "figS5")
    datasets = DATASETS
    methods = tuple(OBJECTIVES)

    def check_data(self, request: Request) -> None:
        for name in request.datasets:
            load_images(name)

    def tasks(self, request: Request) -> list[Task]:
        wanted = (self._tasks(name, request) for name in request.artefacts)
        return list(dict.fromkeys(task for tasks in wanted for task in tasks))

    def write(self, request: Request, store: Store, folder: Path) -> list[Path]:
        from betanll.experiments._vae_figures import figS5
        from betanll.experiments._vae_tables import TABLES, table_files

        contents = {}
        for name in request.artefacts:
            rows = store.rows(self._tasks(name, request))
            if name in TABLES:
                contents[name] = partial(table_files, name, rows, request.preset)
            else:
                draw = partial(figS5, rows, request.preset)
                contents[name] = partial(drawn_files, name, draw)
        return write_artefacts(contents, folder)

    def _tasks(self, name: str, request: Request) -> list[Task]:
        methods = tuple(m for m in SELECTED if m.name == "beta-nll")
        if name == "tableS3":
            wanted = request.methods
            methods = (*ROWS, AVERAGED) if wanted is None else tuple(wanted)
        elif name == "table3-vae":
            methods = request.methods_of(name, SELECTED)
        return vae_tasks(
            PRESETS[request.preset], methods=methods, datasets=request.datasets
        )
