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
    is_traced: Callable[[dataclasses.Field[Any], Any], bool] = lambda field, value: (
        True
    ),
    leaf: Callable[[Any], Any] = lambda value: value,
) -> None:
    """Register a dataclass: traced fields become leaves, the others are static.

    `is_traced` takes a field and its value. Instances that differ in traced fields only
    share a compilation.
    """
    fields = dataclasses.fields(cls)

    def flatten(instance: Any) -> tuple[list[Any], tuple[tuple[str, Any], ...]]:
        leaves, static = [], []
        for field in fields:
            value = getattr(instance, field.name)
            if is_traced(field, value):
                leaves.append(jax.tree.map(_as_float, leaf(value)))
            else:
                static.append((field.name, value))
        return leaves, tuple(static)

    def unflatten(static: tuple[tuple[str, Any], ...], leaves: Any) -> Any:
        # Past __init__, whose checks cannot look at traced values.
        instance: Any = object.__new__(cls)
        values = dict(static)
        traced = [field.name for field in fields if field.name not in values]
        for name, value in (*zip(traced, leaves, strict=True), *static):
            object.__setattr__(instance, name, value)
        return instance

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)


def register_objective(cls: type) -> None:
    """Register an objective: schedules and inner objectives are traced."""
    from betanll.objectives import Objective, start_and_end

    register(
        cls,
        lambda field, value: "traced" in field.metadata or isinstance(value, Objective),
        lambda value: value if isinstance(value, Objective) else start_and_end(value),
    )
