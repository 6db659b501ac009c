"""Distributions of some rows and of others as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from betanll.distributions._base import Distribution
from betanll.distributions._mixture import Mixture
from betanll.typing import Array


def concatenate(parts: Sequence[Distribution]) -> Distribution:
    """Return distributions of one class as one, the rows of the first part first.

    Examples
    --------
    >>> from betanll.distributions import Normal, concatenate
    >>> concatenate([Normal([0.0], [1.0]), Normal([1.0, 2.0], [3.0, 4.0])]).std
    array([1., 3., 4.])
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    kinds = {type(part) for part in parts}
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"distributions of one class can be joined, not of {names}")
    mixtures = [part for part in parts if isinstance(part, Mixture)]
    if mixtures:
        components = zip(*(part.components for part in mixtures), strict=True)
        return Mixture([concatenate(rows) for rows in components], _weights(mixtures))
    return replace(
        first,  # type: ignore[type-var]
        **{
            field.name: _joined([getattr(part, field.name) for part in parts])
            for field in fields(first)  # type: ignore[arg-type]
        },
    )


def _joined(values: Sequence[Any]) -> Any:
    """Join one field of several distributions."""
    if isinstance(values[0], Distribution):
        return concatenate(values)
    if isinstance(values[0], tuple):  # transforms
        if any(value != values[0] for value in values):
            raise TypeError("distributions of differently transformed values differ")
        return values[0]
    return np.concatenate(values)


def _weights(mixtures: Sequence[Mixture]) -> Array | None:
    """Return the weights of several mixtures for each of their rows."""
    if all(mixture.weights is None for mixture in mixtures):
        return None
    found = []
    for mixture in mixtures:
        n = len(mixture.components)
        given = mixture.weights
        weights = np.full(n, 1 / n) if given is None else np.asarray(given)
        rows = (len(mixture), n)
        found.append(np.broadcast_to(weights, rows) if weights.ndim == 1 else weights)
    return np.concatenate(found)
