"""Scores of predicted depths, by the protocol of Eigen et al. (2014)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from betanll.losses import gaussian_nll
from betanll.torch import at_least_float32
from betanll_paper.depth.augmentation import to_tensors
from betanll_paper.depth.losses import resize
from betanll_paper.depth.network import MAX_DEPTH, MIN_DEPTH
from betanll_paper.depth.pairs import Pair, Pairs

#: Rows and columns of a 480 x 640 image that are scored.
EIGEN_CROP = (slice(45, 471), slice(41, 601))

_CROPPABLE = (480, 640)
_MAX_RATIO = 1.25


class DepthScores(NamedTuple):
    """Scores of one image, or means over images.

    Parameters
    ----------
    delta1, delta2, delta3 : float
        Share of the pixels with an error by a factor below 1.25, 1.25² and 1.25³.
    rel : float
        Mean absolute error relative to the true depth.
    rmse : float
        Root mean squared error, in metres.
    log10 : float
        Mean absolute error of the decimal logarithm.
    log_likelihood : float
        Mean log-density of a pixel; NaN without a variance.
    """

    delta1: float
    delta2: float
    delta3: float
    rel: float
    rmse: float
    log10: float
    log_likelihood: float


def image_scores(
    mean: npt.ArrayLike | Tensor,
    variance: npt.ArrayLike | Tensor | None,
    depth: npt.ArrayLike | Tensor,
    valid: npt.ArrayLike | Tensor,
) -> DepthScores:
    """Return the scores of one image, in double precision.

    Parameters
    ----------
    mean, depth : array or tensor
        Predicted and true depth, positive.
    variance : array or tensor of the same shape, or None
    valid : array or tensor of bool, of the same shape
        The pixels to score, at least one.

    Examples
    --------
    >>> import numpy as np
    >>> depth = np.array([[1.0, 2.0], [4.0, 0.0]])
    >>> scores = image_scores(1.5 * depth, None, depth, depth > 0)
    >>> scores.delta1, scores.delta2, scores.rel
    (0.0, 1.0, 0.5)
    """
    mask = _array(valid).astype(bool)
    predicted, true = _array(mean), _array(depth)
    # A variance of NaN gives a log-likelihood of NaN.
    spread = np.full_like(true, np.nan) if variance is None else _array(variance)
    shapes = {each.shape for each in (predicted, spread, true, mask)}
    if len(shapes) > 1:
        raise ValueError(
            "mean, variance, depth and valid must have one shape, got "
            + ", ".join(map(str, sorted(shapes)))
        )
    if not mask.any():
        raise ValueError("an image needs a valid pixel for its scores, got none")
    predicted, spread, true = predicted[mask], spread[mask], true[mask]
    # The scores show that a network diverged; warnings would add nothing.
    with np.errstate(all="ignore"):
        ratio = np.maximum(true / predicted, predicted / true)
        error = np.abs(true - predicted)
        values = (
            *(np.mean(ratio < _MAX_RATIO**power) for power in (1, 2, 3)),
            np.mean(error / true),
            np.sqrt(np.mean(error**2)),
            np.mean(np.abs(np.log10(true) - np.log10(predicted))),
            -np.mean(gaussian_nll(predicted, spread, true, full=True)),
        )
    return DepthScores(*map(float, values))


def predict(network: nn.Module, image: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return mean and variance of the depth at the resolution of the images.

    Both are averages over an image and its mirror image. The variance does not include
    the difference of the two means.

    Parameters
    ----------
    network : torch.nn.Module
        Maps images to mean and variance or None, at any resolution. It predicts in
        evaluation mode and keeps its mode.
    image : tensor of shape (batch, 3, height, width)
        On any device.

    Returns
    -------
    mean : tensor of shape (batch, 1, height, width)
        Between 0.001 and 10 metres.
    variance : tensor of the same shape, or None
    """
    device = next((each.device for each in network.parameters()), image.device)
    image = image.to(device)
    both = torch.cat([image, image.flip(-1)])
    with torch.no_grad(), _evaluation_mode(network):
        mean, variance = network(both)
        mean = _flip_average(resize(mean, both)).clamp(MIN_DEPTH, MAX_DEPTH)
        if variance is not None:
            variance = _flip_average(resize(variance, both))
    return mean, variance


def evaluate(
    network: nn.Module,
    pairs: Pairs,
    indices: Iterable[int] | None = None,
    *,
    crop: bool = True,
) -> list[DepthScores]:
    """Return the scores of each image.

    It scores pixels with a depth between 0.001 and 10 metres.

    Parameters
    ----------
    network : torch.nn.Module
        As in :func:`predict`.
    pairs : Pairs
    indices : iterable of int, optional
        Indices of the images, all by default. It is consumed while images are scored,
        so it may be a progress bar.
    crop : bool, default=True
        Score pixels inside :data:`EIGEN_CROP` alone, of images of 640 x 480 pixels.

    Raises
    ------
    ValueError
        If an image has another size or no pixel to score.
    """
    scores = []
    for index in range(len(pairs)) if indices is None else indices:
        pair, name = pairs[index], pairs.name(index)
        valid = scored_pixels(pair, name, crop=crop)
        image, _ = to_tensors(pair, name)
        mean, variance = predict(network, image[None])
        spread = None if variance is None else variance[0, 0]
        scores.append(image_scores(mean[0, 0], spread, pair.depth, valid))
    return scores


def mean_scores(scores: Iterable[DepthScores]) -> DepthScores:
    """Return the mean of each score over images, of the RMSE too.

    Examples
    --------
    >>> one, two = (image_scores([x], None, [1.0], [True]) for x in (1.0, 4.0))
    >>> mean_scores([one, two]).rmse
    1.5
    """
    columns = list(zip(*scores, strict=True))
    if not columns:
        raise ValueError("at least one image must be scored, got none")
    return DepthScores(*(math.fsum(each) / len(each) for each in columns))


def scored_pixels(pair: Pair, name: str, *, crop: bool) -> npt.NDArray[np.bool_]:
    """Mark the pixels that :func:`evaluate` scores, or raise its ``ValueError``."""
    depth = pair.depth
    valid = (depth > MIN_DEPTH) & (depth < MAX_DEPTH)
    if crop:
        if depth.shape != _CROPPABLE:
            raise ValueError(
                f"{name} has {' x '.join(map(str, depth.shape[::-1]))} pixels, but the "
                "Eigen crop needs 640 x 480"
            )
        inside = np.zeros_like(valid)
        inside[EIGEN_CROP] = True
        valid &= inside
    if not valid.any():
        raise ValueError(
            f"{name} has no pixel to be scored: no depth"
            f"{' in the Eigen crop' if crop else ''} lies between {MIN_DEPTH} and "
            f"{MAX_DEPTH:g} metres"
        )
    return valid


def _flip_average(both: Tensor) -> Tensor:
    straight, mirrored = both.chunk(2)
    return (straight + mirrored.flip(-1)) / 2


def _array(values: npt.ArrayLike | Tensor) -> npt.NDArray[np.float64]:
    if isinstance(values, Tensor):
        values = at_least_float32(values.detach()).cpu().numpy()
    return np.asarray(values, np.float64)


@contextmanager
def _evaluation_mode(network: nn.Module) -> Iterator[None]:
    # Each module has its own mode: some may be frozen in evaluation mode.
    modes = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
