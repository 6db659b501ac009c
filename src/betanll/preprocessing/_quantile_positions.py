"""Inputs as positions among the quantiles of their column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from betanll.preprocessing._columns import InputMap, Matrix, blocks

#: Quantiles of more rows would hardly differ.
_MAX_ROWS = 100_000


@dataclass(frozen=True)
class QuantilePositions(InputMap):
    """A continuous, increasing map of each column from its knots to 0, 1, 2, ...

    Knots are all values of a column with few different ones, else quantiles: equally
    many rows lie between two of them, however wild the values, and an outlier is no
    further away than the last knot. A value with more rows than that is a knot, and the
    others are quantiles of the rest.

    Parameters
    ----------
    knots : array of shape (n_bins + 1, n_columns)
        Increasing in each column. A column with fewer different quantiles has fewer
        knots and infinity after them, a constant one has one.
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
        """Measure the columns on these rows."""
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
    # Values that differ by their rounding alone are one.
    with np.errstate(over="ignore"):
        gaps = np.diff(values)
    resolution = 8 * np.finfo(np.float64).eps * np.abs(values)
    is_next = gaps > np.maximum(resolution[1:], resolution[:-1])
    return values[np.concatenate([[True], is_next])]
