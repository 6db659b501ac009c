"""The normal distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from betanll._arrays import as_array, positive
from betanll.distributions._base import HALF_LOG_2PI, Distribution
from betanll.distributions._contract import affine_arguments
from betanll.distributions._crps import normal_crps
from betanll.typing import Array, Seed


@dataclass(frozen=True, eq=False)
class Normal(Distribution):
    """Independent Gaussians.

    Parameters
    ----------
    mean, std : arrays of one shape
        ``std`` must be positive and finite.

    Examples
    --------
    >>> prediction = Normal(mean=[1.0, 2.0], std=[0.5, 1.0])
    >>> prediction.quantile([0.5, 0.975]).round(2)
    array([[1.  , 1.98],
           [2.  , 3.96]])
    >>> prediction.affine(scale=10.0, shift=3.0).std
    array([ 5., 10.])
    """

    mean: Array
    std: Array

    _is_smooth = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("std", self.std)

    @classmethod
    def from_variance(cls, mean: ArrayLike, variance: ArrayLike) -> Self:
        """Build from a variance instead of a standard deviation."""
        return cls(as_array(mean), np.sqrt(positive("variance", variance)))

    @property
    def variance(self) -> Array:
        return self.std**2

    def _log_prob(self, value: Array) -> Array:
        z = (value - self.mean) / self.std
        return -0.5 * z**2 - np.log(self.std) - HALF_LOG_2PI

    def _cdf(self, value: Array) -> Array:
        return as_array(ndtr((value - self.mean) / self.std))

    def _survival(self, value: Array) -> Array:
        return as_array(ndtr((self.mean - value) / self.std))

    def _quantile(self, level: Array) -> Array:
        return as_array(self.mean + self.std * ndtri(level))

    def _crps(self, target: Array) -> Array:
        return normal_crps(target - self.mean, self.std)

    def _centre_and_scale(self) -> tuple[Array, Array]:
        return self.mean, self.std

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        noise = np.random.default_rng(rng).standard_normal((n_samples, *self.shape))
        return self.mean + self.std * noise

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        scale, shift = affine_arguments(scale, shift, self.shape)
        return type(self)(scale * self.mean + shift, scale * self.std)
