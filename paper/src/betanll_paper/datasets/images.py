"""The image sets of the paper: facts, files on the disk, and their download."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from betanll.files import check_writable
from betanll.typing import Rows
from betanll_paper.datasets.directory import (
    DataError,
    data_directory,
    remove_if_empty,
    unknown_set,
)
from betanll_paper.datasets.download import (
    TIMEOUT,
    RemoteFile,
    download_files,
    raw_folder,
)
from betanll_paper.datasets.idx import read_idx

Bytes = npt.NDArray[np.uint8]

# Of the authors' code, which draws with the legacy generator.
_SPLIT_SEED = 45


class IdxFile(NamedTuple):
    """What is known of a file before it is there."""

    #: Without the suffix ``.gz``.
    name: str
    shape: tuple[int, ...]
    #: Of the content as it is when unpacked: copies are packed in different ways.
    md5: str

    @property
    def max_bytes(self) -> int:
        """A bound on the size of a copy: packing adds little where it saves nothing."""
        return math.ceil(1.001 * math.prod(self.shape)) + 1024


class ImageFacts(NamedTuple):
    """What is known of a set before its files are there."""

    #: Address of the folder of the files.
    url: str
    train_images: IdxFile
    train_labels: IdxFile
    test_images: IdxFile
    test_labels: IdxFile

    @property
    def files(self) -> tuple[IdxFile, IdxFile, IdxFile, IdxFile]:
        return self[1:]


def _published(url: str, *md5: str) -> ImageFacts:
    """Return the facts of a set with the file names and shapes of MNIST."""
    train_images, train_labels, test_images, test_labels = md5
    return ImageFacts(
        url,
        IdxFile("train-images-idx3-ubyte", (60_000, 28, 28), train_images),
        IdxFile("train-labels-idx1-ubyte", (60_000,), train_labels),
        IdxFile("t10k-images-idx3-ubyte", (10_000, 28, 28), test_images),
        IdxFile("t10k-labels-idx1-ubyte", (10_000,), test_labels),
    )


IMAGE_FACTS = {
    "mnist": _published(
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "6bbc9ace898e44ae57da46a324031adb",
        "a25bea736e30d166cdddb491f175f624",
        "2646ac647ad5339dbf082846283269ea",
        "27ae3e4e09519cfbb04c329615203637",
    ),
    "fashion-mnist": _published(
        "https://fashion-mnist.s3.eu-central-1.amazonaws.com",
        "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "9018921c3c673c538a1fc5bad174d6f9",
        "8181f5470baa50b63fa0f6fddb340f0a",
        "15d484375f8d13e6eb1aabb0c3f46965",
    ),
}

#: Names of the image sets, as in the paper's code.
IMAGE_NAMES = tuple(IMAGE_FACTS)


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


def download_images(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    base_url: str | None = None,
    timeout: float = TIMEOUT,
    progress: Callable[[int, int], None] | None = None,
) -> ImageSet:
    """Download what is missing of an image set, and load it.

    What the files contain is compared with checksums; how they are compressed is up to
    the server. After a failure or an interruption another call downloads only
    what is missing.

    Parameters
    ----------
    name : str
        One of ``IMAGE_NAMES``.
    data_dir : path, optional
        Folder of the data, see :func:`data_directory`.
    base_url : str, optional
        Address of another folder with the four files.
    timeout : float, default=30
        Seconds for which the server may be silent before the next attempt.
    progress : callable, optional
        Called with a number of files that are complete and of bytes that have arrived
        since the last call, one of them zero.

    Returns
    -------
    ImageSet

    Examples
    --------
    >>> mnist = download_images("mnist")  # doctest: +SKIP
    """
    facts = image_facts(name)
    folder = data_directory(data_dir)
    with contextlib.suppress(DataError):
        return load_images(name, folder)
    check_writable(folder / name)
    files = []
    for file, path in image_files(name, folder).items():
        is_right = functools.partial(_is_published, file)
        if path.is_file() and not is_right(path):
            path = path.with_name(f"{file.name}.gz")
        files.append(
            RemoteFile(f"{file.name}.gz", path, file.max_bytes, None, is_right)
        )
    try:
        with raw_folder(folder, name) as raw:
            (folder / name).mkdir(parents=True, exist_ok=True)
            download_files(
                base_url or facts.url, raw, files, timeout=timeout, progress=progress
            )
    finally:
        remove_if_empty(folder / name)
    return load_images(name, folder)


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


def _is_published(file: IdxFile, path: Path) -> bool:
    try:
        read_idx(path, file.shape, file.md5)
    except (OSError, ValueError):
        return False
    return True
