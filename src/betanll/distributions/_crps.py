"""Closed forms of the continuous ranked probability score."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import erf, exprel, ndtr, polygamma, stdtr

from betanll._arrays import as_array
from betanll.distributions._crps_quadrature import Part, share
from betanll.distributions._special import log1p_square, log_gamma_ratio
from betanll.typing import Array


def normal_crps(residual: Array, std: Array) -> Array:
    """CRPS of a normal distribution at a distance from its mean."""
    return _mean_distance(residual, std) - std / math.sqrt(math.pi)


def normal_mixture_crps(parts: Sequence[Part], target: Array) -> Array:
    """Mean distance to the target less half the mean distance between two draws.

    References
    ----------
    Grimit, Gneiting, Berrocal and Johnson, "The continuous ranked probability score for
    circular variables and its application to mesoscale forecast ensemble
    verification", 2006.
    """
    # One pair at a time: an array over all pairs would not fit for many rows.
    values = np.zeros(target.shape)
    for i, (weight, one) in enumerate(parts):
        values += share(weight, _mean_distance(target - one.mean, one.std))
        values -= share(weight**2, one.std) / math.sqrt(math.pi)
        for other_weight, other in parts[:i]:
            std = np.hypot(one.std, other.std)
            distance = _mean_distance(one.mean - other.mean, std)
            values -= share(weight * other_weight, distance)
    return values


def lognormal_mixture_crps(parts: Sequence[Part], target: Array) -> Array:
    """CRPS of a mixture of log-normals, whose logarithms are the normal `parts`.

    With the means m of the log-normals and F of the mixture it reads

        y (2 F(y) - 1) + 2 sum_i w_i m_i (sum_j w_j P(i, j) - Phi(z_i - s_i)),

    where z_i = (log y - mu_i) / s_i, and m_i P(i, j) is the part of the mean of i where
    its draw is less than a draw of j. Targets of at most 0 are below all draws.

    References
    ----------
    Baran and Lerch, "Log-normal distribution based Ensemble Model Output Statistics
    models for probabilistic wind-speed forecasting", Quarterly Journal of the Royal
    Meteorological Society 141, 2015, for a single component.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_target = np.where(target > 0, np.log(target), -np.inf)
    below = np.zeros(target.shape)
    means = np.zeros(target.shape)
    for weight, one in parts:
        z = (log_target - one.mean) / one.std
        below += share(weight, ndtr(z))
        smaller = -ndtr(z - one.std)
        for other_weight, other in parts:
            std = np.hypot(one.std, other.std)
            distance = (other.mean - one.mean - one.std**2) / std
            smaller = smaller + share(other_weight, ndtr(distance))
        means += share(weight, np.exp(one.mean + 0.5 * one.std**2) * smaller)
    return as_array(target * (2 * below - 1) + 2 * means)


def _mean_distance(shift: Array, std: Array) -> Array:
    """E|shift + std Z| for a standard normal Z."""
    z = shift / std
    density = math.sqrt(2 / math.pi) * np.exp(-0.5 * z**2)
    return as_array(np.abs(shift) * erf(np.abs(z) / math.sqrt(2)) + std * density)


# log R of `student_t_crps` is the sum of _SERIES[-k] * (df - 1)**k over k = 1, ..., 8.
_SERIES = [
    (1 - 0.5**k) * (polygamma(k - 1, 0.5) - polygamma(k - 1, 1.0)) / math.factorial(k)
    for k in range(8, 0, -1)
]


def student_t_crps(residual: Array, df: Array, scale: Array) -> Array:
    """The closed form, rearranged so that it has no singularity at df = 1.

    With z = |residual| / scale and B the beta function, it reads

        z (2 F(z) - 1) + A (E - R) / (df - 1),    A = 2 sqrt(df) / B(1/2, df/2),
        E = (1 + z^2/df)^((1 - df)/2),            R = B(1/2, df - 1/2) / B(1/2, df/2)

    times the scale; E and R both tend to 1 as df does.
    """
    is_finite = df > 0.5
    df = np.where(is_finite, df, 1.0)
    excess = df - 1
    z = np.abs(residual) / scale
    half_log = 0.5 * log1p_square(np.minimum(z / np.sqrt(df), 1e300))
    log_ratio = log_gamma_ratio(df / 2) - log_gamma_ratio(df - 0.5)
    log_ratio += 0.5 * np.log(df / (2 * df - 1))
    is_near = np.abs(excess) < 0.01
    slope = np.where(
        is_near, np.polyval(_SERIES, excess), log_ratio / np.where(is_near, 1, excess)
    )
    difference = -half_log * exprel(-half_log * excess) - slope * exprel(slope * excess)
    factor = math.sqrt(2 / math.pi) * df * np.exp(log_gamma_ratio(df / 2))
    distance = np.abs(residual) * (2 * stdtr(df, z) - 1)
    return np.where(is_finite, distance + scale * factor * difference, np.inf)
