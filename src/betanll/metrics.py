"""Quality of predictions, in the unit of the target and in double precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from betanll.distributions import Distribution


def rmse(mean: ArrayLike, target: ArrayLike) -> float:
    """Return the root of the squared error, averaged over samples *and* outputs.

    Examples
    --------
    >>> rmse([[0.0, 0.0]], [[3.0, 1.0]]) ** 2
    5.0
    """
    mean, target = np.asarray(mean, np.float64), np.asarray(target, np.float64)
    if mean.shape != target.shape:
        raise ValueError(
            f"mean and target must have the same shape, got {mean.shape} "
            f"and {target.shape}"
        )
    return float(np.sqrt(np.mean((mean - target) ** 2)))


def log_likelihood(predictive: Distribution, target: ArrayLike) -> float:
    """Return the log-density, summed over outputs and averaged over samples.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> two_outputs = Normal([[0.0, 0.0]], [[1.0, 1.0]])
    >>> round(log_likelihood(two_outputs, [[0.0, 0.0]]), 4)
    -1.8379
    """
    log_prob = predictive.log_prob(target)
    return float(np.mean(np.sum(log_prob.reshape(len(log_prob), -1), axis=1)))
