"""Metrics of the mean, of the density and of the spread, and all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from betanll._arrays import as_array
from betanll.distributions import Distribution
from betanll.metrics._intervals import interval_coverage, interval_width
from betanll.metrics._targets import check_finite_or_missing, mean_observed


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

    With missing targets, each output is averaged over its observed rows before the sum
    over outputs, so that the result stays comparable with complete data. Raises if an
    output has no observed row.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> two_outputs = Normal([[0.0, 0.0]], [[1.0, 1.0]])
    >>> round(log_likelihood(two_outputs, [[0.0, 0.0]]), 4)
    -1.8379
    """
    target = predictive.check_target(target)
    observed = ~np.isnan(target)
    n_observed = observed.sum(axis=0)
    if not np.all(n_observed):
        raise ValueError("every output needs at least one observed target")
    # The log-sum-exp of a mixture warns of NaN targets and means.
    with np.errstate(invalid="ignore"):
        log_prob = predictive.log_prob(target)
    return float(np.sum(np.where(observed, log_prob / n_observed, 0.0)))


def mean_squared_z(predictive: Distribution, target: ArrayLike) -> float:
    """Return the mean of ``((target - mean) / std)**2``, which is 1 if calibrated.

    Larger values mean overconfidence: multiply the variances by this number to correct
    them on average. A Student-t with 1 < df <= 2 counts as 0, because its variance is
    infinite; df <= 1 gives NaN.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> mean_squared_z(Normal([0.0, 0.0], [1.0, 2.0]), [3.0, 2.0])
    5.0
    """
    target = predictive.check_target(target)
    with np.errstate(over="ignore"):
        z = (target - predictive.mean) / predictive.std
        return mean_observed(z**2, target)


def crps(predictive: Distribution, target: ArrayLike) -> float:
    """Return the continuous ranked probability score, averaged over rows and outputs.

    A proper score in the unit of the target; smaller is better. It becomes the absolute
    error as the distribution shrinks to a point, and a single outlier costs no more
    than its distance. `Distribution.crps` returns the score of each entry.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> crps(Normal([0.0, 0.0], [1.0, 1e-9]), [0.0, 3.0])
    1.616847...
    """
    target = predictive.check_target(target)
    return mean_observed(predictive.crps(target), target)


@dataclass(frozen=True)
class Scores:
    """The scores that `evaluate` returns.

    Parameters
    ----------
    rmse, crps : float
        Averaged over samples and outputs, in the unit of the target.
    log_likelihood : float
        Summed over outputs, averaged over samples.
    coverage, width : dict from level to float
        Observed coverage and mean width of the intervals of each nominal level.
    """

    rmse: float
    log_likelihood: float
    crps: float
    coverage: dict[float, float]
    width: dict[float, float]


def evaluate(
    predictive: Distribution,
    target: ArrayLike,
    *,
    levels: Sequence[float] = (0.5, 0.9, 0.95),
    intervals: Callable[[float], ArrayLike] | None = None,
) -> Scores:
    """Return error, log-likelihood, CRPS, and coverage and width of intervals.

    Parameters
    ----------
    predictive : Distribution of shape (n,) or (n, d)
    target : array of the same shape
        NaN marks missing entries. Widths are averaged over all entries, missing or not.
    levels : sequence of floats in (0, 1)
        Nominal coverages of the intervals.
    intervals : callable, optional
        Takes a coverage and returns intervals of shape (n, 2) or (n, 2, d), perhaps
        conformal ones, which may be infinite. By default ``predictive.interval``.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> scores = evaluate(Normal([0.0, 0.0], [1.0, 1.0]), [0.0, 1.0], levels=[0.5])
    >>> round(scores.rmse, 3), scores.coverage
    (0.707, {0.5: 0.5})
    """
    bounds = {level: (intervals or predictive.interval)(level) for level in levels}
    return Scores(
        rmse=rmse(predictive.mean, target),
        log_likelihood=log_likelihood(predictive, target),
        crps=crps(predictive, target),
        coverage={level: interval_coverage(b, target) for level, b in bounds.items()},
        width={level: interval_width(b) for level, b in bounds.items()},
    )
