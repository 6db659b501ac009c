"""Variational autoencoders whose decoders predict a distribution for every pixel."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from betanll.sweeps import Request, Results, Task
from betanll_paper.experiment import PaperExperiment, Rows, methods_among, methods_or
from betanll_paper.published.autoencoders import DATASETS, ROWS, SELECTED
from betanll_paper.published.methods import Method

if TYPE_CHECKING:
    from betanll_paper.autoencoders.model import VAE, CollapseWarning
    from betanll_paper.autoencoders.network import (
        Autoencoder,
        Reconstruction,
        WithNoise,
    )
    from betanll_paper.autoencoders.objective import Autoencoding
    from betanll_paper.autoencoders.predictions import COLLAPSE_RATIO, Evaluation

__all__ = [
    "COLLAPSE_RATIO",
    "VAE",
    "Autoencoder",
    "Autoencoding",
    "CollapseWarning",
    "Evaluation",
    "Reconstruction",
    "WithNoise",
]
#: Modules that have these names, which load on first use.
_MODULES = ("model", "network", "objective", "predictions")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = (importlib.import_module(f"{__name__}.{module}") for module in _MODULES)
    return next(vars(module)[name] for module in modules if name in vars(module))


def _load(name: str) -> Any:
    from betanll_paper.datasets import load_images

    return load_images(name)


class AutoencoderModels(PaperExperiment):
    """Tables S3 and 3 and figure S5, from the same runs."""

    name = "autoencoders"
    artefacts: ClassVar[Mapping[str, str]] = {
        "tableS3": "Log-likelihood and RMSE of autoencoders, all methods.",
        "table3-vae": "Log-likelihood and RMSE of autoencoders, a selection.",
        "figS5": "Images, their reconstructions, and generated images.",
    }
    datasets: ClassVar[Mapping[str, Callable[[], Any]]] = {
        name: partial(_load, name) for name in DATASETS
    }

    def tasks_of(self, artefact: str, request: Request, results: Results) -> list[Task]:
        from betanll_paper.autoencoders.protocol import AVERAGED, PRESETS, vae_tasks

        methods: tuple[Method, ...] = tuple(m for m in SELECTED if m.name == "beta-nll")
        if artefact == "tableS3":
            methods = methods_or(request, (*ROWS, AVERAGED))
        elif artefact == "table3-vae":
            methods = methods_among(request, artefact, SELECTED)
        preset = PRESETS[request.preset]
        return vae_tasks(preset, methods=methods, datasets=request.datasets)

    def shown_tasks(
        self, artefact: str, request: Request, results: Results
    ) -> list[Task]:
        # The figure needs three methods, and shows all that have results.
        all_methods = "tableS3" if artefact == "figS5" else artefact
        return self.tasks_of(all_methods, request, results)

    def files(self, artefact: str, rows: Rows, request: Request) -> dict[str, bytes]:
        from betanll_paper.autoencoders.figures import figS5
        from betanll_paper.autoencoders.tables import TABLES, table_files
        from betanll_paper.drawing.marks import figure_files

        if artefact in TABLES:
            return table_files(artefact, rows, request.preset)
        return figure_files(artefact, figS5, rows, request.preset)
