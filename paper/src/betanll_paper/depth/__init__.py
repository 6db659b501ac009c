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
from typing import TYPE_CHECKING, Any

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
    importlib.import_module("betanll.torch")  # says what to install
    try:
        importlib.import_module("PIL")
        importlib.import_module("transformers")
    except ModuleNotFoundError as error:
        if error.name not in ("PIL", "transformers"):
            raise
        raise ImportError(
            "betanll_paper.depth needs transformers and pillow: "
            'pip install "betanll-paper[depth]"'
        ) from None
    modules = (importlib.import_module(f"{__name__}.{module}") for module in _MODULES)
    return next(vars(module)[name] for module in modules if name in vars(module))
