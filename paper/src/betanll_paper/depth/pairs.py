"""Images with the depth of their pixels, and selections of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Pair(NamedTuple):
    """An image and its depth.

    Parameters
    ----------
    image : array of uint8 of shape (height, width, 3)
    depth : array of float32 of shape (height, width)
        In metres, along the optical axis; 0 where there is no measurement.
    """

    image: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.float32]


class Pairs(ABC):
    """A sequence of pairs, each read or made on access.

    For your own data, write ``__len__``, ``__getitem__`` and :meth:`scene`.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of pairs."""

    @abstractmethod
    def __getitem__(self, index: int) -> Pair:
        """Return a pair; the same index gives the same pair."""

    @abstractmethod
    def scene(self, index: int) -> str:
        """Return the name of the place that a pair shows."""

    def name(self, index: int) -> str:
        """Return the name of a pair for error messages."""
        return f"image {index} of {self.scene(index)}"


class Selection(Pairs):
    """The pairs of another sequence at some indices."""

    def __init__(self, pairs: Pairs, indices: Sequence[int]) -> None:
        self.pairs = pairs
        self.indices = list(indices)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Pair:
        return self.pairs[self.indices[index]]

    def scene(self, index: int) -> str:
        return self.pairs.scene(self.indices[index])

    def name(self, index: int) -> str:
        return self.pairs.name(self.indices[index])


class InMemory(Selection):
    """The pairs of another sequence, each read or made once and then kept."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs, range(len(pairs)))
        self._kept: dict[int, Pair] = {}

    def __getitem__(self, index: int) -> Pair:
        if index not in self._kept:
            self._kept[index] = super().__getitem__(index)
        return self._kept[index]


class DepthData(NamedTuple):
    """Pairs for training, validation and test, without a common scene."""

    training: Pairs
    validation: Pairs
    test: Pairs


def split_by_scene(
    pairs: Pairs, fraction: float, seed: int
) -> tuple[Selection, Selection]:
    """Return two parts without a common scene.

    The second part gets this fraction of the scenes, at least one.

    Raises
    ------
    ValueError
        If there are fewer than two scenes.
    """
    scenes = [pairs.scene(index) for index in range(len(pairs))]
    names = sorted(set(scenes))
    if len(names) < 2:
        raise ValueError(
            "validation needs a scene of its own, but the "
            f"{len(pairs)} training images show {len(names)}"
        )
    n_second = min(max(1, round(fraction * len(names))), len(names) - 1)
    chosen = np.random.default_rng(seed).permutation(len(names))[:n_second]
    second = {names[index] for index in chosen}
    parts: tuple[list[int], list[int]] = [], []
    for index, scene in enumerate(scenes):
        parts[scene in second].append(index)
    return Selection(pairs, parts[0]), Selection(pairs, parts[1])
