"""Mixtures of normals whose weights differ from row to row, as skpro predicts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from betanll import metrics
from betanll.distributions import Distribution, Normal
from betanll.distributions._base import (
    HALF_LOG_2PI,
    Array,
    Seed,
    affine_arguments,
    as_array,
)
from betanll.distributions._mixture import _increasing_root
from betanll.metrics._checks import check_target
from betanll.metrics._crps import _normal_mixture
from betanll.metrics._crps_quadrature import Part


@dataclass(frozen=True, eq=False)
class WeightedMixture(Distribution):
    """A mixture of normals for each element.

    Parameters
    ----------
    weights : array of shape (n, 1, K)
        Positive or zero, of sum one.
    means, stds : arrays of shape (n, d, K)
    """

    weights: Array
    means: Array
    stds: Array

    @property
    def mean(self) -> Array:
        return as_array(np.sum(self.weights * self.means, axis=-1))

    @property
    def variance(self) -> Array:
        spread = self.stds**2 + (self.means - self.mean[..., None]) ** 2
        return as_array(np.sum(self.weights * spread, axis=-1))

    @property
    def std(self) -> Array:
        return np.sqrt(self.variance)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.means.shape[:-1]

    def _log_prob(self, value: Array) -> Array:
        z = (value[..., None] - self.means) / self.stds
        with np.errstate(divide="ignore"):  # a weight may be zero
            logs = np.log(self.weights) - 0.5 * z**2 - np.log(self.stds) - HALF_LOG_2PI
        return as_array(np.logaddexp.reduce(logs, axis=-1))

    def _tail(self, value: Array, sign: int) -> Array:
        z = (value[..., None] - self.means) / self.stds
        return as_array(np.sum(self.weights * ndtr(sign * z), axis=-1))

    def _quantile(self, level: float) -> Array:
        bounds = self.means + self.stds * ndtri(level)
        sign, aim = (1, level) if level <= 0.5 else (-1, 1 - level)

        def excess_and_slope(value: Array) -> tuple[Array, Array]:
            return sign * (self._tail(value, sign) - aim), np.exp(self._log_prob(value))

        return _increasing_root(
            excess_and_slope,
            bounds.min(axis=-1),
            bounds.max(axis=-1),
            self.stds.min(axis=-1),
        )

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        rng = np.random.default_rng(rng)
        # The component of a row, the same for all of its targets.
        edges = np.cumsum(self.weights[:, 0], axis=-1)
        edges[:, -1] = 1.0
        level = rng.uniform(size=(n_samples, len(edges), 1))
        chosen = np.argmax(level < edges, axis=-1)[..., None, None]
        mean, std = (
            np.take_along_axis(part[None], chosen, axis=-1)[..., 0]
            for part in (self.means, self.stds)
        )
        return as_array(mean + std * rng.standard_normal(mean.shape))

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        scale, shift = affine_arguments(scale, shift, self.shape)
        scale, shift = scale[..., None], shift[..., None]
        return type(self)(self.weights, scale * self.means + shift, scale * self.stds)

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.weights[index], self.means[index], self.stds[index])


def crps(predictive: Distribution, target: Array) -> float:
    """Return `metrics.crps`, which does not know weights, of weighted mixtures too."""
    if not isinstance(predictive, WeightedMixture):
        return metrics.crps(predictive, target)
    parts = [
        # Its closed form holds for arrays of weights as well.
        Part(weight, Normal(mean, std))
        for weight, mean, std in zip(
            np.moveaxis(predictive.weights, -1, 0),
            np.moveaxis(predictive.means, -1, 0),
            np.moveaxis(predictive.stds, -1, 0),
            strict=True,
        )
    ]
    return float(np.mean(_normal_mixture(parts, check_target(predictive, target))))
