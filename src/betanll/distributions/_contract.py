"""Checks that the methods of a distribution are consistent."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from betanll._arrays import as_array, positive
from betanll.typing import Array

#: Levels at which cdf and quantiles are compared.
PROBES = (0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999)
_PROBE_TOLERANCE = 1e-3
#: Points from one of them to the next at which the cdf must rise.
_POINTS_BETWEEN = 8
_FALL_TOLERANCE = 1e-6
#: Two quadratures that differ by more than this share have not converged.
_TOLERANCE = 1e-5

if TYPE_CHECKING:
    from builtins import property as _property

    overridable = _property
else:

    class overridable(cached_property):  # a decorator like property
        """A cached property whose name may be a field of a dataclass that inherits.

        Seen from the class, the property does not exist: `dataclass` would take it for
        the default value of the field.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                raise AttributeError(self.attrname)
            return super().__get__(instance, owner)


def check_converged(
    distribution: str, moment: str, coarse: Array, fine: Array, error: Array
) -> None:
    """Raise where two quadratures of a moment disagree."""
    bad = ~(error <= _TOLERANCE)
    if bad.any():
        raise ValueError(
            f"the {moment} of {distribution} cannot be computed from its quantiles "
            f"(two quadratures give {coarse[bad][0]:.6g} and {fine[bad][0]:.6g}): add "
            f"a property {moment} with its closed form to the class"
        )


def check_increasing(distribution: str, levels: Array, quantiles: Array) -> None:
    """Raise where quantiles, of shape (..., levels), decrease."""
    order = np.argsort(levels)
    # Closer levels may have quantiles that differ by rounding alone.
    is_apart = np.diff(levels[order]) > 1e-6
    low, high = quantiles[..., order][..., :-1], quantiles[..., order][..., 1:]
    slack = 1e-9 * np.minimum(np.abs(low), np.abs(high))
    bad = is_apart & (low > high + np.where(np.isfinite(slack), slack, 0.0))
    if bad.any():
        raise ValueError(
            f"the quantiles of {distribution} decrease, from {low[bad][0]:.6g} to "
            f"{high[bad][0]:.6g}: correct _quantile or the parameters"
        )


def check_inverse(distribution: str, quantiles: Array, levels: Array) -> None:
    """Raise where the cdf at the quantiles of `PROBES` is not their level.

    Both arrays have shape (..., probes).
    """
    check_increasing(distribution, as_array(PROBES), quantiles)
    # Where doubles are too coarse for the spread there is nothing to compare.
    size = np.maximum(np.abs(quantiles[..., 0]), np.abs(quantiles[..., -1]))
    is_resolved = quantiles[..., -1] - quantiles[..., 0] > 1e-9 * size
    bad = is_resolved[..., None] & (np.abs(levels - PROBES) > _PROBE_TOLERANCE)
    if bad.any():
        level = np.broadcast_to(PROBES, bad.shape)[bad][0]
        raise ValueError(
            f"_cdf and _quantile of {distribution} are not inverse to each other: the "
            f"cdf at the quantile of level {level:g} is {levels[bad][0]:.6g}"
        )


def points_between(quantiles: Sequence[Array]) -> Iterator[Array]:
    """Yield points from one quantile to the next, evenly spaced, and the quantiles."""
    for low, high in itertools.pairwise(quantiles):
        is_finite = np.isfinite(low) & np.isfinite(high)
        # Where a quantile is infinite or missing there is nothing in between.
        low, step = np.where(is_finite, low, high), np.where(is_finite, high - low, 0.0)
        for i in range(1, _POINTS_BETWEEN + 1):
            yield low + step * (i / _POINTS_BETWEEN)


def check_rising(distribution: str, before: Array, after: Array) -> None:
    """Raise where the cdf falls from one point to the next."""
    if np.any(after < before - _FALL_TOLERANCE):
        raise ValueError(decreasing(distribution))


def decreasing(distribution: str) -> str:
    """Return the sentence about a cdf that is not monotone."""
    return (
        f"the cdf of {distribution} decreases somewhere: correct _cdf or the parameters"
    )


def fields_of(distribution: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, which has to be one."""
    if not dataclasses.is_dataclass(distribution) or not dataclasses.fields(
        distribution
    ):
        raise TypeError(
            f"{type(distribution).__name__} must be a frozen dataclass with at least "
            "one field, an array"
        )
    names = [field.name for field in dataclasses.fields(distribution)]
    return {name: getattr(distribution, name) for name in names}


def affine_arguments(
    scale: ArrayLike, shift: ArrayLike, shape: tuple[int, ...]
) -> tuple[Array, Array]:
    """Return scale and shift as arrays that broadcast against `shape`."""
    scale, shift = positive("scale", scale), as_array(shift)
    allowed = ((), shape[-1:], (1,) * len(shape[-1:]), shape)
    for name, array in (("scale", scale), ("shift", shift)):
        if array.shape not in allowed:
            raise ValueError(
                f"{name} has shape {array.shape}, not that of the last axis of {shape}"
            )
    return scale, shift
