"""Predictive distributions over NumPy arrays: `Normal`, `StudentT`, `Mixture`.

Each holds one univariate distribution per array element. All have the same members,
so code that consumes predictions never asks which class it was given.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

__all__ = ["Distribution", "Mixture", "Normal", "StudentT"]

Array: TypeAlias = NDArray[np.float64]
Seed: TypeAlias = int | np.random.Generator | None

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Distribution(ABC):
    """What `Normal`, `StudentT` and `Mixture` have in common.

    Elementwise methods take a scalar or an array of exactly ``shape``; one that would
    broadcast, such as (n,) targets against (n, 1) predictions, raises.
    """

    if TYPE_CHECKING:
        # As real properties they would become the defaults of `Normal`'s fields.
        @property
        def mean(self) -> Array: ...
        @property
        def std(self) -> Array: ...

    @property
    @abstractmethod
    def variance(self) -> Array:
        """Variance of each element."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of the mean, of one sample and of every elementwise result."""

    def log_prob(self, value: ArrayLike) -> Array:
        """Return the log density at `value`, elementwise: sum over outputs yourself."""
        # Beyond 1e154 standard deviations a Gaussian's log density really is -inf.
        with np.errstate(over="ignore"):
            return self._log_prob(self._check_value(value))

    def cdf(self, value: ArrayLike) -> Array:
        """Return the probability of not exceeding `value`, elementwise."""
        return self._tail(self._check_value(value), 1)

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
        levels = _array(level)
        if levels.ndim > 1:
            raise ValueError(f"level must be scalar or 1-D, got shape {levels.shape}")
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"level must lie in [0, 1], got {levels}")
        result = np.empty((*self.shape, levels.size))
        for i, p in enumerate(levels.ravel().tolist()):
            is_extreme = p in (0, 1)
            result[..., i] = (2 * p - 1) * np.inf if is_extreme else self._quantile(p)
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
        bounds = [self.quantile((1 - coverage) / 2), self.quantile((1 + coverage) / 2)]
        return np.stack(bounds, axis=min(1, len(self.shape)))

    @abstractmethod
    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        """Draw an array of shape ``(n_samples, *shape)``."""

    @abstractmethod
    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        """Return the distribution of ``scale * Y + shift``.

        This is the way back from whitened to original units. Both arguments are
        scalars or vectors over the last axis; `scale` must be positive and finite.
        Log densities drop by ``log(scale)``.
        """

    @abstractmethod
    def __getitem__(self, index: Any) -> Self:
        """Select rows with anything that indexes an array."""

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a distribution of shape () has no length")
        return self.shape[0]

    @abstractmethod
    def _log_prob(self, value: Array) -> Array: ...
    @abstractmethod
    def _tail(self, value: Array, sign: int) -> Array:
        """Cdf for sign 1; for sign -1 its complement, free of cancellation."""

    @abstractmethod
    def _quantile(self, level: float) -> Array: ...

    def _check_value(self, value: ArrayLike) -> Array:
        array = _array(value)
        if array.shape not in ((), self.shape):
            raise ValueError(
                f"value has shape {array.shape} but the distribution {self.shape}"
            )
        return array


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

    def __post_init__(self) -> None:
        _set_fields(self, mean=_array(self.mean), std=_positive("std", self.std))

    @classmethod
    def from_variance(cls, mean: ArrayLike, variance: ArrayLike) -> Self:
        """Build from a variance instead of a standard deviation."""
        return cls(_array(mean), np.sqrt(_positive("variance", variance)))

    @property
    def variance(self) -> Array:
        return self.std**2

    @property
    def shape(self) -> tuple[int, ...]:
        return self.mean.shape

    def _log_prob(self, value: Array) -> Array:
        z = (value - self.mean) / self.std
        return -0.5 * z**2 - np.log(self.std) - _HALF_LOG_2PI

    def _tail(self, value: Array, sign: int) -> Array:
        return _array(ndtr(sign * (value - self.mean) / self.std))

    def _quantile(self, level: float) -> Array:
        return _array(self.mean + self.std * ndtri(level))

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        noise = np.random.default_rng(rng).standard_normal((n_samples, *self.shape))
        return self.mean + self.std * noise

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        scale, shift = _affine_arguments(scale, shift, self.shape)
        return type(self)(scale * self.mean + shift, scale * self.std)

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.mean[index], self.std[index])


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
        df, scale = _positive("df", self.df), _positive("scale", self.scale)
        _set_fields(self, df=df, loc=_array(self.loc), scale=scale)

    @classmethod
    def from_gamma(cls, mean: ArrayLike, shape: ArrayLike, rate: ArrayLike) -> Self:
        """Integrate a Gamma(shape, rate) precision out of a Gaussian around `mean`.

        With shape a and rate b: df = 2a, scale = sqrt(b / a), variance = b / (a - 1).
        """
        a, b = _positive("shape", shape), _positive("rate", rate)
        _check_equal_shapes(shape=a, rate=b)
        return cls(2 * a, _array(mean), np.sqrt(b / a))

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
        return np.sqrt(self.variance)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.loc.shape

    def _log_prob(self, value: Array) -> Array:
        a = 0.5 * self.df
        ratio = np.abs(value - self.loc) / self.scale / np.sqrt(self.df)
        log_kernel = -(a + 0.5) * _log1p_square(ratio)
        return log_kernel + _log_gamma_ratio(a) - np.log(self.scale) - _HALF_LOG_2PI

    def _tail(self, value: Array, sign: int) -> Array:
        return _array(stdtr(self.df, sign * (value - self.loc) / self.scale))

    def _quantile(self, level: float) -> Array:
        # SciPy 1.17 gives +inf for some lower quantiles out of its reach (-1e153).
        z = np.copysign(stdtrit(self.df, level), level - 0.5)
        return _array(self.loc + self.scale * z)

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        size = (n_samples, *self.shape)
        noise = np.random.default_rng(rng).standard_t(self.df, size)
        return self.loc + self.scale * noise

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        scale, shift = _affine_arguments(scale, shift, self.shape)
        return type(self)(self.df, scale * self.loc + shift, scale * self.scale)

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.df[index], self.loc[index], self.scale[index])


