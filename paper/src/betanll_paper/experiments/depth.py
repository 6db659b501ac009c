"""Tables and the figure of depth regression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

from betanll.sweeps import Request, Results, Task
from betanll_paper.experiments.base import PaperExperiment, methods_among, methods_or
from betanll_paper.published.depth import ROWS, SELECTED, SHOWN
from betanll_paper.published.methods import Method

#: Name of the setting that says where photographs are.
_NYU = "nyu-dir"


class DepthModels(PaperExperiment):
    """Tables S4 and 3, and figure S6, all of the same runs."""

    name = "depth"
    artefacts: ClassVar[Mapping[str, str]] = {
        "tableS4": "Errors of depth regression, all methods.",
        "table3-depth": "Errors of depth regression, a selection.",
        "figS6": "Images, their depth and predicted std.",
    }
    settings = (_NYU,)

    def method_names(self) -> tuple[str, ...]:
        return ("nll", *dict.fromkeys(method.name for method in ROWS))

    def check(self, request: Request) -> None:
        import betanll.torch  # noqa: F401, says what to install
        from betanll_paper.depth.evaluation import scored_pixels
        from betanll_paper.depth.protocol import (
            NYUV2,
            chosen_preset,
            load_data,
            make_network,
        )

        preset = chosen_preset(request.preset, _data(request))
        if preset.data == NYUV2:
            data = load_data(preset)
            for pairs in (data.validation, data.test):
                scored_pixels(pairs[0], pairs.name(0), crop=True)
            # Downloads its weights, once for all workers.
            make_network(preset.encoder, has_variance=True)

    def environment(self, request: Request) -> Mapping[str, str]:
        from betanll_paper.depth.protocol import NYU_VARIABLE, RUNS_VARIABLE

        photographs = request.settings.get(_NYU)
        return {
            NYU_VARIABLE: str(Path(photographs).resolve()) if photographs else "",
            RUNS_VARIABLE: str((request.folder / "depth-runs").resolve()),
        }

    def max_workers(self, request: Request) -> int | None:
        if _NYU not in request.settings:
            return None
        import torch

        return max(1, torch.cuda.device_count())

    def tasks(self, request: Request, results: Results) -> list[Task]:
        wanted = (_tasks(name, request) for name in request.artefacts)
        return list(dict.fromkeys(task for tasks in wanted for task in tasks))

    def files(
        self, artefact: str, results: Results, request: Request
    ) -> Mapping[str, bytes]:
        from betanll_paper.depth.figures import figS6
        from betanll_paper.depth.tables import TABLES, table_files
        from betanll_paper.sine.artefacts import drawn_files

        rows = results.rows(_tasks(artefact, request))
        shown = rows, request.preset, _data(request)
        if artefact in TABLES:
            return table_files(artefact, *shown)
        return drawn_files(artefact, partial(figS6, *shown))


def _data(request: Request) -> str:
    """Return what is trained on: photographs if it is known where they are."""
    from betanll_paper.depth.protocol import NYUV2, SYNTHETIC

    return NYUV2 if _NYU in request.settings else SYNTHETIC


def _tasks(name: str, request: Request) -> list[Task]:
    from betanll_paper.depth.protocol import chosen_preset, depth_tasks

    methods: tuple[Method, ...] = SHOWN
    if name == "tableS4":
        methods = methods_or(request, ROWS)
    elif name == "table3-depth":
        methods = methods_among(request, name, SELECTED)
    return depth_tasks(chosen_preset(request.preset, _data(request)), methods)
