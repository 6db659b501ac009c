"""Metrics of prediction intervals and quantiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from betanll._arrays import as_array
from betanll.metrics._targets import check_finite_or_missing, mean_observed
from betanll.typing import Array


def interval_coverage(interval: ArrayLike, target: ArrayLike) -> float:
    """Return the fraction of observed targets inside their closed interval.

    Parameters
    ----------
    interval : array of shape (n, 2) or (n, 2, d)
        Lower and upper bounds on axis 1, as `Distribution.interval` returns them.
        Bounds may be infinite.
    target : array of shape (n,) or (n, d)

    Examples
    --------
    >>> interval_coverage([[0.0, 1.0], [0.0, 1.0]], [1.0, 2.0])
    0.5
    """
    lower, upper, target = _bounds_and_target(interval, target)
    is_inside = (lower <= target) & (target <= upper)
    is_unknown = np.isnan(lower) | np.isnan(upper)
    return mean_observed(np.where(is_unknown, np.nan, is_inside), target)


def interval_width(interval: ArrayLike) -> float:
    """Return the width, averaged over rows and outputs; infinite if any width is.

    Examples
    --------
    >>> interval_width([[0.0, 1.0], [0.0, 2.0]])
    1.5
    """
    lower, upper = _bounds(interval)
    if not lower.size:
        raise ValueError("there is no interval to average over")
    return float(np.mean(upper - lower))


def interval_score(interval: ArrayLike, target: ArrayLike, coverage: float) -> float:
    """Return the interval score, averaged over observed entries; smaller is better.

    The score is the width plus, for targets outside, 2 / (1 - coverage) times the
    distance from the interval. The central interval of the true distribution minimises
    the expected score.

    Parameters
    ----------
    interval : array of shape (n, 2) or (n, 2, d)
    target : array of shape (n,) or (n, d)
    coverage : float in (0, 1)
        The nominal coverage of the interval.

    References
    ----------
    Gneiting and Raftery, "Strictly proper scoring rules, prediction, and estimation",
    Journal of the American Statistical Association 102, 2007, section 6.2.

    Examples
    --------
    >>> interval_score([[0.0, 1.0], [0.0, 1.0]], [0.5, 1.5], coverage=0.5)
    2.0
    """
    check_coverage(coverage)
    lower, upper, target = _bounds_and_target(interval, target)
    outside = np.maximum(lower - target, 0) + np.maximum(target - upper, 0)
    return mean_observed(upper - lower + 2 / (1 - coverage) * outside, target)


def pinball_loss(quantiles: ArrayLike, target: ArrayLike, levels: ArrayLike) -> float:
    """Return the quantile loss, averaged over observed entries and levels.

    Averaged over evenly spread levels, the loss is half the CRPS.

    Parameters
    ----------
    quantiles : array of shape (n,) or (n, d), with a last axis more for several levels
        As `Distribution.quantile` returns them.
    target : array of shape (n,) or (n, d)
    levels : float or sequence of floats in (0, 1)

    Examples
    --------
    >>> pinball_loss([[0.0, 1.0]], [3.0], levels=[0.5, 0.75])
    1.5
    """
    quantiles, levels = as_array(quantiles), as_array(levels)
    target = check_finite_or_missing(target)
    if levels.ndim > 1 or not levels.size:
        raise ValueError(f"levels must be a number or a sequence, got {levels}")
    if not np.all((levels > 0) & (levels < 1)):
        raise ValueError(f"levels must lie in (0, 1), got {levels}")
    if not target.ndim or quantiles.shape != target.shape + levels.shape:
        raise ValueError(
            f"quantiles have shape {quantiles.shape}, but the target {target.shape} "
            f"and the levels {levels.shape}"
        )
    errors = target.reshape(target.shape + (1,) * levels.ndim) - quantiles
    losses = np.maximum(levels * errors, (levels - 1) * errors)
    return mean_observed(losses.mean(axis=-1) if levels.ndim else losses, target)


def check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must lie in (0, 1), got {coverage}")


def _bounds(interval: ArrayLike) -> tuple[Array, Array]:
    interval = as_array(interval)
    if interval.ndim < 2 or interval.shape[1] != 2:
        raise ValueError(
            f"interval must have shape (n, 2) or (n, 2, d), got {interval.shape}"
        )
    lower, upper = interval[:, 0], interval[:, 1]
    if np.any(lower > upper):
        raise ValueError("a lower bound exceeds its upper bound")
    return lower, upper


def _bounds_and_target(
    interval: ArrayLike, target: ArrayLike
) -> tuple[Array, Array, Array]:
    lower, upper = _bounds(interval)
    target = check_finite_or_missing(target)
    if target.shape != lower.shape:
        raise ValueError(
            f"target has shape {target.shape}, but the intervals are for {lower.shape}"
        )
    return lower, upper, target
