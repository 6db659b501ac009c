"""Check arrays of images and turn them into rows of pixels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Images = npt.NDArray[Any]
Places = npt.NDArray[np.integer]
Pixels = npt.NDArray[np.float32]

#: Images that are converted at a time.
_BLOCK = 1024
#: Training starts at a standard deviation of one, far too small for larger pixels.
_MAX_USUAL = 10.0


def checked_images(
    X: Any, *, name: str = "X", shape: tuple[int, ...] | None = None
) -> Images:
    """Return images as an array ``(n, ...)``, uncopied if possible.

    A ``ValueError`` says in one sentence what is wrong with `X`. `shape` is the
    required shape of one image.
    """
    try:
        images = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"{name} must be an array of images: {error}") from None
    if images.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got type {images.dtype}")
    expected = "(n, ...)" if shape is None else f"(n, {', '.join(map(str, shape))})"
    if images.ndim < 2 or (shape is not None and images.shape[1:] != shape):
        raise ValueError(f"{name} must have the shape {expected}, got {images.shape}")
    if images.size == 0:
        raise ValueError(f"{name} must hold images with pixels, got {images.shape}")
    for number, block in enumerate(pixel_blocks(images)):
        is_finite = np.isfinite(block).all(axis=1)
        if not is_finite.all():
            place = _BLOCK * number + int(np.argmin(is_finite))
            raise ValueError(
                f"{name} must be finite in single precision, image {place} is not"
            )
    return images


def pixels_of(images: Images) -> Pixels:
    """Return images as rows of pixels; bytes (uint8) are scaled to [0, 1]."""
    with np.errstate(over="ignore"):
        pixels = images.reshape(len(images), -1).astype(np.float32)
    return pixels / np.float32(255) if images.dtype == np.uint8 else pixels


def pixel_blocks(images: Images, order: Places | None = None) -> Iterator[Pixels]:
    """Yield rows of pixels, some images at a time: all, or the images in `order`."""
    n = len(images) if order is None else len(order)
    for first in range(0, n, _BLOCK):
        places: Any = slice(first, min(n, first + _BLOCK))
        yield pixels_of(images[places if order is None else order[places]])


def warn_if_large(images: Images) -> None:
    """Warn of pixel values that look unscaled."""
    largest = max(float(np.abs(block).max()) for block in pixel_blocks(images))
    if largest > _MAX_USUAL:
        warnings.warn(
            f"pixel values reach {largest:g} in size; networks learn best from values "
            "between 0 and 1",
            UserWarning,
            stacklevel=4,  # the caller of fit
        )
