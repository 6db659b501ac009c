"""Metrics of the mean, of the density and of the spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from betanll.distributions import Distribution
from betanll.distributions._base import as_array
from betanll.metrics._checks import (
    check_finite_or_missing,
    check_target,
    mean_observed,
)


def rmse(mean: ArrayLike, target: ArrayLike) -> float:
    """Return the root of the squared error, averaged over samples *and* outputs.

    Examples
    --------
    >>> rmse([[0.0, 0.0]], [[3.0, 1.0]]) ** 2
    5.0
    """
    mean, target = as_array(mean), check_finite_or_missing(target)
    if mean.shape != target.shape:
        raise ValueError(
            f"mean and target must have the same shape, got {mean.shape} "
            f"and {target.shape}"
        )
    with np.errstate(over="ignore"):
        return float(np.sqrt(mean_observed((mean - target) ** 2, target)))


def log_likelihood(predictive: Distribution, target: ArrayLike) -> float:
    """Return the log-density, summed over outputs and averaged over samples.

    With missing targets, each output is averaged over its own observed rows before
    the sum over outputs, so that the result stays comparable with complete data. An
    output without any observed row raises.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> two_outputs = Normal([[0.0, 0.0]], [[1.0, 1.0]])
    >>> round(log_likelihood(two_outputs, [[0.0, 0.0]]), 4)
    -1.8379
    """
    target = check_target(predictive, target)
    observed = ~np.isnan(target)
    n_observed = observed.sum(axis=0)
    if not np.all(n_observed):
        raise ValueError("every output needs at least one observed target")
    # The log-sum-exp of a mixture warns of NaN, which targets and means may be.
    with np.errstate(invalid="ignore"):
        log_prob = predictive.log_prob(target)
    return float(np.sum(np.where(observed, log_prob / n_observed, 0.0)))


def mean_squared_z(predictive: Distribution, target: ArrayLike) -> float:
    """Return the mean of ``((target - mean) / std)**2``, which is 1 if calibrated.

    Larger values mean overconfidence: multiplying the variances by this number makes
    them right on average. A Student-t of df <= 2 counts as 0, its variance being
    infinite, and one of df <= 1 gives NaN.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> mean_squared_z(Normal([0.0, 0.0], [1.0, 2.0]), [3.0, 2.0])
    5.0
    """
    target = check_target(predictive, target)
    with np.errstate(over="ignore"):
        z = (target - predictive.mean) / predictive.std
        return mean_observed(z**2, target)
