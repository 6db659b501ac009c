"""Depth of every pixel of an image, with its uncertainty.

An encoder-decoder network on EfficientNet, trained with the losses of
:mod:`betanll.torch` on NYU Depth V2, on rooms made up by a program, or on your own
pairs of image and depth::

    rooms = make_rooms(n_scenes=200, n_others=20)
    network, loss = DepthNet(), DepthLoss("beta-nll", beta=0.5)
    train_depth(network, loss, rooms.training, rooms.validation, "run", crop=False)
    image, depth = to_tensors(rooms.test[0])
    mean, variance = predict(network, image[None])
"""

try:
    import PIL as _pillow  # noqa: F401
    import transformers as _transformers  # noqa: F401
except ModuleNotFoundError as error:
    if error.name not in ("PIL", "transformers"):
        raise
    raise ImportError(
        "betanll.torch.depth needs transformers and pillow: "
        'pip install "betanll[depth]"'
    ) from None

from betanll.torch.depth._augmentation import Augmentation, AugmentedImages, to_tensors
from betanll.torch.depth._bts import BTSPairs
from betanll.torch.depth._checkpoint import load_weights
from betanll.torch.depth._data import DepthData, load_nyu, make_rooms
from betanll.torch.depth._evaluation import (
    DepthScores,
    evaluate,
    image_scores,
    mean_scores,
    predict,
)
from betanll.torch.depth._labelled import LabelledPairs
from betanll.torch.depth._losses import DepthLoss
from betanll.torch.depth._network import DepthNet, efficientnet_b5, small_efficientnet
from betanll.torch.depth._pairs import (
    InMemory,
    Pair,
    Pairs,
    Selection,
    split_by_scene,
)
from betanll.torch.depth._scenes import SyntheticScenes
from betanll.torch.depth._settings import TrainingSettings
from betanll.torch.depth._training import TrainingResult, train_depth

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
