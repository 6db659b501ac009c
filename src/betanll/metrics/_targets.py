"""Targets: their shape, their missing entries, and means over the rest."""

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
    """Mean of the elementwise `values` over the entries whose target is known."""
    observed = ~np.isnan(target)
    if not observed.any():
        raise ValueError("there is no observed target to average over")
    return float(np.mean(as_array(values)[observed]))
