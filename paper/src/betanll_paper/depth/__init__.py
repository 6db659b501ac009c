"""Depth of every pixel of an image, with its uncertainty.

An encoder-decoder network on EfficientNet, trained with the losses of
:mod:`betanll.torch` on NYU Depth V2, on synthetic rooms, or on your own pairs of image
and depth::

    rooms = make_rooms(n_scenes=200, n_others=20)
    network, loss = DepthNet(), DepthLoss("beta-nll", beta=0.5)
    train_depth(network, loss, rooms.training, rooms.validation, "run", crop=False)
    image, depth = to_tensors(rooms.test[0])
    mean, variance = predict(network, image[None])

The names load on first use, so that pages of stored results need neither PyTorch nor
transformers.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from betanll.sweeps import Request, Results, Task
from betanll_paper.depth.extras import require_extras
from betanll_paper.experiment import PaperExperiment, Rows, methods_among, methods_or
from betanll_paper.published.depth import ROWS, SELECTED, SHOWN
from betanll_paper.published.methods import Method

if TYPE_CHECKING:
    from betanll_paper.depth.augmentation import (
        Augmentation,
        AugmentedImages,
        to_tensors,
    )
    from betanll_paper.depth.checkpoint import load_weights
    from betanll_paper.depth.evaluation import (
        DepthScores,
        evaluate,
        image_scores,
        mean_scores,
        predict,
    )
    from betanll_paper.depth.labelled import LabelledPairs
    from betanll_paper.depth.losses import DepthLoss
    from betanll_paper.depth.network import (
        DepthNet,
        efficientnet_b5,
        small_efficientnet,
    )
    from betanll_paper.depth.nyu import BTSPairs, load_nyu
    from betanll_paper.depth.pairs import (
        DepthData,
        InMemory,
        Pair,
        Pairs,
        Selection,
        split_by_scene,
    )
    from betanll_paper.depth.rooms.scenes import SyntheticScenes, make_rooms
    from betanll_paper.depth.settings import TrainingSettings
    from betanll_paper.depth.training import TrainingResult, train_depth

__all__ = [
    "Augmentation",
    "AugmentedImages",
    "BTSPairs",
    "DepthData",
    "DepthLoss",
    "DepthNet",
    "DepthScores",
    "InMemory",
    "LabelledPairs",
    "Pair",
    "Pairs",
    "Selection",
    "SyntheticScenes",
    "TrainingResult",
    "TrainingSettings",
    "efficientnet_b5",
    "evaluate",
    "image_scores",
    "load_nyu",
    "load_weights",
    "make_rooms",
    "mean_scores",
    "predict",
    "small_efficientnet",
    "split_by_scene",
    "to_tensors",
    "train_depth",
]


#: Modules that have these names.
_MODULES = (
    *("augmentation", "checkpoint", "evaluation", "labelled", "losses", "network"),
    *("nyu", "pairs", "rooms.scenes", "settings", "training"),
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_extras()
    modules = (importlib.import_module(f"{__name__}.{module}") for module in _MODULES)
    return next(vars(module)[name] for module in modules if name in vars(module))


#: Name of the setting for the folder of photographs.
_NYU = "nyu-dir"


class DepthModels(PaperExperiment):
    """Tables S4 and 3 and figure S6, from the same runs."""

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
        require_extras()
        from betanll_paper.depth.evaluation import scored_pixels
        from betanll_paper.depth.protocol import (
            NYUV2,
            chosen_preset,
            load_data,
            make_network,
            settings_of,
        )

        settings = settings_of(chosen_preset(request.preset, _data(request)))
        if settings["data"] == NYUV2:
            data = load_data(settings)
            for pairs in (data.validation, data.test):
                scored_pixels(pairs[0], pairs.name(0), crop=True)
            # Downloads its weights, once for all workers.
            make_network(settings["encoder"], has_variance=True)

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

    def tasks_of(self, artefact: str, request: Request, results: Results) -> list[Task]:
        from betanll_paper.depth.protocol import chosen_preset, depth_tasks

        methods: tuple[Method, ...] = SHOWN
        if artefact == "tableS4":
            methods = methods_or(request, ROWS)
        elif artefact == "table3-depth":
            methods = methods_among(request, artefact, SELECTED)
        return depth_tasks(chosen_preset(request.preset, _data(request)), methods)

    def files(self, artefact: str, rows: Rows, request: Request) -> dict[str, bytes]:
        from betanll_paper.depth.figures import figS6
        from betanll_paper.depth.tables import TABLES, table_files
        from betanll_paper.drawing.marks import figure_files

        shown = rows, request.preset, _data(request)
        if artefact in TABLES:
            return table_files(artefact, *shown)
        return figure_files(artefact, figS6, *shown)


def _data(request: Request) -> str:
    """Return the kind of data: photographs if their folder is given."""
    from betanll_paper.depth.protocol import NYUV2, SYNTHETIC

    return NYUV2 if _NYU in request.settings else SYNTHETIC
