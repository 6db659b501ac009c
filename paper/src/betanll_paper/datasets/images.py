"""The image sets of the paper."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from betanll.typing import Rows
from betanll_paper.datasets.directory import DataError, data_directory, unknown_set
from betanll_paper.datasets.idx import read_idx
from betanll_paper.datasets.images_facts import (
    IMAGE_FACTS,
    IMAGE_NAMES,
    IdxFile,
    ImageFacts,
)

Bytes = npt.NDArray[np.uint8]

# Of the authors' code, which draws with the legacy generator.
_SPLIT_SEED = 45


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Grey images with the number of their class, in the order of the original files.

    Pixels are bytes from 0 to 255, a quarter of what single precision takes. Divide by
    ``np.float32(255)`` where they are wanted in [0, 1].

    Parameters
    ----------
    name : str
        One of ``IMAGE_NAMES``.
    train_images, test_images : array of uint8, shape (n_images, height, width)
    train_labels, test_labels : array of uint8, shape (n_images,)

    Examples
    --------
    >>> import numpy as np
    >>> images, labels = np.zeros((10, 28, 28), np.uint8), np.arange(10, dtype=np.uint8)
    >>> ten = ImageSet("ten", images, labels, images, labels)
    >>> train, validation = ten.split()
    >>> pixels = ten.train_images[train].reshape(-1, 28 * 28) / np.float32(255)
    >>> pixels.shape, pixels.dtype
    ((8, 784), dtype('float32'))
    """

    name: str
    train_images: Bytes = field(repr=False)
    train_labels: Bytes = field(repr=False)
    test_images: Bytes = field(repr=False)
    test_labels: Bytes = field(repr=False)

    def split(self) -> tuple[Rows, Rows]:
        """Return numbers of the training images to train on and to validate on.

        These are the authors' 48 000 and 12 000, in their order: the same ones at each
        call and for both sets.
        """
        n_images = len(self.train_images)
        order = np.random.RandomState(_SPLIT_SEED).permutation(n_images)
        n_train = n_images * 4 // 5
        return order[:n_train], order[n_train:]


def image_facts(name: str) -> ImageFacts:
    """Return the facts of a set, or say which sets there are."""
    if name not in IMAGE_FACTS:
        raise unknown_set("image set", name, IMAGE_NAMES)
    return IMAGE_FACTS[name]


def image_files(name: str, folder: Path) -> dict[IdxFile, Path]:
    """Return the paths of the four files of a set, each of which may be unpacked."""
    return {file: _path(folder / name, file) for file in image_facts(name).files}


def load_images(name: str, data_dir: str | os.PathLike[str] | None = None) -> ImageSet:
    """Load MNIST or Fashion-MNIST.

    The four files, ``train-images-idx3-ubyte.gz`` and so on, are in the folder `name`
    of the data, compressed or unpacked (without ``.gz``). They come from ``betanll data
    download``; nothing is downloaded here. Their content is compared with the published
    checksums, because several sets go by these file names and shapes.

    Parameters
    ----------
    name : str
        One of ``IMAGE_NAMES``.
    data_dir : path, optional
        Folder of the data, see :func:`data_directory`.

    Returns
    -------
    ImageSet

    Raises
    ------
    DataError
        Where the set is unknown, missing or damaged.

    Examples
    --------
    >>> mnist = load_images("mnist")  # doctest: +SKIP
    >>> mnist.train_images.shape, mnist.test_images.shape  # doctest: +SKIP
    ((60000, 28, 28), (10000, 28, 28))
    >>> train, validation = mnist.split()  # doctest: +SKIP
    """
    files = image_files(name, data_directory(data_dir))
    for path in files.values():
        if not path.is_file():
            raise DataError(
                f"{path} is missing; 'betanll data download {name}' fetches it and "
                f"$BETANLL_DATA names the folder of the data"
            )
    return ImageSet(name, *(_load(name, *item) for item in files.items()))


def _load(name: str, file: IdxFile, path: Path) -> Bytes:
    try:
        return read_idx(path, file.shape, file.md5)
    except ValueError as error:
        raise DataError(
            f"{path} is damaged ({error}); 'betanll data download {name}' replaces it"
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def _path(folder: Path, file: IdxFile) -> Path:
    packed, unpacked = folder / f"{file.name}.gz", folder / file.name
    return unpacked if unpacked.is_file() and not packed.is_file() else packed
