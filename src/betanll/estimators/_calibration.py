"""Corrections of predicted spreads by data that was not used for training."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from betanll.distributions import Distribution

Vector = npt.NDArray[np.float64]

_MIN_SPREAD = 1e-6


def spread_factor(
    predictive: Distribution, target: Vector, weights: Vector | None = None
) -> Vector:
    """Return the factor on each target's standard deviation that fits the residuals.

    Its square is the mean of the squared standardised residuals, which maximises the
    Gaussian likelihood of the calibration data; the mean stays as it is.

    References
    ----------
    Laves et al., "Well-calibrated regression uncertainty in medical imaging with deep
    learning", MIDL 2020. Levi et al., "Evaluating and calibrating uncertainty
    prediction in regression tasks", Sensors 2022.
    """
    z = standardised_residuals(predictive, target)
    is_seen = ~np.isnan(z)
    share = is_seen * (1.0 if weights is None else weights)
    count = np.sum(share, axis=0)
    square = np.sum(share * np.where(is_seen, z, 0) ** 2, axis=0)
    mean_square = np.where(count > 0, square / np.where(count > 0, count, 1), 1.0)
    return np.maximum(np.sqrt(mean_square), _MIN_SPREAD)


def with_spread(predictive: Distribution, factor: Vector) -> Distribution:
    """Return the distribution stretched about its mean, for each target."""
    if np.all(factor == 1):
        return predictive
    return predictive.affine(factor, (1 - factor) * predictive.mean)


def standardised_residuals(predictive: Distribution, target: Vector) -> Vector:
    """Return ``(target - mean) / std``, NaN where the target is missing."""
    residual = target - predictive.mean
    # An infinite std (a Student t with heavy tails) makes any residual small.
    return np.where(np.isnan(residual), np.nan, residual / predictive.std)


def conformal_scores(predictive: Distribution, target: Vector) -> list[Vector]:
    """Return the sorted absolute standardised residuals of each target."""
    scores = np.abs(standardised_residuals(predictive, target))
    return [np.sort(column[~np.isnan(column)]) for column in scores.T]


def conformal_factors(scores: Sequence[Vector], coverage: float) -> Vector:
    """Return for each target the multiple of the std that reaches `coverage`.

    With n scores it is the k-th smallest, k = ceil((n + 1) coverage), and infinite if
    there is none: n is too small to promise that coverage. New data from the same
    distribution then lies inside with probability between `coverage` and
    ``coverage + 1 / (n + 1)``, whatever the model.

    References
    ----------
    Lei et al., "Distribution-free predictive inference for regression", JASA 2018.

    Examples
    --------
    >>> conformal_factors([np.array([0.5, 1.0, 2.0])], coverage=0.7)
    array([2.])
    >>> conformal_factors([np.array([0.5, 1.0, 2.0])], coverage=0.9)
    array([inf])
    """
    factors = []
    for column in scores:
        n = len(column)
        # Rounded, because (n + 1) 0.9 may come out a hair above a whole number.
        k = math.ceil(round((n + 1) * coverage, 9))
        factors.append(0.0 if k == 0 else math.inf if k > n else column[k - 1])
    return np.array(factors)
