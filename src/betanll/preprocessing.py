"""Maps between the columns of a table and the inputs and targets of networks.

Maps are computed piece by piece, in double precision.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "InputMap",
    "Matrix",
    "QuantilePositions",
    "Standardizer",
    "blocks",
    "value_ranges",
]

Matrix = npt.NDArray[np.float64]

#: Rows per piece, which limits the size of temporary arrays.
_CHUNK = 16384


class InputMap(ABC):
    """Map from rows of a table to the inputs of a network."""

    @abstractmethod
    def blocks(
        self,
        values: npt.NDArray[np.floating],
        rows: npt.NDArray[np.intp] | None = None,
    ) -> Iterator[Matrix]:
        """Yield these rows piece by piece as the network reads them."""

    def apply(
        self,
        values: npt.NDArray[np.floating],
        rows: npt.NDArray[np.intp] | None = None,
    ) -> npt.NDArray[np.float32]:
        """Return these rows as the network reads them."""
        n = len(values) if rows is None else len(rows)
        mapped = np.empty((n, values.shape[1]), np.float32)
        first = 0
        for block in self.blocks(values, rows):
            mapped[first : first + len(block)] = block
            first += len(block)
        return mapped


def blocks(
    values: npt.NDArray[np.floating], rows: npt.NDArray[np.intp] | None = None
) -> Iterator[Matrix]:
    """Yield these rows in double precision piece by piece."""
    n = len(values) if rows is None else len(rows)
    for first in range(0, n, _CHUNK):
        place = slice(first, first + _CHUNK)
        part = values[place] if rows is None else values[rows[place]]
        yield part.astype(np.float64, copy=False)


def value_ranges(values: npt.NDArray[np.floating]) -> Matrix:
    """Return the least and the greatest value of each column, without copying them.

    Examples
    --------
    >>> value_ranges(np.array([[1.0, 5.0], [2.0, -3.0]]))
    array([[ 1., -3.],
           [ 2.,  5.]])
    """
    bounds = [(part.min(axis=0), part.max(axis=0)) for part in blocks(values)]
    lows, highs = zip(*bounds, strict=True)
    return np.stack([np.min(lows, axis=0), np.max(highs, axis=0)])


#: Standardised values are clipped here: networks in single precision square them.
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

        The column is ignored even if it varies later, because the network has learnt
        nothing about it.
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
        """Yield the standardised values of these rows piece by piece."""
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
    # A spread within the rounding of the values counts as zero.
    is_constant = high / unit - low / unit <= 8 * np.finfo(np.float64).eps
    mean = np.where(is_constant, low / unit, mean)
    return mean * unit, np.where(is_constant, 0.0, std * unit)


#: Rows used; more rows would hardly change the quantiles.
_MAX_ROWS = 100_000


@dataclass(frozen=True)
class QuantilePositions(InputMap):
    """A continuous, increasing map of each column from its knots to 0, 1, 2, ...

    The knots of a column with few different values are these values, else quantiles,
    with equally many rows between neighbours. Outliers map to the last knot. A value
    with more rows than that is a knot, and the other knots are quantiles of the rest.

    Parameters
    ----------
    knots : array of shape (n_bins + 1, n_columns)
        Increasing in each column. A column with fewer different quantiles has fewer
        knots, then infinities; a constant column has one knot.
    """

    knots: Matrix

    @property
    def n_bins(self) -> int:
        return len(self.knots) - 1

    @classmethod
    def of_inputs(
        cls,
        values: npt.NDArray[np.floating],
        n_bins: int,
        rows: npt.NDArray[np.intp] | None = None,
    ) -> QuantilePositions:
        """Compute the knots of the columns from these rows."""
        rows = np.arange(len(values)) if rows is None else rows
        if len(rows) > _MAX_ROWS:
            # At random, as the order of a table may have a period.
            chosen = np.random.default_rng(0).integers(len(rows), size=_MAX_ROWS)
            rows = rows[np.sort(chosen)]
        knots = np.full((n_bins + 1, values.shape[1]), np.inf)
        for column, its_knots in zip(values.T, knots.T, strict=True):
            found = _knots(column[rows].astype(np.float64), n_bins)
            its_knots[: len(found)] = found
        return cls(knots)

    def blocks(
        self,
        values: npt.NDArray[np.floating],
        rows: npt.NDArray[np.intp] | None = None,
    ) -> Iterator[Matrix]:
        """Yield the positions of these rows piece by piece."""
        # Differences of values near 1e308 would overflow.
        largest = np.max(
            np.abs(self.knots), axis=0, where=np.isfinite(self.knots), initial=0
        )
        factor = np.where(largest > 1e300, 0.25, 1.0)
        knots = self.knots * factor
        n_knots = np.sum(np.isfinite(self.knots), axis=0)
        for part in blocks(values, rows):
            positions = np.empty_like(part)
            for j, n in enumerate(n_knots):
                positions[:, j] = np.interp(
                    part[:, j] * factor[j], knots[:n, j], np.arange(n)
                )
            yield positions


def _knots(column: Matrix, n_bins: int) -> Matrix:
    values, counts = np.unique(column, return_counts=True)
    if len(values) > n_bins + 1:
        is_frequent = counts > len(column) / n_bins
        rest = np.repeat(values[~is_frequent], counts[~is_frequent])
        levels = np.linspace(0, 1, n_bins + 1 - np.sum(is_frequent))
        quantiles = np.quantile(rest, levels, method="inverted_cdf")
        values = np.union1d(values[is_frequent], quantiles)
    # Merge values that differ only by rounding.
    with np.errstate(over="ignore"):
        gaps = np.diff(values)
    resolution = 8 * np.finfo(np.float64).eps * np.abs(values)
    is_next = gaps > np.maximum(resolution[1:], resolution[:-1])
    return values[np.concatenate([[True], is_next])]
