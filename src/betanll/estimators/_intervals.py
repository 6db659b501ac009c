"""Intervals and quantiles, with conformal scores where there are any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real

import numpy as np

from betanll.distributions import Distribution, Transformed
from betanll.estimators._calibration import conformal_factors
from betanll.typing import Array

#: Sorted conformal scores of each target, or None: then the distribution tells.
Scores = Sequence[Array] | None


def interval_of(predictive: Distribution, scores: Scores, coverage: float) -> Array:
    """Return the intervals of distributions of shape (n, n_outputs)."""
    is_number = isinstance(coverage, Real) and not isinstance(coverage, bool)
    if not is_number or not 0 < coverage < 1:
        raise ValueError(f"coverage must lie in (0, 1), got {coverage!r}")
    if scores is None:
        return predictive.interval(coverage)
    centre, to_value = _scored(predictive)
    half_width = _half_width(centre, conformal_factors(scores, coverage))
    bounds = [centre.mean - half_width, centre.mean + half_width]
    return np.stack([to_value(bound) for bound in bounds], axis=1)


def quantiles_of(
    predictive: Distribution, scores: Scores, alpha: float | Sequence[float]
) -> Array:
    """Return quantiles of distributions of shape (n, n_outputs)."""
    if scores is None:
        return predictive.quantile(alpha)
    levels = np.asarray(alpha, np.float64)
    if levels.ndim > 1 or not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(f"alpha must hold numbers in [0, 1], got {alpha!r}")
    centre, to_value = _scored(predictive)
    quantiles = np.empty((*predictive.shape, levels.size))
    for i, level in enumerate(levels.ravel().tolist()):
        half_width = _half_width(centre, conformal_factors(scores, abs(2 * level - 1)))
        bound = centre.mean + np.sign(level - 0.5) * half_width
        quantiles[..., i] = to_value(bound)
    return quantiles if levels.ndim else quantiles[..., 0]


def _scored(predictive: Distribution) -> tuple[Distribution, Callable[[Array], Array]]:
    """Return the distribution on the scale of the scores, and the way back."""
    if isinstance(predictive, Transformed):
        return predictive.base, predictive.to_value
    return predictive, np.asarray


def _half_width(predictive: Distribution, factors: Array) -> Array:
    # An infinite factor is infinite even where the std underflows to zero.
    return np.where(np.isinf(factors), np.inf, factors * predictive.std)