@dataclass(frozen=True, eq=False)
class Mixture(Distribution):
    """Equally weighted mixture, the predictive distribution of a deep ensemble.

    The variance is the mean of the components' variances (aleatoric) plus the
    population variance of their means (epistemic). A mixture of one component gives
    exactly that component's results.

    Parameters
    ----------
    components : non-empty list or tuple of distributions of one shape
        Classes may differ.

    Notes
    -----
    ``sample`` draws one component per sample and row, not per element, so that the
    outputs of a row (the last axis of two or more) come from one ensemble member.

    References
    ----------
    Lakshminarayanan et al., "Simple and scalable predictive uncertainty estimation
    using deep ensembles", NeurIPS 2017.

    Examples
    --------
    >>> ensemble = Mixture([Normal([-5.0], [0.1]), Normal([5.0], [0.1])])
    >>> ensemble.std.round(3), ensemble.epistemic_variance
    (array([5.001]), array([25.]))
    >>> ensemble.quantile([0.25, 0.5, 0.75]).round(6)
    array([[-5.,  0.,  5.]])
    """

    components: Sequence[Distribution]

    def __post_init__(self) -> None:
        components = tuple(self.components)
        if not components:
            raise ValueError("a mixture needs at least one component")
        for component in components:
            if not isinstance(component, Distribution):
                raise TypeError(f"{type(component).__name__} is not a distribution")
        shapes = [component.shape for component in components]
        if len(set(shapes)) > 1:
            raise ValueError(f"components must have equal shapes, got {shapes}")
        object.__setattr__(self, "components", components)

    @property
    def mean(self) -> Array:
        return self._average(lambda c: c.mean)

    @property
    def aleatoric_variance(self) -> Array:
        """Mean of the components' variances: noise that more data would not remove."""
        return self._average(lambda c: c.variance)

    @property
    def epistemic_variance(self) -> Array:
        """Population variance of the components' means: their disagreement."""
        return _array(np.var([c.mean for c in self.components], axis=0))

    @property
    def variance(self) -> Array:
        return self.aleatoric_variance + self.epistemic_variance

    @property
    def std(self) -> Array:
        # The square may under- or overflow where a single component's std does not.
        is_single = len(self.components) == 1
        return self.components[0].std if is_single else np.sqrt(self.variance)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.components[0].shape

    def _average(self, member: Callable[[Distribution], Array]) -> Array:
        return _array(np.mean([member(c) for c in self.components], axis=0))

    def _log_prob(self, value: Array) -> Array:
        log_probs = [c._log_prob(value) for c in self.components]
        return _array(np.logaddexp.reduce(log_probs) - math.log(len(log_probs)))

    def _tail(self, value: Array, sign: int) -> Array:
        return self._average(lambda c: c._tail(value, sign))

    def _quantile(self, level: float) -> Array:
        # The mixture's quantile lies between the extreme quantiles of its components.
        bounds = np.stack([c._quantile(level) for c in self.components])
        spreads = [c._quantile(0.75) - c._quantile(0.25) for c in self.components]

        def excess_and_slope(value: Array) -> tuple[Array, Array]:
            slope = len(self.components) * np.exp(self._log_prob(value))
            return self._excess(value, level), slope

        low, high = bounds.min(axis=0), bounds.max(axis=0)
        return _increasing_root(excess_and_slope, low, high, np.min(spreads, axis=0))

    def _excess(self, value: Array, level: float) -> Array:
        """K (cdf - level), accurate in the tails and on plateaus between components.

        Each component contributes its smaller tail; the integers and the level, which
        cancel there, are combined exactly.
        """
        below = np.stack([c._tail(value, 1) for c in self.components])
        above = np.stack([c._tail(value, -1) for c in self.components])
        is_passed = below > 0.5
        n_passed, n_all = is_passed.sum(axis=0), len(self.components)
        if level <= 0.5:
            whole = n_passed - n_all * level
        else:
            whole = n_all * (1 - level) - (n_all - n_passed)
        return _array(whole + np.where(is_passed, -above, below).sum(axis=0))

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        rng = np.random.default_rng(rng)
        rows = (*self.shape[:-1], 1) if len(self.shape) > 1 else self.shape
        chosen = rng.integers(len(self.components), size=(n_samples, *rows))
        samples = np.empty((n_samples, *self.shape))
        for k, component in enumerate(self.components):
            np.copyto(samples, component.sample(n_samples, rng=rng), where=chosen == k)
        return samples

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        return type(self)([c.affine(scale, shift) for c in self.components])

    def __getitem__(self, index: Any) -> Self:
        return type(self)([c[index] for c in self.components])


