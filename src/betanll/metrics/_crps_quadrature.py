"""Numerical CRPS of mixtures that contain Student-t components."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, stdtr

from betanll.distributions import Normal, StudentT
from betanll.distributions._base import Array

# Rows at a time, so that memory stays bounded and the work fits the cache.
CHUNK = 4096
TOLERANCE = 1e-12

_ROOTS, _ROOT_WEIGHTS = np.polynomial.legendre.leggauss(16)
NODES, NODE_WEIGHTS = 0.5 * (1 + _ROOTS[:, None]), 0.5 * _ROOT_WEIGHTS[:, None]


class Part(NamedTuple):
    """A component of a mixture and its weight."""

    weight: float
    distribution: Normal | StudentT


def crps_by_quadrature(parts: Sequence[Part], target: Array) -> Array:
    """CRPS of a mixture for each element of the one-dimensional target."""
    values = np.empty(len(target))
    for start in range(0, len(target), CHUNK):
        rows = slice(start, start + CHUNK)
        chunk = [Part(weight, part[rows]) for weight, part in parts]
        values[rows] = _crps_of_chunk(chunk, target[rows])
    return values


def _crps_of_chunk(parts: Sequence[Part], target: Array) -> Array:
    weight = np.array([part.weight for part in parts])
    parameters = [_loc_scale_df(part.distribution) for part in parts]
    loc, scale, df = (np.stack(arrays) for arrays in zip(*parameters, strict=True))
    is_finite = ~(df <= 0.5).any(axis=0)
    shift, scale, df = (
        (loc - target)[:, is_finite],
        scale[:, is_finite],
        df[:, is_finite],
    )
    values = np.full(len(target), np.inf)
    # The components are symmetric, so the part below the target is the part above it
    # of the mirrored mixture.
    values[is_finite] = _squared_tail(weight, shift, scale, df)
    values[is_finite] += _squared_tail(weight, -shift, scale, df)
    return values


def _loc_scale_df(part: Normal | StudentT) -> tuple[Array, Array, Array]:
    if isinstance(part, StudentT):
        return part.loc, part.scale, part.df
    return part.mean, part.std, np.full(part.shape, np.inf)


def _squared_tail(weight: Array, loc: Array, scale: Array, df: Array) -> Array:
    """Integral of the squared upper tail of each mixture from 0 to infinity.

    The other arrays have shape (components, rows). Each row walks upwards in panels
    of Gauss quadrature in a logarithmic variable. A panel is as long as the distance
    to the closest component (plus its scale) permits, so that narrow components far
    away are met with short panels and tails are crossed with long ones.
    """
    total = np.zeros(loc.shape[1])
    rows, x = np.arange(loc.shape[1]), np.zeros(loc.shape[1])
    while rows.size:
        is_before = (loc > x).any(axis=0)
        length = np.where(is_before, math.log(1.7), 1.5)
        distance = np.abs(x - loc) + scale
        # A narrow component must not stop the walk below the resolution of x.
        reach = np.maximum(distance.min(axis=0), 1e-15 * x)
        points = x + reach * np.expm1(length * NODES)
        tail = _upper_tail(points, weight, loc, scale, df)
        jacobian = length * reach * np.exp(length * NODES)
        total[rows] += np.sum(NODE_WEIGHTS * jacobian * tail**2, axis=0)
        # The rest is at most about this; the test is written so that NaN ends the walk.
        rest = tail[-1] ** 2 * distance.max(axis=0)
        x = x + reach * np.expm1(length)
        goes_on = (is_before | (rest > TOLERANCE * total[rows])) & (x < 1e300)
        rows, x = rows[goes_on], x[goes_on]
        loc, scale, df = loc[:, goes_on], scale[:, goes_on], df[:, goes_on]
    return total


def _upper_tail(
    points: Array, weight: Array, loc: Array, scale: Array, df: Array
) -> Array:
    tail = np.zeros(points.shape)
    for k, factor in enumerate(weight):
        z = (loc[k] - points) / scale[k]
        is_normal = np.isinf(df[k]).all()
        tail += factor * (ndtr(z) if is_normal else stdtr(df[k], z))
    return tail
