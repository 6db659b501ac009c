"""Functions of the Student-t distribution, accurate for all degrees of freedom."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from betanll.typing import Array


def log_gamma_ratio(a: Array) -> Array:
    """log Gamma(a + 1/2) - log Gamma(a) - log(a) / 2, which vanishes as a grows.

    The difference of log-gammas loses its digits for large a; from a = 16 on, the
    asymptotic series is exact to rounding.
    """
    small = np.minimum(a, 16.0)
    direct = gammaln(small + 0.5) - gammaln(small) - 0.5 * np.log(small)
    u = 1 / np.maximum(a, 16.0)
    series = u * np.polyval([-31 / 18432, 17 / 14336, -1 / 640, 1 / 192, -1 / 8], u * u)
    return np.where(a < 16, direct, series)


def log1p_square(r: Array) -> Array:
    """log(1 + r**2) for r >= 0, accurate for small r and finite for huge r."""
    large = 2 * np.log(np.hypot(1.0, r))
    return np.where(r > 1, large, np.log1p(np.minimum(r, 1.0) ** 2))
