"""What everything here is trained on: images with the depth of their pixels."""

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
    """A sequence of pairs, each read or made when it is asked for.

    To bring your own data, write ``__len__``, ``__getitem__`` and :meth:`scene`.
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
        """Return what to call a pair in an error."""
        return f"image {index} of {self.scene(index)}"


class Selection(Pairs):
    """Some pairs of another sequence.

    Parameters
    ----------
    pairs : Pairs
    indices : sequence of int
    """

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


class InMemory(Pairs):
    """Pairs that are read or made once each, and then kept.

    Parameters
    ----------
    pairs : Pairs
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self._kept: dict[int, Pair] = {}

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> Pair:
        if index not in self._kept:
            self._kept[index] = self.pairs[index]
        return self._kept[index]

    def scene(self, index: int) -> str:
        return self.pairs.scene(index)

    def name(self, index: int) -> str:
        return self.pairs.name(index)


def split_by_scene(
    pairs: Pairs, fraction: float, seed: int
) -> tuple[Selection, Selection]:
    """Return two parts that have no scene in common.

    Parameters
    ----------
    pairs : Pairs
    fraction : float
        Share of the scenes that go to the second part, at least one.
    seed : int

    Raises
    ------
    ValueError
        If there are fewer than two scenes.
    """
    scenes = [pairs.scene(index) for index in range(len(pairs))]
    names = sorted(set(scenes))
    if len(names) < 2:
        raise ValueError(
            "a part to select the model on must have scenes of its own, and the "
            f"{len(pairs)} training images show {len(names)}"
        )
    n_second = min(max(1, round(fraction * len(names))), len(names) - 1)
    chosen = np.random.default_rng(seed).permutation(len(names))[:n_second]
    second = {names[index] for index in chosen}
    parts: tuple[list[int], list[int]] = [], []
    for index, scene in enumerate(scenes):
        parts[scene in second].append(index)
    return Selection(pairs, parts[0]), Selection(pairs, parts[1])
