"""The Student-t distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from betanll._arrays import as_array, check_equal_shapes, positive
from betanll.distributions._base import HALF_LOG_2PI, Distribution
from betanll.distributions._contract import affine_arguments
from betanll.distributions._crps import student_t_crps
from betanll.distributions._special import log1p_square, log_gamma_ratio
from betanll.typing import Array, Seed


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

    _is_smooth = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("df", self.df)
        positive("scale", self.scale)

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

    def _log_prob(self, value: Array) -> Array:
        a = 0.5 * self.df
        ratio = np.abs(value - self.loc) / self.scale / np.sqrt(self.df)
        log_kernel = -(a + 0.5) * log1p_square(ratio)
        return log_kernel + log_gamma_ratio(a) - np.log(self.scale) - HALF_LOG_2PI

    def _cdf(self, value: Array) -> Array:
        return as_array(stdtr(self.df, (value - self.loc) / self.scale))

    def _survival(self, value: Array) -> Array:
        return as_array(stdtr(self.df, (self.loc - value) / self.scale))

    def _quantile(self, level: Array) -> Array:
        # SciPy 1.17 gives +inf for some lower quantiles out of its reach (-1e153).
        z = np.copysign(stdtrit(self.df, level), level - 0.5)
        return as_array(self.loc + self.scale * z)

    def _crps(self, target: Array) -> Array:
        return student_t_crps(target - self.loc, self.df, self.scale)

    def _centre_and_scale(self) -> tuple[Array, Array]:
        return self.loc, self.scale

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        size = (n_samples, *self.shape)
        noise = np.random.default_rng(rng).standard_t(self.df, size)
        return self.loc + self.scale * noise

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        scale, shift = affine_arguments(scale, shift, self.shape)
        return type(self)(self.df, scale * self.loc + shift, scale * self.scale)
