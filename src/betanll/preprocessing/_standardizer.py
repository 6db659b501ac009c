"""Columns with mean zero and variance one, the unit in which networks are trained."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from betanll.preprocessing._columns import InputMap, Matrix, blocks

#: Whitened values are cut off here; a network in single precision squares them.
_LIMIT = 1e15
#: Unit of a constant target, in its magnitude.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Standardizer(InputMap):
    """The map ``(value - mean) / scale``, column by column in double precision."""

    mean: Matrix
    scale: Matrix

    @classmethod
    def of_inputs(
        cls,
        values: npt.NDArray[np.floating],
        weights: Matrix | None = None,
        rows: npt.NDArray[np.intp] | None = None,
    ) -> Standardizer:
        """Measure input columns; a constant one gets an infinite scale.

        The network has learnt nothing about such a column, so it is ignored even if it
        changes later.
        """
        mean, std = _moments(values, weights, rows)
        return cls(mean, np.where(std == 0, np.inf, std))

    @classmethod
    def of_targets(
        cls,
        values: npt.NDArray[np.floating],
        weights: Matrix | None = None,
        rows: npt.NDArray[np.intp] | None = None,
    ) -> Standardizer:
        """Compute mean and scale of each target.

        A constant target gets a tiny scale, so that every prediction, mapped back to
        original units, equals the constant.
        """
        mean, std = _moments(values, weights, rows)
        rounding = _ROUNDING * np.where(mean == 0, 1.0, np.abs(mean))
        rounding = np.maximum(rounding, np.finfo(np.float64).tiny)
        return cls(mean, np.where(std == 0, rounding, std))

    def blocks(
        self,
        values: npt.NDArray[np.floating],
        rows: npt.NDArray[np.intp] | None = None,
    ) -> Iterator[Matrix]:
        """Yield the whitened values of these rows piece by piece."""
        for part in blocks(values, rows):
            with np.errstate(over="ignore", invalid="ignore"):
                z = (part - self.mean) / self.scale
            np.clip(z, -_LIMIT, _LIMIT, out=z)
            z[np.isnan(z)] = 0
            yield z


def _moments(
    values: npt.NDArray[np.floating],
    weights: Matrix | None,
    rows: npt.NDArray[np.intp] | None,
) -> tuple[Matrix, Matrix]:
    """Return weighted means and population standard deviations, exactly 0 if constant.

    Missing values do not count; a column without values counts as zero. Columns are
    divided by their largest magnitude before they are summed or squared, so that 1e300
    does not overflow nor 1e-300 vanish.
    """
    n_columns = values.shape[1]
    high = np.full(n_columns, -np.inf)
    low = np.full(n_columns, np.inf)
    for part in blocks(values, rows):
        high = np.fmax(high, np.fmax.reduce(part, axis=0))
        low = np.fmin(low, np.fmin.reduce(part, axis=0))
    is_empty = high < low
    high, low = (np.where(is_empty, 0.0, bound) for bound in (high, low))
    largest = np.maximum(np.abs(high), np.abs(low))
    unit = np.where(largest == 0, 1.0, largest)

    def average(power: int, centre: Matrix) -> Matrix:
        total, count = np.zeros(n_columns), np.zeros(n_columns)
        part_weights: Iterator[Matrix | None] = (
            itertools.repeat(None) if weights is None else blocks(weights, rows)
        )
        for part, weight in zip(blocks(values, rows), part_weights, strict=False):
            z = part / unit - centre
            is_seen = ~np.isnan(z)
            share = is_seen if weight is None else is_seen * weight
            total += np.sum(np.where(is_seen, z, 0) ** power * share, axis=0)
            count += np.sum(share, axis=0)
        return total / np.where(is_empty, 1.0, count)

    mean = average(1, np.zeros(n_columns))
    std = np.sqrt(average(2, mean))
    # A spread within the rounding of the values themselves is none.
    is_constant = high / unit - low / unit <= 8 * np.finfo(np.float64).eps
    mean = np.where(is_constant, low / unit, mean)
    return mean * unit, np.where(is_constant, 0.0, std * unit)
