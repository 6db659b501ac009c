"""What the levels of a column say about the targets, for columns of many levels.

A level is described by three kinds of numbers: for each target its mean and the
logarithm of its spread, both drawn towards those of all rows the fewer rows the level
has, and how many rows it has. A network would need many rows of each level to learn
them from an input for each.

A row of the training table must not see its own target: its level is described by the
rows of the other folds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from betanll.typing import Array

N_FOLDS = 10
#: Rows at which the spread of a level counts as much as that of all rows.
_SPREAD_ROWS = 10.0


@dataclass(frozen=True)
class TargetStatistics:
    """Sums over rows by level and fold, from which levels are described.

    Attributes
    ----------
    count, total, square : arrays of shape (n_levels, n_folds, n_targets)
        Weights of the rows, and weighted sums of standardised targets and squares.
    """

    count: Array
    total: Array
    square: Array

    @classmethod
    def of_rows(
        cls,
        codes: NDArray[np.intp],
        n_levels: int,
        targets: Array,
        weights: Array,
        folds: NDArray[np.intp],
    ) -> TargetStatistics:
        """Add up rows; codes below 0 belong to no level, NaN targets do not count.

        Parameters
        ----------
        codes : array of shape (n,)
        n_levels : int
        targets : array of shape (n, d)
            With mean 0 and variance 1.
        weights : array of shape (n,)
            With mean 1.
        folds : array of shape (n,)
        """
        is_used = codes >= 0
        cell = codes[is_used] * N_FOLDS + folds[is_used]
        sums = np.zeros((3, n_levels * N_FOLDS, targets.shape[1]))
        for j, target in enumerate(targets[is_used].T):
            share = weights[is_used] * ~np.isnan(target)
            value = np.nan_to_num(target)
            for k in range(3):
                sums[k, :, j] = np.bincount(
                    cell, share * value**k, minlength=n_levels * N_FOLDS
                )
        count, total, square = sums.reshape(3, n_levels, N_FOLDS, -1)
        return cls(count, total, square)

    def describe(self) -> Array:
        """Return a row of numbers for each level, and a last one for unknown levels.

        Returns
        -------
        array of shape (n_levels + 1, 2 * n_targets + 1)
        """
        return self._described(
            [np.pad(part.sum(axis=1), ((0, 1), (0, 0))) for part in self._parts]
        )

    def describe_out_of_fold(self) -> Array:
        """Return the same for each level and fold, made of the other folds alone.

        Returns
        -------
        array of shape (n_levels + 1, n_folds, 2 * n_targets + 1)
        """
        others = [
            np.pad(part.sum(axis=1, keepdims=True) - part, ((0, 1), (0, 0), (0, 0)))
            for part in self._parts
        ]
        described = self._described(others)
        # As many rows as there will be when all folds count.
        rows = others[0].max(axis=-1) * (N_FOLDS / (N_FOLDS - 1))
        described[..., -1] = np.log1p(rows)
        return described

    @property
    def _parts(self) -> tuple[Array, Array, Array]:
        return self.count, self.total, self.square

    def variances(self) -> tuple[Array, Array]:
        """Return the variance within levels and that of their means, by target."""
        count, total, square = (part.sum(axis=1) for part in self._parts)
        n = np.maximum(count.sum(axis=0), 1.0)
        safe = np.maximum(count, 1e-12)
        n_levels = np.sum(count > 0, axis=0)
        inside = np.sum(square - total**2 / safe, axis=0)
        within = np.maximum(inside / np.maximum(n - n_levels, 1.0), 1e-6)
        mean = total.sum(axis=0) / n
        spread = np.sum(count * (total / safe - mean) ** 2, axis=0)
        size = n - np.sum(count**2, axis=0) / n
        between = (spread - (n_levels - 1) * within) / np.maximum(size, 1e-12)
        return within, np.maximum(between, 0.0)

    def _described(self, sums: list[Array]) -> Array:
        count, total, square = sums
        within, between = self.variances()
        # The best linear estimate of a level's mean: all of it where levels differ.
        trust = count * between / np.maximum(count * between + within, 1e-12)
        mean = trust * total / np.maximum(count, 1e-12)
        around = np.maximum(square - 2 * mean * total + mean**2 * count, 0)
        variance = (around + _SPREAD_ROWS * within) / (count + _SPREAD_ROWS)
        rows = np.log1p(np.max(count, axis=-1, keepdims=True))
        spread = 0.5 * np.log(np.maximum(variance, 1e-12) / within)
        return np.concatenate([mean, spread, rows], axis=-1)
