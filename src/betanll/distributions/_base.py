"""The base class of all distributions, and its default for affine maps."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from betanll._arrays import as_array, check_equal_shapes, positive
from betanll.distributions._contract import (
    PROBES,
    affine_arguments,
    check_converged,
    check_increasing,
    check_inverse,
    check_rising,
    fields_of,
    overridable,
    points_between,
)
from betanll.distributions._crps_quadrature import Part, crps_by_quadrature, part_of
from betanll.distributions._numerics import Moments, moments_by_quadrature
from betanll.typing import Array, Seed

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# Interquartile range of a normal distribution of unit variance.
_NORMAL_IQR = 1.3489795003921634


class Distribution(ABC):
    """One univariate distribution for each element of an array.

    A distribution is a frozen dataclass whose fields are arrays of one shape. Only
    ``_log_prob``, ``_cdf`` and ``_quantile`` are required. They get an array of exactly
    ``shape`` and return one. Everything else follows from these three methods; override
    ``mean``, ``variance`` or ``_crps`` where a closed form exists, which is faster.

    Public methods take a scalar or an array of exactly ``shape``; an array that would
    broadcast, such as (n,) targets against (n, 1) predictions, raises.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Laplace(Distribution):
    ...     loc: Array
    ...     scale: Array
    ...
    ...     def _log_prob(self, value):
    ...         return -np.abs(value - self.loc) / self.scale - np.log(2 * self.scale)
    ...
    ...     def _cdf(self, value):
    ...         z = (value - self.loc) / self.scale
    ...         tail = 0.5 * np.exp(-np.abs(z))
    ...         return np.where(z < 0, tail, 1 - tail)
    ...
    ...     def _quantile(self, level):
    ...         u = level - 0.5
    ...         return self.loc - self.scale * np.sign(u) * np.log1p(-2 * np.abs(u))
    >>> laplace = Laplace(loc=[0.0, 1.0], scale=[1.0, 2.0])
    >>> laplace.mean.round(6), laplace.variance.round(6)
    (array([0., 1.]), array([2., 8.]))
    >>> laplace.crps([0.0, 0.0]).round(6), laplace.interval(0.9).shape
    (array([0.25    , 0.713061]), (2, 2))
    """

    # Whether the CRPS needs no care for kinks of the density.
    _is_smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        fields = fields_of(self)
        if "shape" in fields:
            raise TypeError(
                f"{self._name()} has a field 'shape', which is the shape of all "
                "fields: give the field another name"
            )
        arrays = {name: as_array(value) for name, value in fields.items()}
        check_equal_shapes(**arrays)
        for name, array in arrays.items():
            object.__setattr__(self, name, array)

    @overridable
    def shape(self) -> tuple[int, ...]:
        """Shape of the mean, of one sample and of every elementwise result."""
        return np.shape(next(iter(fields_of(self).values())))

    @overridable
    def mean(self) -> Array:
        """Mean of each element; by default an integral over the quantiles."""
        return self._mean_by_quadrature()

    @overridable
    def variance(self) -> Array:
        """Variance of each element; by default an integral over the quantiles."""
        return self._variance_by_quadrature()

    @overridable
    def std(self) -> Array:
        """Standard deviation of each element."""
        return np.sqrt(self.variance)

    def log_prob(self, value: ArrayLike) -> Array:
        """Return the log density at `value`, elementwise: sum over outputs yourself."""
        # Beyond 1e154 standard deviations a Gaussian's log density really is -inf.
        with np.errstate(over="ignore"):
            return self._checked("_log_prob", self._log_prob(self._check_value(value)))

    def cdf(self, value: ArrayLike) -> Array:
        """Return the probability of not exceeding `value`, elementwise."""
        with np.errstate(over="ignore"):
            levels = self._checked("_cdf", self._cdf(self._check_value(value)))
        bad = (levels < 0) | (levels > 1)
        if bad.any():
            raise ValueError(
                f"the cdf of {self._name()} is {levels[bad][0]:.6g}, which is "
                "not a probability: correct _cdf or the parameters"
            )
        return levels

    def quantile(self, level: ArrayLike) -> Array:
        """Return the values not exceeded with probability `level`.

        Parameters
        ----------
        level : float or sequence of L floats in [0, 1]
            Levels 0 and 1 give minus and plus infinity.

        Returns
        -------
        array of shape ``shape`` for a scalar level, else ``(*shape, L)``
        """
        levels = as_array(level)
        if levels.ndim > 1:
            raise ValueError(f"level must be scalar or 1-D, got shape {levels.shape}")
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"level must lie in [0, 1], got {levels}")
        result = np.empty((*self.shape, levels.size))
        for i, p in enumerate(levels.ravel().tolist()):
            is_extreme = p in (0, 1)
            result[..., i] = (
                (2 * p - 1) * np.inf if is_extreme else self._quantile_of(p)
            )
        if levels.size > 1:
            check_increasing(self._name(), levels.ravel(), result)
        return result if levels.ndim else result[..., 0]

    def interval(self, coverage: float = 0.9) -> Array:
        """Return the central interval that holds `coverage` of the probability.

        Returns
        -------
        array of shape (n, 2) for shape (n,), (n, 2, d) for (n, d)
            Lower and upper bound, stacked on axis 1 (a 0-d shape gives (2,)).
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie in (0, 1), got {coverage}")
        bounds = self.quantile([(1 - coverage) / 2, (1 + coverage) / 2])
        return np.stack([bounds[..., 0], bounds[..., 1]], axis=min(1, len(self.shape)))

    def crps(self, target: ArrayLike) -> Array:
        """Return the continuous ranked probability score of each element.

        This is the integral of ``(cdf(t) - [t >= target])**2`` over t, in the unit of
        the target; smaller is better.

        Parameters
        ----------
        target : array of the shape of the distribution
            NaN marks missing entries.

        Returns
        -------
        array of the same shape
            NaN where the target is missing.

        Notes
        -----
        `Normal`, `StudentT` and mixtures of normals have closed forms. Others are
        integrated numerically, to about 1e-10 of the value (mixtures of the two) or
        1e-7 (any distribution), in about a quarter of a millisecond per entry of a
        mixture of five. The score is finite for every Student-t with df > 1/2, even
        where the mean does not exist, and infinite for heavier tails.

        References
        ----------
        Jordan, Krüger and Lerch, "Evaluating probabilistic forecasts with
        scoringRules", Journal of Statistical Software 90, 2019.

        Examples
        --------
        >>> from betanll.distributions import Mixture, Normal, StudentT
        >>> normal, student = Normal([0.0], [1.0]), StudentT([5.0], [0.0], [1.0])
        >>> normal.crps([1.0]), student.crps([1.0])
        (array([0.602441]), array([0.603831]))
        >>> Mixture([normal, student]).crps([1.0])
        array([0.602364])
        """
        target = self.check_target(target)
        # Where parameters are NaN or infinite, or differences overflow, so is it.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._checked("_crps", self._crps(target))
        return np.where(np.isnan(target), np.nan, scores)

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        """Draw an array of shape ``(n_samples, *shape)``."""
        levels = np.random.default_rng(rng).random((n_samples, *self.shape))
        repeated = self[None][np.zeros(n_samples, np.intp)]
        # A level of zero would be minus infinity.
        return as_array(repeated._quantile(np.maximum(levels, 2.0**-54)))

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Distribution:
        """Return the distribution of ``scale * Y + shift``.

        This is the way back from standardised to original units. Both arguments are
        scalars, vectors over the last axis or arrays of ``shape``; `scale` must be
        positive and finite. Log densities drop by ``log(scale)``.
        """
        arguments = affine_arguments(scale, shift, self.shape)
        return Affine(self, *(np.broadcast_to(a, self.shape) for a in arguments))

    def check_target(self, target: ArrayLike) -> Array:
        """Return the target as an array of exactly the shape of the distribution.

        NaN marks missing entries; infinite entries raise.
        """
        array = as_array(target)
        if np.isinf(array).any():
            raise ValueError("target has infinite entries; mark missing ones with NaN")
        if not array.ndim or array.shape != self.shape:
            raise ValueError(
                f"target must have the shape of the distribution, (n,) or (n, d); got "
                f"{array.shape} and {self.shape}"
            )
        return array

    def __getitem__(self, index: Any) -> Self:
        """Select rows with anything that indexes an array."""
        fields = fields_of(self)
        return type(self)(**{name: value[index] for name, value in fields.items()})

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a distribution of shape () has no length")
        return self.shape[0]

    # Required: each gets an array of exactly `shape` and returns one.

    @abstractmethod
    def _log_prob(self, value: Array) -> Array:
        """Log density at finite or NaN values."""

    @abstractmethod
    def _cdf(self, value: Array) -> Array:
        """Probability of not exceeding the values."""

    @abstractmethod
    def _quantile(self, level: Array) -> Array:
        """Inverse of the cdf, at levels between 0 and 1."""

    # Optional: override where a formula is faster or more accurate.

    def _survival(self, value: Array) -> Array:
        """One minus the cdf; a formula free of cancellation keeps far tails exact."""
        return 1 - self._cdf(value)

    def _crps(self, target: Array) -> Array:
        """CRPS for targets of exactly `shape`, NaN where they are missing."""
        observed = ~np.isnan(target)
        parts = [part_of(part, observed) for part in self._parts()]
        for part in parts:
            part.distribution._check_inverse()
        scores = np.full(target.shape, np.nan)
        scores[observed] = crps_by_quadrature(parts, target[observed])
        return scores

    # The rest is not meant to be overridden outside of this folder.

    def _centre_and_scale(self) -> tuple[Array, Array]:
        """Where most of the probability is, and how wide: steps of quadrature."""
        low, middle, high = (self._quantile_of(level) for level in (0.25, 0.5, 0.75))
        return middle, (high - low) / _NORMAL_IQR

    def _parts(self) -> list[Part]:
        """Weights and components of a mixture; every other distribution is one part."""
        return [Part(1.0, self)]

    def _mean_by_quadrature(self) -> Array:
        found = self._moments
        check_converged(self._name(), "mean", *found.means, found.mean_error)
        return found.means[1]

    def _variance_by_quadrature(self) -> Array:
        found = self._moments
        check_converged(
            self._name(), "variance", *found.variances, found.variance_error
        )
        return found.variances[1]

    @cached_property
    def _moments(self) -> Moments:
        with np.errstate(over="ignore", invalid="ignore"):
            self._check_inverse()
            return moments_by_quadrature(self._quantile_of)

    def _quantile_of(self, level: float) -> Array:
        found = self._quantile(np.full(self.shape, level))
        return self._checked("_quantile", found)

    def _check_value(self, value: ArrayLike) -> Array:
        array = as_array(value)
        if array.shape not in ((), self.shape):
            raise ValueError(
                f"value has shape {array.shape} but the distribution {self.shape}"
            )
        return np.broadcast_to(array, self.shape)

    def _checked(self, method: str, result: Any) -> Array:
        array = as_array(result)
        if array.shape != self.shape:
            raise ValueError(
                f"{self._name()}.{method} returned an array of shape "
                f"{array.shape}; the distribution has shape {self.shape}"
            )
        return array

    def _check_inverse(self) -> None:
        """Raise if quantiles decrease, or the cdf, or it does not return their levels.

        The cdf is compared with the levels of `PROBES` at their quantiles, and with
        itself there and at evenly spaced points between two of them.
        """
        quantiles = [self._quantile_of(level) for level in PROBES]
        levels = [self._checked("_cdf", self._cdf(value)) for value in quantiles]
        check_inverse(self._name(), np.stack(quantiles, -1), np.stack(levels, -1))
        before = levels[0]
        for points in points_between(quantiles):
            after = self._checked("_cdf", self._cdf(points))
            check_rising(self._name(), before, after)
            before = after

    def _name(self) -> str:
        return type(self).__name__


