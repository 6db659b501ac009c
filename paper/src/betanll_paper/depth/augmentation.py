"""From pairs to tensors, with random changes for training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset

from betanll_paper.depth.pairs import Pair, Pairs

#: Left, top, right and bottom of the part of a 640 x 480 image inside its border.
BORDER_CROP = (43, 45, 608, 472)

_CAMERA_SIZE = (640, 480)
_CROPPED_SIZE = (BORDER_CROP[2] - BORDER_CROP[0], BORDER_CROP[3] - BORDER_CROP[1])

_IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_IMAGENET_STD = np.array([0.229, 0.224, 0.225], np.float32)

_FLIP_PROBABILITY = 0.5
_JITTER_PROBABILITY = 0.5
_GAMMA = (0.9, 1.1)
_BRIGHTNESS = (0.75, 1.25)
_COLOUR = (0.9, 1.1)

_Values = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Augmentation:
    """Random changes of training pairs (Bhat et al. 2021).

    It removes the border (:func:`remove_border`), then rotates, crops at a random place
    and, half of the time, mirrors image and depth. Half of the time it also changes
    gamma, brightness and the three colours of the image. Finally it normalises the
    image as :func:`to_tensors` does.

    Depths are never interpolated. Pixels rotated in from outside are black and have no
    depth.

    Parameters
    ----------
    crop_size : tuple of int, default=(416, 544)
        Height and width.
    max_degrees : float, default=2.5
        Largest angle of rotation, to either side.
    remove_border : bool, default=True

    Examples
    --------
    >>> pair = Pair(np.zeros((480, 640, 3), np.uint8), np.ones((480, 640), np.float32))
    >>> image, depth = Augmentation()(pair, np.random.default_rng(0))
    >>> image.shape, depth.shape
    (torch.Size([3, 416, 544]), torch.Size([1, 416, 544]))
    """

    crop_size: tuple[int, int] = (416, 544)
    max_degrees: float = 2.5
    remove_border: bool = True

    def __post_init__(self) -> None:
        if min(self.crop_size) < 1:
            raise ValueError(f"crop_size must be positive, got {self.crop_size}")
        if not 0 <= self.max_degrees <= 180:
            raise ValueError(
                f"max_degrees must lie between 0 and 180, got {self.max_degrees}"
            )

    def __call__(
        self, pair: Pair, rng: np.random.Generator, name: str = "the image"
    ) -> tuple[Tensor, Tensor]:
        """Return a changed image ``(3, h, w)`` and its depth ``(1, h, w)``.

        A ``ValueError`` with the name of the image says that it is too small to crop.
        """
        _check(pair, name)
        if self.remove_border:
            pair = remove_border(pair, name)
        height, width = self.crop_size
        rows, columns = pair.depth.shape
        if rows < height or columns < width:
            raise ValueError(
                f"{name} has {columns} x {rows} pixels, too few to crop "
                f"{width} x {height}"
            )
        pair = _rotated(pair, rng.uniform(-self.max_degrees, self.max_degrees))
        top = int(rng.integers(rows - height, endpoint=True))
        left = int(rng.integers(columns - width, endpoint=True))
        pair = _cropped(pair, left, top, left + width, top + height)
        if rng.random() < _FLIP_PROBABILITY:
            pair = Pair(pair.image[:, ::-1], pair.depth[:, ::-1])
        image = _between_0_and_1(pair.image)
        if rng.random() < _JITTER_PROBABILITY:
            image = _jittered(image, rng)
        return _normalised(image), _depth_tensor(pair.depth)


class AugmentedImages(Dataset[tuple[Tensor, Tensor]]):
    """Tensors of pairs by epoch and index, perhaps augmented.

    The changes depend on seed, epoch and index alone, not on the images before or on
    the process that makes them.
    """

    def __init__(
        self, pairs: Pairs, augmentation: Augmentation | None, seed: int
    ) -> None:
        self.pairs = pairs
        self.augmentation = augmentation
        self.seed = seed

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, key: tuple[int, int]) -> tuple[Tensor, Tensor]:
        epoch, index = key
        pair = self.pairs[index]
        if self.augmentation is None:
            return to_tensors(pair, self.pairs.name(index))
        rng = np.random.default_rng([self.seed, epoch, index])
        return self.augmentation(pair, rng, self.pairs.name(index))


def to_tensors(pair: Pair, name: str = "the image") -> tuple[Tensor, Tensor]:
    """Return the image ``(3, h, w)``, normalised, and the depth ``(1, h, w)``.

    Colours are scaled to [0, 1] and standardised by ImageNet's means and standard
    deviations. Both tensors are copies in single precision. A ``ValueError`` with the
    name of the image says that image and depth do not fit together.

    Examples
    --------
    >>> pair = Pair(np.zeros((2, 5, 3), np.uint8), np.ones((2, 5), np.float32))
    >>> image, depth = to_tensors(pair)
    >>> image.shape, depth.shape
    (torch.Size([3, 2, 5]), torch.Size([1, 2, 5]))
    >>> image[:, 0, 0]
    tensor([-2.1179, -2.0357, -1.8044])
    """
    _check(pair, name)
    return _normalised(_between_0_and_1(pair.image)), _depth_tensor(pair.depth)


def remove_border(pair: Pair, name: str) -> Pair:
    """Return the part of a pair in which image and depth overlap.

    Images of NYU Depth V2, 640 x 480, have a white frame. A pair of 565 x 427, the size
    of the part, is returned as it is; other sizes raise a ``ValueError``.
    """
    rows, columns = pair.depth.shape
    if (columns, rows) == _CROPPED_SIZE:
        return pair
    if (columns, rows) != _CAMERA_SIZE:
        raise ValueError(
            f"{name} has {columns} x {rows} pixels, but the border is known "
            "for 640 x 480 alone"
        )
    return _cropped(pair, *BORDER_CROP)


def _check(pair: Pair, name: str) -> None:
    image, depth = pair
    if depth.ndim != 2 or image.shape != (*depth.shape, 3) or image.dtype != np.uint8:
        raise ValueError(
            f"{name} must be bytes of shape (height, width, 3) with a depth of shape "
            f"(height, width), got {image.dtype} of shape {image.shape} and "
            f"{depth.shape}"
        )


def _cropped(pair: Pair, left: int, top: int, right: int, bottom: int) -> Pair:
    return Pair(pair.image[top:bottom, left:right], pair.depth[top:bottom, left:right])


def _rotated(pair: Pair, degrees: float) -> Pair:
    """Return image and depth rotated about their centre, with unchanged size."""
    image = Image.fromarray(pair.image).rotate(degrees, Image.Resampling.BILINEAR)
    # Interpolation would invent depths, at edges and beside missing pixels.
    depth = Image.fromarray(np.asarray(pair.depth, np.float32)).rotate(
        degrees, Image.Resampling.NEAREST
    )
    return Pair(np.asarray(image), np.asarray(depth))


def _between_0_and_1(image: npt.NDArray[np.uint8]) -> _Values:
    return image.astype(np.float32) / np.float32(255)


def _jittered(image: _Values, rng: np.random.Generator) -> _Values:
    gamma, brightness = rng.uniform(*_GAMMA), rng.uniform(*_BRIGHTNESS)
    factors = brightness * rng.uniform(*_COLOUR, size=3)
    changed = image ** np.float32(gamma) * factors.astype(np.float32)
    return np.clip(changed, 0, 1)


def _normalised(image: _Values) -> Tensor:
    channels_last = (image - _IMAGENET_MEAN) / _IMAGENET_STD
    return torch.from_numpy(np.ascontiguousarray(channels_last.transpose(2, 0, 1)))


def _depth_tensor(depth: npt.NDArray[np.float32]) -> Tensor:
    # A copy: PyTorch refuses the negative strides of a mirrored array.
    return torch.from_numpy(np.array(depth[None], np.float32, order="C"))
