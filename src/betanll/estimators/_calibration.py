"""Corrections of predicted spreads by data that was not used for training."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import optimize

from betanll.distributions import Distribution, StudentT
from betanll.model_selection import HeldOutResiduals, weighted_mean

Vector = npt.NDArray[np.float64]

_MIN_SPREAD = 1e-6

# Of Student-t residuals: fewer degrees of freedom than these, whose variance is thrice
# the squared scale, are not believed.
_MIN_DF = 3.0
# Mean and deviation of the logarithm of the degrees of freedom beyond those.
_PRIOR = (2.0, 2.0)
_MAX_RESIDUALS = 20_000


def residuals_of(
    predictive: Distribution, target: Vector, weights: Vector | None = None
) -> HeldOutResiduals:
    """Return the standardised residuals of rows that were not used for training."""
    z = standardised_residuals(predictive, target)
    is_seen = ~np.isnan(z)
    shares = is_seen * (1.0 if weights is None else weights)
    return HeldOutResiduals(np.where(is_seen, z, 0), shares)


def spread_factor(held_out: HeldOutResiduals) -> Vector:
    """Return the factor on each target's standard deviation that fits the residuals.

    Its square is the mean of the squared standardised residuals, which maximises the
    Gaussian likelihood of the calibration data; the mean stays as it is.

    References
    ----------
    Laves et al., "Well-calibrated regression uncertainty in medical imaging with deep
    learning", MIDL 2020. Levi et al., "Evaluating and calibrating uncertainty
    prediction in regression tasks", Sensors 2022.
    """
    mean_square = weighted_mean(held_out.residuals**2, held_out.weights, default=1.0)
    return np.maximum(np.sqrt(mean_square), _MIN_SPREAD)


def student_t_fit(held_out: HeldOutResiduals) -> tuple[Vector, Vector]:
    """Return spread factor and degrees of freedom of each target's residuals.

    They maximise the likelihood of a Student t. A prior worth one row holds the degrees
    of freedom where the residuals say little.
    """
    factors = spread_factor(held_out)
    found = [
        _fit_student_t(z[weight > 0] / factor, weight[weight > 0])
        for z, weight, factor in zip(
            held_out.residuals.T, held_out.weights.T, factors, strict=True
        )
    ]
    ratios, df = np.array(found).T
    return np.maximum(factors * ratios, _MIN_SPREAD), df


def _fit_student_t(z: Vector, weights: Vector) -> tuple[float, float]:
    """Return standard deviation and degrees of freedom of the best Student t."""
    step = -(-len(z) // _MAX_RESIDUALS) if len(z) else 1
    z, weights = z[::step], weights[::step]
    # As many rows as there are, whatever the unit of the weights.
    shares = weights * (len(weights) / max(np.sum(weights), np.finfo(float).tiny))

    def std_and_df(point: Vector) -> tuple[float, float]:
        return math.exp(point[0]), _MIN_DF + math.exp(point[1])

    def loss(point: Vector) -> float:
        std, df = std_and_df(point)
        scale = std * math.sqrt((df - 2) / df)
        density = StudentT(
            np.full(z.shape, df), np.zeros(z.shape), np.full(z.shape, scale)
        )
        prior = 0.5 * ((point[1] - _PRIOR[0]) / _PRIOR[1]) ** 2
        return prior - float(np.sum(shares * density.log_prob(z)))

    start = np.array([0.0, _PRIOR[0]])
    limits = [(-15.0, 15.0), (-15.0, 6.0)]
    found = optimize.minimize(loss, start, method="Nelder-Mead", bounds=limits)
    return std_and_df(found.x)


def with_spread(predictive: Distribution, factor: Vector) -> Distribution:
    """Return the distribution stretched about its mean, for each target."""
    if np.all(factor == 1):
        return predictive
    return predictive.affine(factor, (1 - factor) * predictive.mean)


def with_tails(predictive: Distribution, factor: Vector, df: Vector) -> Distribution:
    """Return the Student t of the same mean and the spread stretched by a factor.

    It replaces the distribution, which has to be normal or a mixture of normals.
    """
    scale = predictive.std * factor * np.sqrt((df - 2) / df)
    return StudentT(np.broadcast_to(df, scale.shape), predictive.mean, scale)


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
