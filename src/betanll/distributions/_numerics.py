"""Root search for quantiles, and moments by integration over quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from betanll._arrays import as_array
from betanll.typing import Array

# Edges of the panels in t = log(level / (1 - level)). At 36, one minus the level is
# the spacing of doubles below one.
_EDGES = (0.0, 1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 12.0, 16.0, 20.0, 25.0, 30.0, 36.0)


class Moments(NamedTuple):
    """Means and variances of all elements by a coarse and by a fine quadrature.

    The errors are the differences of the two, relative to the mean distance and to
    the mean squared distance from the median; 0 where the median is NaN.
    """

    means: tuple[Array, Array]
    variances: tuple[Array, Array]
    mean_error: Array
    variance_error: Array


def moments_by_quadrature(quantile: Callable[[float], Array]) -> Moments:
    """Return the moments of distributions with the given quantiles.

    Both halves of a distribution are integrated by themselves: the mean of a Cauchy
    distribution must not look like zero because they cancel. The fine quadrature has
    twice the order and reaches further into the tails.
    """
    median = quantile(0.5)
    unit = quantile(0.75) - quantile(0.25)
    unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)

    def halves(order: int, n_panels: int) -> tuple[Array, Array]:
        first = np.zeros((2, *median.shape))
        second = np.zeros((2, *median.shape))
        for level, weight in _rule(order, n_panels):
            for half, p in enumerate((level, 1 - level)):
                distance = (quantile(p) - median) / unit
                first[half] += weight * distance
                second[half] += weight * distance**2
        return first, second

    def mean_and_variance(first: Array, second: Array) -> tuple[Array, Array]:
        shift = first.sum(axis=0)
        variance = unit**2 * (second.sum(axis=0) - shift**2)
        return median + unit * shift, variance

    coarse, fine = halves(8, len(_EDGES) - 2), halves(16, len(_EDGES) - 1)
    mean_error, variance_error = (
        np.where(np.isnan(median), 0.0, _relative_error(rough, exact))
        for rough, exact in zip(coarse, fine, strict=True)
    )
    means, variances = zip(
        mean_and_variance(*coarse), mean_and_variance(*fine), strict=True
    )
    return Moments(means, variances, mean_error, variance_error)


def _rule(order: int, n_panels: int) -> list[tuple[float, float]]:
    """Return levels from the median downwards, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    edges = np.array(_EDGES[: n_panels + 1])
    half_length = np.diff(edges)[:, None] / 2
    odds = np.exp(-(edges[:-1, None] + half_length * (1 + nodes)))
    levels = odds / (1 + odds)
    factors = half_length * weights * levels * (1 - levels)
    return list(zip(levels.ravel().tolist(), factors.ravel().tolist(), strict=True))


def _relative_error(rough: Array, exact: Array) -> Array:
    size = np.abs(exact).sum(axis=0)
    error = np.abs(exact - rough).max(axis=0)
    return as_array(np.where(size > 0, error / np.where(size > 0, size, 1.0), error))


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def increasing_root(
    function: Callable[[Array], tuple[Array, Array]],
    low: Array,
    high: Array,
    unit: Array,
) -> Array:
    """Elementwise root in [low, high] of an increasing function, to 1e-12 of `unit`.

    `function` returns its value and its derivative. A Newton step that leaves the
    bracket, or is not half as long as the step before, is replaced by bisection.
    """
    root, last_step = 0.5 * (low + high), high - low
    relative = 4 * np.finfo(np.float64).eps
    active = last_step > 1e-12 * unit + relative * np.abs(root)
    for _ in range(200):
        if not active.any():
            break
        value, slope = function(root)
        newton = root - value / slope
        low = np.where(value <= 0, root, low)
        high = np.where(value >= 0, root, high)
        is_short = np.abs(newton - root) <= 0.5 * last_step
        is_inside = (low <= newton) & (newton <= high)
        proposal = np.where(is_short & is_inside, newton, 0.5 * (low + high))
        last_step = np.abs(proposal - root)
        root = np.where(active, proposal, root)
        active &= last_step > 1e-12 * unit + relative * np.abs(root)
    return root
