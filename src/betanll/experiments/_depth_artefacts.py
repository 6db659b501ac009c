"""Tables and the figure of depth regression on the command line."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from betanll.experiments._depth import (
    NYUV2,
    chosen_preset,
    data_of_run,
    depth_tasks,
    load_data,
    make_network,
)
from betanll.experiments._family import Family, Request
from betanll.experiments._figures import drawn_files, write_artefacts
from betanll.experiments._paper import Method
from betanll.experiments._paper_depth import ROWS, SELECTED, SHOWN
from betanll.sweeps import Store, Task


class DepthModels(Family):
    """Tables S4 and 3, and figure S6, all of the same trainings."""

    artefacts = ("tableS4", "table3-depth", "figS6")
    methods = ("nll", *dict.fromkeys(method.name for method in ROWS))

    def check_data(self, request: Request) -> None:
        from betanll.torch.depth._evaluation import scored_pixels

        preset = chosen_preset(request.preset, data_of_run())
        if preset.data == NYUV2:
            data = load_data(preset)
            for pairs in (data.validation, data.test):
                scored_pixels(pairs[0], pairs.name(0), crop=True)
            # Downloads its weights, once for all workers.
            make_network(preset.encoder, has_variance=True)

    def max_workers(self, request: Request) -> int | None:
        import torch

        is_real = data_of_run() == NYUV2
        return max(1, torch.cuda.device_count()) if is_real else None

    def tasks(self, request: Request) -> list[Task]:
        wanted = (self._tasks(name, request) for name in request.artefacts)
        return list(dict.fromkeys(task for tasks in wanted for task in tasks))

    def write(self, request: Request, store: Store, folder: Path) -> list[Path]:
        from betanll.experiments._depth_figures import figS6
        from betanll.experiments._depth_tables import TABLES, table_files

        contents = {}
        for name in request.artefacts:
            rows = store.rows(self._tasks(name, request))
            shown = rows, request.preset, data_of_run()
            if name in TABLES:
                contents[name] = partial(table_files, name, *shown)
            else:
                contents[name] = partial(drawn_files, name, partial(figS6, *shown))
        return write_artefacts(contents, folder)

    def _tasks(self, name: str, request: Request) -> list[Task]:
        methods: tuple[Method, ...] = SHOWN
        if name == "tableS4":
            methods = ROWS if request.methods is None else tuple(request.methods)
        elif name == "table3-depth":
            methods = request.methods_of(name, SELECTED)
        preset = chosen_preset(request.preset, data_of_run())
        return depth_tasks(preset, methods)
