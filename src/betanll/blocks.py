"""Rows that depend on each other, and splits that keep them on one side."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import GroupKFold, KFold

from betanll.typing import Rows

__all__ = [
    "RowBlocks",
    "SplitRows",
    "fit_options",
    "nearest_cut",
    "row_blocks",
    "splits_of",
]

#: A training and a held-out part.
SplitRows = tuple[Rows, Rows]


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Blocks of rows: groups, or the rows of one time. No split divides a block.

    Parameters
    ----------
    codes : array of shape (n,)
        Number of each row's block. Blocks in time are numbered in their order.
    is_ordered : bool
        Whether held-out rows are the latest.

    Examples
    --------
    >>> blocks = RowBlocks.of_groups(["Anna", "Ben", "Anna", "Cleo"])
    >>> blocks.codes, len(blocks)
    (array([0, 1, 0, 2]), 4)
    >>> RowBlocks.of_times([2021, 2019, 2020]).held_out(1 / 3)
    (array([1, 2]), array([0]))
    """

    codes: npt.NDArray[np.intp]
    is_ordered: bool

    @classmethod
    def of_groups(cls, groups: Any) -> RowBlocks:
        """Return a block for each group.

        Parameters
        ----------
        groups : array of shape (n,)
            Labels of any kind, such as patients.
        """
        codes, names = _numbered(groups, "groups", sort=False)
        if len(names) < 2:
            raise ValueError(f"all rows are of one group, {names[0]!r}")
        return cls(codes, is_ordered=False)

    @classmethod
    def of_times(cls, times: Any) -> RowBlocks:
        """Return a block for each time, in order.

        Parameters
        ----------
        times : array of shape (n,)
            Numbers, dates, or anything else that has an order.
        """
        codes, names = _numbered(times, "times", sort=True)
        if len(names) < 2:
            raise ValueError(f"all rows are of one time, {names[0]}")
        return cls(codes, is_ordered=True)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Rows) -> RowBlocks:
        names, codes = np.unique(self.codes[rows], return_inverse=True)
        if len(names) < 2:
            what = "time" if self.is_ordered else "group"
            raise ValueError(
                f"{len(names)} {what} is left for training; validation needs a second"
            )
        return RowBlocks(codes, self.is_ordered)

    def order(self, random: np.random.RandomState) -> tuple[Rows, Rows]:
        """Return the rows block by block, and the places where blocks begin.

        Blocks in time keep their order; groups are shuffled, and so are the rows of
        each block.
        """
        n_blocks = int(self.codes.max()) + 1
        places = np.arange(n_blocks)
        places = places if self.is_ordered else random.permutation(n_blocks)
        shuffled = random.permutation(len(self))
        order = shuffled[np.argsort(places[self.codes[shuffled]], kind="stable")]
        sizes = np.bincount(places[self.codes], minlength=n_blocks)
        return order, np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def held_out(self, fraction: float, seed: int = 0) -> SplitRows:
        """Return training rows and about so large a share of held-out rows.

        Held out are the latest times, or groups drawn at random; each part has a block
        at least, and its rows are in ascending order.
        """
        order, starts = self.order(np.random.RandomState(seed))
        cut = nearest_cut(len(self) - round(fraction * len(self)), starts)
        return np.sort(order[:cut]), np.sort(order[cut:])

    def folds(self, n_folds: int, seed: int | None = None) -> list[SplitRows]:
        """Return splits for cross-validation, at most one for each block.

        Each group is held out once. Of blocks in time, each split holds out the part
        that follows its training rows.
        """
        n_blocks = int(self.codes.max()) + 1
        if not self.is_ordered:
            splitter = GroupKFold(
                min(n_folds, n_blocks), shuffle=True, random_state=seed
            )
            return list(splitter.split(self.codes, groups=self.codes))
        order, starts = self.order(np.random.RandomState(0))
        n = len(self)
        wanted = n * np.arange(1, n_folds + 1) / (n_folds + 1)
        cuts = np.unique([starts[np.argmin(np.abs(starts - at))] for at in wanted])
        ends = [*cuts[cuts > 0].tolist(), n]
        return [
            (np.sort(order[:first]), np.sort(order[first:last]))
            for first, last in itertools.pairwise(ends)
        ]


def row_blocks(groups: Any = None, times: Any = None) -> RowBlocks | None:
    """Return the blocks of groups or of times, None for independent rows."""
    if groups is not None and times is not None:
        raise ValueError("rows are split by groups or by times: give one of them")
    if groups is not None:
        return RowBlocks.of_groups(groups)
    return None if times is None else RowBlocks.of_times(times)


def splits_of(
    n: int, blocks: RowBlocks | None, n_folds: int, seed: int | None
) -> Sequence[SplitRows]:
    """Return splits for cross-validation, by blocks if there are any."""
    if blocks is not None:
        return blocks.folds(n_folds, seed)
    rows = np.empty((n, 0))
    return list(KFold(n_folds, shuffle=True, random_state=seed).split(rows))


def fit_options(blocks: RowBlocks | None, rows: Rows) -> dict[str, Any]:
    """Return the arguments of an estimator's ``fit`` that keep blocks together."""
    if blocks is None:
        return {}
    return {"times" if blocks.is_ordered else "groups": blocks.codes[rows]}


def nearest_cut(wanted: int, starts: Rows | None) -> int:
    """Return the number of rows in front of the block that begins nearest to it."""
    if starts is None:
        return wanted
    cuts = starts[1:]
    return int(cuts[np.argmin(np.abs(cuts - wanted))])


def _numbered(
    labels: Any, what: str, *, sort: bool
) -> tuple[npt.NDArray[np.intp], Sequence[Any]]:
    """Return a number for each row, and the label of each number."""
    array = labels if isinstance(labels, pd.Series) else np.asarray(labels)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{what} must have one entry for each row, got {array.shape}")
    is_missing = np.asarray(pd.isna(array))
    if is_missing.any():
        raise ValueError(f"{what} has a missing entry in row {np.argmax(is_missing)}")
    try:
        codes, names = pd.factorize(array, sort=sort)
    except TypeError as error:
        raise ValueError(f"{what} cannot be ordered: {error}") from None
    return np.asarray(codes, np.intp), names.tolist()