def _array(value: ArrayLike) -> Array:
    return np.asarray(value, np.float64)


def _positive(name: str, value: ArrayLike) -> Array:
    array = _array(value)
    bad = ~((array > 0) & np.isfinite(array))
    if bad.any():
        raise ValueError(f"{name} must be positive and finite, got {array[bad][0]}")
    return array


def _check_equal_shapes(**arrays: Array) -> None:
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"shapes must be equal, got {shapes}")


def _set_fields(distribution: Distribution, **arrays: Array) -> None:
    """Fill a frozen dataclass with arrays, whose shapes must be equal."""
    _check_equal_shapes(**arrays)
    for name, array in arrays.items():
        object.__setattr__(distribution, name, array)


def _affine_arguments(
    scale: ArrayLike, shift: ArrayLike, shape: tuple[int, ...]
) -> tuple[Array, Array]:
    scale, shift = _positive("scale", scale), _array(shift)
    allowed = ((), shape[-1:], (1,) * len(shape[-1:]))
    for name, array in (("scale", scale), ("shift", shift)):
        if array.shape not in allowed:
            raise ValueError(
                f"{name} has shape {array.shape}, not that of the last axis of {shape}"
            )
    return scale, shift


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


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _increasing_root(
    function: Callable[[Array], tuple[Array, Array]],
    low: Array,
    high: Array,
    unit: Array,
) -> Array:
    """Elementwise root in [low, high] of an increasing function, to 1e-12 of `unit`.

    `function` returns its value and its derivative. A Newton step that leaves the
    bracket, or is not half as long as the step before, is replaced by bisection.
    """
    root, last_step = 0.5 * (low + high), high - low
    relative = 4 * np.finfo(np.float64).eps
    active = last_step > 1e-12 * unit + relative * np.abs(root)
    for _ in range(200):
        if not active.any():
            break
        value, slope = function(root)
        newton = root - value / slope
        low = np.where(value <= 0, root, low)
        high = np.where(value >= 0, root, high)
        is_short = np.abs(newton - root) <= 0.5 * last_step
        is_inside = (low <= newton) & (newton <= high)
        proposal = np.where(is_short & is_inside, newton, 0.5 * (low + high))
        last_step = np.abs(proposal - root)
        root = np.where(active, proposal, root)
        active &= last_step > 1e-12 * unit + relative * np.abs(root)
    return root
