"""The rows of a table, standardised and split for training."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from betanll.blocks import RowBlocks, nearest_cut
from betanll.preprocessing import (
    InputMap,
    Matrix,
    QuantilePositions,
    Standardizer,
    blocks,
)
from betanll.training import Data
from betanll.typing import Rows


@dataclass(frozen=True)
class TrainingData:
    """Rows as the user gave them; NaN marks a missing target.

    Splits never divide one of the `blocks`.
    """

    inputs: npt.NDArray[np.floating]
    targets: Matrix
    weights: Matrix | None = None
    blocks: RowBlocks | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: Rows) -> TrainingData:
        weights = None if self.weights is None else self.weights[rows]
        blocks = None if self.blocks is None else self.blocks[rows]
        return TrainingData(self.inputs[rows], self.targets[rows], weights, blocks)

    def parted(
        self, fraction: float, random: np.random.RandomState
    ) -> tuple[TrainingData, TrainingData]:
        """Return training rows, and about this share of the rows as held-out rows."""
        n = len(self)
        n_held_out = max(1, round(fraction * n))
        order, starts = self.order(random)
        if starts is None:
            return self[order[n_held_out:]], self[order[:n_held_out]]
        cut = nearest_cut(n - n_held_out, starts)
        held_out = replace(self, blocks=None)[order[cut:]]
        return self[order[:cut]], held_out

    def order(self, random: np.random.RandomState) -> tuple[Rows, Rows | None]:
        """Return the order from which parts are cut, and where blocks begin in it."""
        if self.blocks is None:
            return random.permutation(len(self)), None
        return self.blocks.order(random)

    def standardised(
        self, *parts: Rows | None, n_bins: int = 0, measured_on: Rows | None = None
    ) -> StandardisedData:
        """Measure the columns and return standardised rows.

        Parameters
        ----------
        *parts : arrays of positions, or None for all rows
            The training part, then the validation part if there is one.
        n_bins : int, default=0
            Above 0, inputs become positions among so many quantiles.
        measured_on : array of positions, optional
            Rows that are measured, by default all.
        """
        inputs: Standardizer | QuantilePositions
        if n_bins:
            inputs = QuantilePositions.of_inputs(self.inputs, n_bins, measured_on)
        else:
            inputs = Standardizer.of_inputs(self.inputs, self.weights, measured_on)
        targets = Standardizer.of_targets(self.targets, self.weights, measured_on)
        return StandardisedData(packed(self, inputs, targets, *parts), inputs, targets)


class StandardisedData(NamedTuple):
    """Rows in standardised units, and the maps that made them."""

    data: Data
    inputs: Standardizer | QuantilePositions
    targets: Standardizer


def packed(
    rows: TrainingData,
    inputs: InputMap,
    targets: Standardizer,
    *parts: Rows | None,
) -> Data:
    """Return the standardised rows of the training and of the validation part."""
    weights = rows.weights
    is_seen = ~np.isnan(rows.targets)
    if not is_seen.all():
        weights = is_seen * (1.0 if weights is None else weights)

    def shares(part: Rows | None) -> Iterator[Any]:
        if weights is None:
            return itertools.repeat(1.0)
        mine = weights if part is None else weights[part]
        return blocks(mine / mine.mean())

    def pieces(part: Rows | None) -> Iterator[tuple[Any, Any, Any]]:
        return zip(
            inputs.blocks(rows.inputs, part),
            targets.blocks(rows.targets, part),
            shares(part),
            strict=False,
        )

    sizes = [len(rows if part is None else part) for part in parts]
    return Data.from_blocks(
        itertools.chain.from_iterable(map(pieces, parts)),
        n_train=sizes[0],
        n_validation=sum(sizes[1:]),
        n_inputs=rows.inputs.shape[1],
        n_targets=rows.targets.shape[1],
        n_weights=1 if weights is None else weights.shape[1],
    )
