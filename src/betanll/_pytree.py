"""Frozen dataclasses as JAX pytrees with some of their fields traced."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from numbers import Real
from typing import Any

import jax


def _as_float(value: Any) -> Any:
    """Return numbers as floats: an int or a NumPy scalar would compile anew."""
    return float(value) if isinstance(value, Real) else value


def register(
    cls: type,
    is_traced: Callable[[dataclasses.Field[Any]], bool] = lambda field: True,
    leaf: Callable[[Any], Any] = lambda value: value,
) -> None:
    """Register a dataclass: traced fields become leaves, the others are static.

    Instances that differ in traced fields only share a compilation.
    """
    fields = dataclasses.fields(cls)
    traced = [field.name for field in fields if is_traced(field)]
    static = [field.name for field in fields if not is_traced(field)]

    def flatten(instance: Any) -> tuple[list[Any], tuple[Any, ...]]:
        leaves = [
            jax.tree.map(_as_float, leaf(getattr(instance, name))) for name in traced
        ]
        return leaves, tuple(getattr(instance, name) for name in static)

    def unflatten(auxiliary: tuple[Any, ...], leaves: Any) -> Any:
        # Past __init__, whose checks cannot look at traced values.
        instance: Any = object.__new__(cls)
        for name, value in zip([*traced, *static], [*leaves, *auxiliary], strict=True):
            object.__setattr__(instance, name, value)
        return instance

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)
