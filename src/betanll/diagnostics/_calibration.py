"""Calibration: PIT values, and nominal against observed coverage."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from betanll._arrays import as_array
from betanll.distributions import Distribution
from betanll.typing import Array


def pit(predictive: Distribution, target: ArrayLike) -> Array:
    """Return the probability integral transform, the predicted cdf at each target.

    Under a perfect prediction the values are uniform on [0, 1]. In a histogram, high
    ends mean overconfidence, a hump in the middle means too wide distributions, and a
    slope means biased means.

    Parameters
    ----------
    predictive : Distribution of shape (n,) or (n, d)
    target : array of the same shape

    Returns
    -------
    array of the same shape
        NaN where the target is missing.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> pit(Normal([0.0, 0.0], [1.0, 1.0]), [0.0, 3.0]).round(3)
    array([0.5  , 0.999])
    """
    return predictive.cdf(predictive.check_target(target))


def calibration_curve(
    predictive: Distribution, target: ArrayLike, levels: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Return nominal levels and the observed coverage of the central intervals.

    A curve below the diagonal means overconfidence.

    Parameters
    ----------
    predictive : Distribution of shape (n,) or (n, d)
    target : array of the same shape
        Rows and outputs are pooled; NaN marks missing entries.
    levels : sequence of floats in [0, 1], optional
        Nominal coverages; by default 0.05, 0.1, ..., 0.95.

    Returns
    -------
    levels, fractions : arrays of shape (n_levels,)

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> predictive = Normal([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    >>> calibration_curve(predictive, [-2.0, 0.1, 0.5, 1.0], levels=[0.5, 0.9])
    (array([0.5, 0.9]), array([0.5 , 0.75]))
    """
    level_array = np.arange(1, 20) / 20 if levels is None else as_array(levels)
    if level_array.ndim != 1 or not level_array.size:
        raise ValueError(f"levels must be a sequence, got shape {level_array.shape}")
    if not np.all((level_array >= 0) & (level_array <= 1)):
        raise ValueError(f"levels must lie in [0, 1], got {level_array}")
    target = predictive.check_target(target)
    # A target is inside the central interval of every level from this number on.
    needed = np.sort(np.abs(2 * pit(predictive, target)[~np.isnan(target)] - 1))
    if not needed.size:
        raise ValueError("there is no observed target")
    if np.isnan(needed[-1]):
        return level_array, np.full(level_array.shape, np.nan)
    return level_array, np.searchsorted(needed, level_array, "right") / needed.size


def calibration_error(
    predictive: Distribution, target: ArrayLike, levels: ArrayLike | None = None
) -> float:
    """Return the mean distance of the calibration curve from the diagonal.

    The error is at most about 0.5, and of the order of ``1 / sqrt(n)`` for a perfect
    prediction. Arguments as for `calibration_curve`.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> calibration_error(Normal([0.0, 0.0], [1.0, 1.0]), [0.1, 2.0], levels=[0.6])
    0.1
    """
    level_array, fractions = calibration_curve(predictive, target, levels)
    return float(np.mean(np.abs(fractions - level_array)))
