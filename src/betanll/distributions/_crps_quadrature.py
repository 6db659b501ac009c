"""Numerical CRPS of any mixture of any distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from betanll._arrays import as_array
from betanll.distributions._contract import decreasing
from betanll.typing import Array

# Rows at a time, so that memory stays bounded and the work fits the cache.
CHUNK = 4096
TOLERANCE = 1e-12
#: A panel is halved while two rules differ by more than this share of the integral. The
#: error of the better rule is then about the square of it, or equal to it at kinks.
PANEL_TOLERANCE = 1e-7

_ROOTS, _ROOT_WEIGHTS = np.polynomial.legendre.leggauss(16)
NODES, NODE_WEIGHTS = 0.5 * (1 + _ROOTS[:, None]), 0.5 * _ROOT_WEIGHTS[:, None]


def _error_weights() -> Array:
    """Difference between the Gauss rule and a rule without its two middle nodes."""
    kept = np.delete(np.arange(16), (7, 8))
    powers = np.polynomial.legendre.legvander(_ROOTS[kept], len(kept) - 1)
    integrals = np.zeros(len(kept))
    integrals[0] = 1.0
    weights = NODE_WEIGHTS.copy()
    weights[kept, 0] -= np.linalg.solve(powers.T, integrals)
    return weights


ERROR_WEIGHTS = _error_weights()


class Part(NamedTuple):
    """A component of a mixture and its weight, one number or one for each row."""

    weight: float | Array
    distribution: Any


def crps_by_quadrature(parts: Sequence[Part], target: Array) -> Array:
    """CRPS of a mixture for each element of the one-dimensional target."""
    values = np.empty(len(target))
    for start in range(0, len(target), CHUNK):
        rows = slice(start, start + CHUNK)
        chunk = [part_of(part, rows) for part in parts]
        # Relative to the target, so that narrow distributions far from zero keep
        # their digits.
        shifted = [
            Part(weight, distribution.affine(1.0, -target[rows]))
            for weight, distribution in chunk
        ]
        values[rows] = _squared_tail(shifted, 1) + _squared_tail(shifted, -1)
    return values


def part_of(part: Part, index: Any) -> Part:
    """Return the part for some of the elements."""
    weight, distribution = part
    if isinstance(weight, np.ndarray):
        weight = weight[index]
    return Part(weight, distribution[index])


def _squared_tail(parts: Sequence[Part], sign: int) -> Array:
    """Integral of the squared tail beyond 0, upwards for sign 1, downwards for -1.

    Each row integrates outwards from 0 in panels of Gauss quadrature in a logarithmic
    variable. The distance to the closest component, plus its scale, limits the length
    of a panel: panels are short at narrow components and long in tails. Panels with a
    kink are halved.
    """
    centre, scale = _centres_and_scales(parts)
    centre = sign * centre
    n = centre.shape[1]
    total, before = np.zeros(n), np.zeros(n)
    rows, x = np.arange(n), np.zeros(n)
    longest = np.full(n, np.inf)
    tails = _Tails(parts, sign)
    may_have_kinks = not all(distribution._is_smooth for _, distribution in parts)
    while rows.size:
        is_before = (centre > x).any(axis=0)
        length = np.minimum(np.where(is_before, math.log(1.7), 1.5), longest)
        distance = np.abs(x - centre) + scale
        # A narrow component must not stop the walk below the resolution of x.
        reach = np.maximum(distance.min(axis=0), np.maximum(1e-15 * x, 1e-300))
        tail = tails(x + reach * np.expm1(length * NODES))
        integrand = length * reach * np.exp(length * NODES) * tail**2
        panel = np.sum(NODE_WEIGHTS * integrand, axis=0)
        error = np.abs(np.sum(ERROR_WEIGHTS * integrand, axis=0))
        step = reach * np.expm1(length)
        # The score is hardly smaller than a sixteenth of the interquartile range.
        size = total[rows] + panel + scale.min(axis=0) / 16
        is_rough = may_have_kinks & (error > PANEL_TOLERANCE * size)
        is_rough &= (step > 1e-14 * x) & (length > 1e-12)
        longest = np.where(is_rough, length / 2, 2 * longest)
        total[rows] += np.where(is_rough, 0.0, panel)
        # The rest is at most about this; the test is written so that NaN ends the walk.
        rest = tail[-1] ** 2 * distance.max(axis=0)
        x = np.where(is_rough, x, x + step)
        is_left = is_rough | is_before | (rest > TOLERANCE * total[rows])
        # Tails so heavy that panels do not shrink have an infinite integral.
        is_far = x > 1e100 * (np.abs(centre) + scale).max(axis=0)
        is_endless = is_left & is_far & (panel >= 0.99 * before[rows]) & ~is_rough
        total[rows[is_endless]] = np.inf
        before[rows] = np.where(is_rough, before[rows], panel)
        goes_on = is_left & (x < 1e300) & ~is_endless
        if not goes_on.all():
            rows, x, longest = rows[goes_on], x[goes_on], longest[goes_on]
            centre, scale = centre[:, goes_on], scale[:, goes_on]
            tails = tails[goes_on]
    return total


def _centres_and_scales(parts: Sequence[Part]) -> tuple[Array, Array]:
    """Return two arrays of shape (components, rows)."""
    places = [distribution._centre_and_scale() for _, distribution in parts]
    centre, scale = (np.stack(arrays) for arrays in zip(*places, strict=True))
    # Move components of weight zero to another component: they need no short panels.
    weight = np.stack(
        [np.broadcast_to(part.weight, centre.shape[1:]) for part in parts]
    )
    counted = np.argmax(weight, axis=0)[None]
    centre, scale = (
        np.where(weight > 0, array, np.take_along_axis(array, counted, axis=0))
        for array in (centre, scale)
    )
    return centre, scale


class _Tails:
    """The tail of a mixture at all nodes of a panel at once."""

    def __init__(self, parts: Sequence[Part], sign: int) -> None:
        self.parts, self.sign = parts, sign
        n = len(parts[0].distribution)
        at_nodes = np.tile(np.arange(n), len(NODES))
        self._at_nodes = [part_of(part, at_nodes) for part in parts]

    def __getitem__(self, index: Any) -> _Tails:
        return _Tails([part_of(part, index) for part in self.parts], self.sign)

    def __call__(self, points: Array) -> Array:
        """Return the tail beyond points of shape (nodes, rows)."""
        tail = np.zeros(points.size)
        for weight, distribution in self._at_nodes:
            if self.sign > 0:
                part = as_array(distribution._survival(points.ravel()))
            else:
                part = as_array(distribution._cdf(-points.ravel()))
            is_rising = np.diff(part.reshape(points.shape), axis=0) > 1e-6
            if is_rising.any():
                raise ValueError(decreasing(distribution._name()))
            tail += share(weight, part)
        return tail.reshape(points.shape)


def share(weight: float | Array, values: Array) -> Array:
    """Return weighted values, where a weight of zero makes NaN and infinity vanish."""
    if isinstance(weight, np.ndarray):
        return np.where(weight > 0, weight * values, 0.0)
    return weight * values
