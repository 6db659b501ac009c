"""Checks of targets, and means over their observed entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from betanll._arrays import as_array
from betanll.typing import Array


def check_finite_or_missing(target: ArrayLike) -> Array:
    """Return the target as an array of doubles, in which NaN marks missing entries."""
    array = as_array(target)
    if np.isinf(array).any():
        raise ValueError("target has infinite entries; mark missing ones with NaN")
    return array


def mean_observed(values: ArrayLike, target: Array) -> float:
    """Return the mean of elementwise `values` where the target is not missing."""
    observed = ~np.isnan(target)
    if not observed.any():
        raise ValueError("there is no observed target to average over")
    return float(np.mean(as_array(values)[observed]))