@dataclasses.dataclass(frozen=True, eq=False)
class Affine(Distribution):
    """The distribution of ``scale * Y + shift`` for Y of any distribution.

    `Distribution.affine` returns it unless a class has a closed form.

    Parameters
    ----------
    base : Distribution
        The distribution of Y.
    scale, shift : arrays of the shape of `base`
        ``scale`` must be positive and finite.
    """

    base: Distribution
    scale: Array
    shift: Array

    def __post_init__(self) -> None:
        scale, shift = positive("scale", self.scale), as_array(self.shift)
        for name, array in (("scale", scale), ("shift", shift)):
            if array.shape != self.base.shape:
                raise ValueError(
                    f"{name} has shape {array.shape} but the base {self.base.shape}"
                )
            object.__setattr__(self, name, array)

    @property
    def mean(self) -> Array:
        return self.scale * self.base.mean + self.shift

    @property
    def variance(self) -> Array:
        return self.scale**2 * self.base.variance

    @property
    def std(self) -> Array:
        return self.scale * self.base.std

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        return self.scale * self.base.sample(n_samples, rng=rng) + self.shift

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        scale, shift = affine_arguments(scale, shift, self.shape)
        return type(self)(self.base, scale * self.scale, scale * self.shift + shift)

    def _log_prob(self, value: Array) -> Array:
        return self.base._log_prob(self._standardised(value)) - np.log(self.scale)

    def _cdf(self, value: Array) -> Array:
        return self.base._cdf(self._standardised(value))

    def _survival(self, value: Array) -> Array:
        return self.base._survival(self._standardised(value))

    def _quantile(self, level: Array) -> Array:
        return self.scale * self.base._quantile(level) + self.shift

    def _crps(self, target: Array) -> Array:
        return self.scale * self.base._crps(self._standardised(target))

    def _name(self) -> str:
        return self.base._name()

    def _standardised(self, value: Array) -> Array:
        return as_array((value - self.shift) / self.scale)
