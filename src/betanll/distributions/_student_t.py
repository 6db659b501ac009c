"""The Student-t distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, stdtr, stdtrit

from betanll.distributions._base import (
    HALF_LOG_2PI,
    Array,
    Distribution,
    Seed,
    affine_arguments,
    as_array,
    check_equal_shapes,
    positive,
    set_fields,
)


@dataclass(frozen=True, eq=False)
class StudentT(Distribution):
    """Independent Student-t distributions with location and scale.

    The variance is ``scale**2 * df / (df - 2)``, which is infinite for 1 < df <= 2; for
    df <= 1 neither mean nor variance exists and both are NaN.

    Parameters
    ----------
    df, loc, scale : arrays of one shape
        ``df`` and ``scale`` must be positive and finite.

    Examples
    --------
    >>> prediction = StudentT.from_gamma(mean=[0.0], shape=[3.0], rate=[4.0])
    >>> prediction.df, prediction.variance
    (array([6.]), array([2.]))
    >>> prediction.interval(0.95).round(3)
    array([[-2.825,  2.825]])
    """

    df: Array
    loc: Array
    scale: Array

    def __post_init__(self) -> None:
        df, scale = positive("df", self.df), positive("scale", self.scale)
        set_fields(self, df=df, loc=as_array(self.loc), scale=scale)

    @classmethod
    def from_gamma(cls, mean: ArrayLike, shape: ArrayLike, rate: ArrayLike) -> Self:
        """Integrate a Gamma(shape, rate) precision out of a Gaussian around `mean`.

        With shape a and rate b: df = 2a, scale = sqrt(b / a), variance = b / (a - 1).
        """
        a, b = positive("shape", shape), positive("rate", rate)
        check_equal_shapes(shape=a, rate=b)
        return cls(2 * a, as_array(mean), np.sqrt(b / a))

    @property
    def mean(self) -> Array:
        return np.where(self.df > 1, self.loc, np.nan)

    @property
    def variance(self) -> Array:
        excess_df = np.where(self.df > 2, self.df - 2, np.nan)
        missing = np.where(self.df > 1, np.inf, np.nan)
        return np.where(self.df > 2, self.scale**2 * (self.df / excess_df), missing)

    @property
    def std(self) -> Array:
        # The square of the scale may under- or overflow where the std does not.
        excess_df = np.where(self.df > 2, self.df - 2, np.nan)
        missing = np.where(self.df > 1, np.inf, np.nan)
        return np.where(self.df > 2, self.scale * np.sqrt(self.df / excess_df), missing)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.loc.shape

    def _log_prob(self, value: Array) -> Array:
        a = 0.5 * self.df
        ratio = np.abs(value - self.loc) / self.scale / np.sqrt(self.df)
        log_kernel = -(a + 0.5) * _log1p_square(ratio)
        return log_kernel + _log_gamma_ratio(a) - np.log(self.scale) - HALF_LOG_2PI

    def _tail(self, value: Array, sign: int) -> Array:
        return as_array(stdtr(self.df, sign * (value - self.loc) / self.scale))

    def _quantile(self, level: float) -> Array:
        # SciPy 1.17 gives +inf for some lower quantiles out of its reach (-1e153).
        z = np.copysign(stdtrit(self.df, level), level - 0.5)
        return as_array(self.loc + self.scale * z)

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        size = (n_samples, *self.shape)
        noise = np.random.default_rng(rng).standard_t(self.df, size)
        return self.loc + self.scale * noise

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        scale, shift = affine_arguments(scale, shift, self.shape)
        return type(self)(self.df, scale * self.loc + shift, scale * self.scale)

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.df[index], self.loc[index], self.scale[index])


def _log_gamma_ratio(a: Array) -> Array:
    """log Gamma(a + 1/2) - log Gamma(a) - log(a) / 2, which vanishes as a grows.

    The difference of log-gammas loses its digits for large a; from a = 16 on, the
    asymptotic series is exact to rounding.
    """
    small = np.minimum(a, 16.0)
    direct = gammaln(small + 0.5) - gammaln(small) - 0.5 * np.log(small)
    u = 1 / np.maximum(a, 16.0)
    series = u * np.polyval([-31 / 18432, 17 / 14336, -1 / 640, 1 / 192, -1 / 8], u * u)
    return np.where(a < 16, direct, series)


def _log1p_square(r: Array) -> Array:
    """log(1 + r**2) for r >= 0, accurate for small r and finite for huge r."""
    large = 2 * np.log(np.hypot(1.0, r))
    return np.where(r > 1, large, np.log1p(np.minimum(r, 1.0) ** 2))
