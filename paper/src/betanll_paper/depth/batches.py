"""The images of each update, and their tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

#: Epoch and index of an image, which determine its random augmentation.
Key = tuple[int, int]
#: Images and depths that pass through the network together.
Part = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class BatchOrder:
    """The images of every update, in parts that pass through the network one by one.

    The order depends on seed and epoch alone, so a run can resume at any update. The
    number of processes does not matter: part ``k`` has the same images in each of them.

    Parameters
    ----------
    n_images : int
    batch_size : int
        Images of an update, at most `n_images`. Images left over at the end of an
        epoch are skipped in this epoch.
    n_parts : int
        Divides `batch_size`.
    seed : int

    Examples
    --------
    >>> order = BatchOrder(n_images=7, batch_size=4, n_parts=2, seed=0)
    >>> order.updates_per_epoch
    1
    >>> order.parts(0)
    [[(0, 2), (0, 4)], [(0, 3), (0, 6)]]
    """

    n_images: int
    batch_size: int
    n_parts: int
    seed: int

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= self.n_images:
            raise ValueError(
                f"batch_size must lie between 1 and the {self.n_images} training "
                f"images, got {self.batch_size}"
            )
        if self.batch_size % self.n_parts:
            raise ValueError(
                f"batch_size must be a multiple of {self.n_parts}, the number of "
                "processes times the number of accumulated parts, "
                f"got {self.batch_size}"
            )

    @property
    def updates_per_epoch(self) -> int:
        return self.n_images // self.batch_size

    def parts(self, update: int) -> list[list[Key]]:
        """Return the keys of the parts of an update, counted from 0."""
        epoch, place = divmod(update, self.updates_per_epoch)
        order = _permutation(self.seed, epoch, self.n_images)
        chosen = order[place * self.batch_size : (place + 1) * self.batch_size]
        return [
            [(epoch, int(index)) for index in part]
            for part in np.split(chosen, self.n_parts)
        ]

    def parts_of(
        self, rank: int, size: int, first: int, stop: int
    ) -> Iterator[list[Key]]:
        """Yield the parts of one of `size` processes, from one update to another."""
        n_own = self.n_parts // size
        for update in range(first, stop):
            yield from self.parts(update)[rank * n_own : (rank + 1) * n_own]


@lru_cache(maxsize=1)
def _permutation(seed: int, epoch: int, n: int) -> npt.NDArray[np.int64]:
    """Return the order of an epoch, cached for its next update."""
    return np.random.default_rng([seed, epoch]).permutation(n)


def loaded_parts(
    images: Dataset[Part], keys: list[list[Key]], device: torch.device, n_loaders: int
) -> Iterator[Part]:
    """Yield the images and depths of each list of keys, on a device."""
    loader: Iterable[Part] = DataLoader(
        images,
        batch_sampler=keys,
        num_workers=n_loaders,
        collate_fn=_stacked,
        # A fork would inherit locks of this process's threads, and JAX warns of it.
        multiprocessing_context="spawn" if n_loaders else None,
        pin_memory=device.type == "cuda",
    )
    for image, depth in with_plain_errors(loader) if n_loaders else loader:
        image = image.to(device, memory_format=torch.channels_last)
        yield image, depth.to(device)


def _stacked(pairs: list[Part]) -> Part:
    """Return images and depths of one size as two tensors."""
    images, depths = zip(*pairs, strict=True)
    sizes = sorted({tuple(depth.shape[1:]) for depth in depths})
    if len(sizes) > 1:
        raise ValueError(
            "the images of a batch must have one size, got "
            + " and ".join(f"{width} x {height}" for height, width in sizes[:2])
            + "; an augmentation with a crop_size makes them alike"
        )
    return torch.stack(images), torch.stack(depths)


def with_plain_errors(parts: Iterable[Part]) -> Iterator[Part]:
    """Remove the traceback of a loading process from the message of its error."""
    try:
        yield from parts
    except ValueError as error:
        # The traceback ends with the class, perhaps its module before it, and the text.
        last = rf"^(?:\w+\.)*{type(error).__name__}: "
        *traceback, text = re.split(last, str(error), flags=re.MULTILINE)
        if not traceback:
            raise
        raise type(error)(text.strip()) from None
