"""Rows of a table on their way into training."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

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
    """Rows as the user gave them; a NaN target is a missing one.

    No part of the rows divides one of the `blocks`, if there are any.
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
        """Return training rows and about so large a share of held-out rows."""
        n = len(self)
        n_held_out = max(1, round(fraction * n))
        order, starts = self.order(random)
        if starts is None:
            return self[order[n_held_out:]], self[order[:n_held_out]]
        cut = nearest_cut(n - n_held_out, starts)
        held_out = replace(self, blocks=None)[order[cut:]]
        return self[order[:cut]], held_out

    def order(self, random: np.random.RandomState) -> tuple[Rows, Rows | None]:
        """Return the rows in the order in which parts are cut off, and where blocks
        begin in it."""
        if self.blocks is None:
            return random.permutation(len(self)), None
        return self.blocks.order(random)

    def input_map(
        self, rows: Rows | None = None, *, n_bins: int = 0
    ) -> Standardizer | QuantilePositions:
        """Measure inputs on these rows alone."""
        if n_bins:
            return QuantilePositions.of_inputs(self.inputs, n_bins, rows)
        return Standardizer.of_inputs(self.inputs, self.weights, rows)

    def target_map(self, rows: Rows | None = None) -> Standardizer:
        """Measure targets on these rows alone."""
        return Standardizer.of_targets(self.targets, self.weights, rows)

    def pack(
        self, inputs: InputMap, targets: Standardizer, *parts: Rows | None
    ) -> Data:
        """Return the whitened rows of the training and of the validation part."""
        weights = self.weights
        is_seen = ~np.isnan(self.targets)
        if not is_seen.all():
            weights = is_seen * (1.0 if weights is None else weights)

        def shares(rows: Rows | None) -> Iterator[Any]:
            if weights is None:
                return itertools.repeat(1.0)
            mine = weights if rows is None else weights[rows]
            return blocks(mine / mine.mean())

        def pieces(rows: Rows | None) -> Iterator[tuple[Any, Any, Any]]:
            return zip(
                inputs.blocks(self.inputs, rows),
                targets.blocks(self.targets, rows),
                shares(rows),
                strict=False,
            )

        sizes = [len(self) if rows is None else len(rows) for rows in parts]
        return Data.from_blocks(
            itertools.chain.from_iterable(map(pieces, parts)),
            n_train=sizes[0],
            n_validation=sum(sizes[1:]),
            n_inputs=self.inputs.shape[1],
            n_targets=self.targets.shape[1],
            n_weights=1 if weights is None else weights.shape[1],
        )
