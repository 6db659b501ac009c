"""What the distributions have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
Seed: TypeAlias = int | np.random.Generator | None

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


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
        levels = as_array(level)
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
        scalars, vectors over the last axis or arrays of ``shape``; `scale` must be
        positive and finite. Log densities drop by ``log(scale)``.
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
        array = as_array(value)
        if array.shape not in ((), self.shape):
            raise ValueError(
                f"value has shape {array.shape} but the distribution {self.shape}"
            )
        return array


def as_array(value: ArrayLike) -> Array:
    return np.asarray(value, np.float64)


def positive(name: str, value: ArrayLike) -> Array:
    array = as_array(value)
    bad = ~((array > 0) & np.isfinite(array))
    if bad.any():
        raise ValueError(f"{name} must be positive and finite, got {array[bad][0]}")
    return array


def check_equal_shapes(**arrays: Array) -> None:
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"shapes must be equal, got {shapes}")


def set_fields(distribution: Distribution, **arrays: Array) -> None:
    """Fill a frozen dataclass with arrays, whose shapes must be equal."""
    check_equal_shapes(**arrays)
    for name, array in arrays.items():
        object.__setattr__(distribution, name, array)


def affine_arguments(
    scale: ArrayLike, shift: ArrayLike, shape: tuple[int, ...]
) -> tuple[Array, Array]:
    scale, shift = positive("scale", scale), as_array(shift)
    allowed = ((), shape[-1:], (1,) * len(shape[-1:]), shape)
    for name, array in (("scale", scale), ("shift", shift)):
        if array.shape not in allowed:
            raise ValueError(
                f"{name} has shape {array.shape}, not that of the last axis of {shape}"
            )
    return scale, shift
