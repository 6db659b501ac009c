"""Distributions of targets that were mapped to the real line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from betanll.distributions._base import Distribution
from betanll.distributions._crps import lognormal_mixture_crps
from betanll.distributions._crps_quadrature import Part
from betanll.distributions._mixture import Mixture
from betanll.distributions._normal import Normal
from betanll.distributions._student_t import StudentT
from betanll.distributions.transforms import Identity, Log, Transform
from betanll.typing import Array, Seed

#: Of the trapezoidal rule: intervals, and standard deviations on both sides.
_N_NODES = 800
_LONGEST_REACH = 37.0


@dataclass(frozen=True, eq=False)
class Transformed(Distribution):
    """The distribution of Y where ``transform(Y)`` has the distribution `base`.

    Density, cdf, quantiles, intervals and samples are exact. All of them lie in the
    support of the transform: prices stay positive.

    Mean, variance and CRPS are closed forms for logarithms of normals and of their
    mixtures, and integrals over quantiles or the cdf for others. The exponential of a
    Student t has no mean, whatever its degrees of freedom: mean, variance and CRPS are
    infinite.

    Parameters
    ----------
    base : Distribution
        On the transformed scale.
    transform : Transform, or a sequence of one for each element of the last axis
    which : array of int of the shape of `base`, optional
        For each element the place of its transform in the sequence.

    References
    ----------
    Baran and Lerch, "Log-normal distribution based Ensemble Model Output Statistics
    models for probabilistic wind-speed forecasting", Quarterly Journal of the Royal
    Meteorological Society 141, 2015: the CRPS of a log-normal distribution.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> price = Transformed(Normal([0.0], [1.0]), Log())
    >>> price.mean.round(4), price.quantile(0.5), price.interval(0.9).round(4)
    (array([1.6487]), array([1.]), array([[0.193 , 5.1803]]))
    >>> price.cdf([0.0]), price.log_prob([-1.0]), price.crps([1.0]).round(6)
    (array([0.]), array([-inf]), array([0.267405]))
    """

    base: Distribution
    transform: Transform | Sequence[Transform]
    which: Any = None

    def __post_init__(self) -> None:
        shape = self.base.shape
        transforms, which = self.transform, self.which
        if isinstance(transforms, Transform):
            transforms, which = (transforms,), np.zeros(shape, np.intp)
        transforms = tuple(transforms)
        if which is None:
            if shape[-1:] != (len(transforms),):
                raise ValueError(
                    f"{len(transforms)} transforms were given for a distribution of "
                    f"shape {shape}"
                )
            which = np.arange(len(transforms))
        object.__setattr__(self, "transform", transforms)
        object.__setattr__(self, "which", np.broadcast_to(which, shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.base.shape

    @property
    def members(self) -> Distribution:
        """The same distribution; a mixture if `base` is one, member by member."""
        base = self.base
        if not isinstance(base, Mixture):
            return self
        components = [self._of(component) for component in base.components]
        return Mixture(components, base.weights)

    @property
    def mean(self) -> Array:
        if isinstance(self.base, Mixture):
            return self.members.mean
        return self._by_transform(_mean, self.base)

    @property
    def variance(self) -> Array:
        return self.std**2

    @property
    def std(self) -> Array:
        if isinstance(self.base, Mixture):
            return self.members.std
        return self._by_transform(_std, self.base)

    def to_base(self, value: ArrayLike) -> Array:
        """Map values of `shape` to the scale of `base`, those outside to infinity."""
        return self._each(lambda transform, part: transform(part), value)

    def to_value(self, image: ArrayLike) -> Array:
        """Map numbers on the scale of `base`, of shape ``(..., *shape)``, to values."""
        return self._each(lambda transform, part: transform.inverse(part), image)

    def quantile(self, level: ArrayLike) -> Array:
        """Return quantiles as every distribution; levels 0 and 1 give the support."""
        quantiles = super().quantile(level)
        ends = np.array([transform.support for transform in self._transforms])
        low, high = np.moveaxis(ends[self.which], -1, 0)
        if np.ndim(level):
            low, high = low[..., None], high[..., None]
        return np.clip(quantiles, low, high)

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        return self.to_value(self.base.sample(n_samples, rng=rng))

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.base[index], self.transform, self.which[index])

    def _log_prob(self, value: Array) -> Array:
        image = self.to_base(value)
        is_inside = ~np.isinf(image)
        # Any value inside will do for those that are replaced afterwards.
        inner = np.where(is_inside, value, self.to_value(np.zeros(self.shape)))
        slope = self._each(lambda transform, part: transform.log_slope(part), inner)
        density = self.base._log_prob(np.where(is_inside, image, 0.0)) + slope
        return np.where(is_inside, density, -np.inf)

    def _cdf(self, value: Array) -> Array:
        return self._tail(self.base._cdf, self.to_base(value), 1.0)

    def _survival(self, value: Array) -> Array:
        return self._tail(self.base._survival, self.to_base(value), -1.0)

    def _quantile(self, level: Array) -> Array:
        return self.to_value(self.base._quantile(level))

    def _crps(self, target: Array) -> Array:
        scores = np.full(self.shape, np.nan)
        for k, transform in enumerate(self._transforms):
            mask = (self.which == k) & ~np.isnan(target)
            if not mask.any():
                continue
            base, values = self.base[mask], target[mask]
            if type(transform) is Identity:
                scores[mask] = base._crps(values)
            elif isinstance(transform, Log) and _are_normal(base):
                scores[mask] = lognormal_mixture_crps(
                    base._parts(), values - transform.low
                )
            elif isinstance(transform, Log) and isinstance(base, StudentT):
                scores[mask] = np.inf
            else:
                part = type(self)(base, transform)
                scores[mask] = super(Transformed, part)._crps(values)
        return scores

    def _parts(self) -> list[Part]:
        return [
            Part(weight, self._of(component))
            for weight, component in self.base._parts()
        ]

    def _name(self) -> str:
        return self.base._name()

    @property
    def _transforms(self) -> tuple[Transform, ...]:
        return tuple(self.transform)  # type: ignore[arg-type]

    def _of(self, base: Distribution) -> Self:
        return type(self)(base, self.transform, self.which)

    def _each(
        self, act: Callable[[Transform, Array], Array], values: ArrayLike
    ) -> Array:
        """Apply each transform to its elements of an array of shape (..., *shape)."""
        array = np.asarray(values, np.float64)
        if len(self._transforms) == 1:
            return np.asarray(act(self._transforms[0], array))
        which = np.broadcast_to(self.which, array.shape)
        result = np.empty(array.shape)
        for k, transform in enumerate(self._transforms):
            mask = which == k
            result[mask] = act(transform, array[mask])
        return result

    def _by_transform(
        self, moment: Callable[[Transform, Distribution], Array], base: Distribution
    ) -> Array:
        if len(self._transforms) == 1:
            return moment(self._transforms[0], base)
        result = np.empty(self.shape)
        for k, transform in enumerate(self._transforms):
            mask = self.which == k
            if mask.any():
                result[mask] = moment(transform, base[mask])
        return result

    def _tail(self, tail: Callable[[Array], Array], image: Array, sign: float) -> Array:
        """Return a tail probability, also at infinite numbers."""
        is_finite = ~np.isinf(image)
        inner = tail(np.where(is_finite, image, 0.0))
        return np.where(is_finite, inner, np.where(sign * image > 0, 1.0, 0.0))


def _are_normal(base: Distribution) -> bool:
    return all(isinstance(part.distribution, Normal) for part in base._parts())


def _mean(transform: Transform, base: Distribution) -> Array:
    if type(transform) is Identity:
        return base.mean
    if isinstance(transform, Log):
        if isinstance(base, Normal):
            return transform.inverse(base.mean + 0.5 * base.std**2)
        if isinstance(base, StudentT):
            return np.full(base.shape, np.inf)
    if isinstance(base, Normal):
        return _moments_of_normal(transform, base)[0]
    return Transformed(base, transform)._mean_by_quadrature()


def _std(transform: Transform, base: Distribution) -> Array:
    if type(transform) is Identity:
        return base.std
    if isinstance(transform, Log):
        if isinstance(base, Normal):
            with np.errstate(over="ignore"):
                factor = np.exp(base.mean + 0.5 * base.std**2)
                return factor * np.sqrt(np.expm1(base.std**2))
        if isinstance(base, StudentT):
            return np.full(base.shape, np.inf)
    if isinstance(base, Normal):
        return _moments_of_normal(transform, base)[1]
    return np.sqrt(Transformed(base, transform)._variance_by_quadrature())


def _moments_of_normal(transform: Transform, base: Normal) -> tuple[Array, Array]:
    """Return mean and std by the trapezoidal rule, nearly exact for smooth functions.

    Where values grow as fast as exponentials, the normal weight of their squares has
    its middle two standard deviations further out for each unit of the std.
    """
    middle = transform.inverse(base.mean)
    reach = np.minimum(12 + 2 * base.std, _LONGEST_REACH)
    step = 2 * reach / _N_NODES
    first, second = np.zeros(base.shape), np.zeros(base.shape)
    for k in range(_N_NODES + 1):
        z = k * step - reach
        weight = step * np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        distance = transform.inverse(base.mean + base.std * z) - middle
        first += weight * distance
        second += weight * distance**2
    return middle + first, np.sqrt(np.maximum(second - first**2, 0))
