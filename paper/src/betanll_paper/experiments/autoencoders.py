"""Tables and the figure of the variational autoencoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from betanll.sweeps import Request, Results, Task
from betanll_paper.experiments.base import PaperExperiment, methods_among, methods_or
from betanll_paper.published.autoencoders import DATASETS, ROWS, SELECTED
from betanll_paper.published.methods import Method


def _load(name: str) -> Any:
    from betanll_paper.datasets import load_images

    return load_images(name)


class Autoencoders(PaperExperiment):
    """Tables S3 and 3, and figure S5, all of the same runs."""

    name = "autoencoders"
    artefacts: ClassVar[Mapping[str, str]] = {
        "tableS3": "Log-likelihood and RMSE of autoencoders, all methods.",
        "table3-vae": "Log-likelihood and RMSE of autoencoders, a selection.",
        "figS5": "Images, their reconstructions, and generated images.",
    }
    datasets: ClassVar[Mapping[str, Callable[[], Any]]] = {
        name: partial(_load, name) for name in DATASETS
    }

    def tasks(self, request: Request, results: Results) -> list[Task]:
        wanted = (_tasks(name, request) for name in request.artefacts)
        return list(dict.fromkeys(task for tasks in wanted for task in tasks))

    def files(
        self, artefact: str, results: Results, request: Request
    ) -> Mapping[str, bytes]:
        from betanll_paper.autoencoders.figures import figS5
        from betanll_paper.autoencoders.tables import TABLES, table_files
        from betanll_paper.sine.artefacts import drawn_files

        rows = results.rows(_tasks(artefact, request))
        if artefact in TABLES:
            return table_files(artefact, rows, request.preset)
        return drawn_files(artefact, partial(figS5, rows, request.preset))


def _tasks(name: str, request: Request) -> list[Task]:
    from betanll_paper.autoencoders.protocol import AVERAGED, PRESETS, vae_tasks

    methods: tuple[Method, ...] = tuple(m for m in SELECTED if m.name == "beta-nll")
    if name == "tableS3":
        methods = methods_or(request, (*ROWS, AVERAGED))
    elif name == "table3-vae":
        methods = methods_among(request, name, SELECTED)
    return vae_tasks(
        PRESETS[request.preset], methods=methods, datasets=request.datasets
    )
