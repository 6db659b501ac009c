"""Files of the image sets, and where they are published."""

from __future__ import annotations

import math
from typing import NamedTuple


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
