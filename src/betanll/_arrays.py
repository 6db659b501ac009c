"""Arrays of numbers that users hand over, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from betanll.typing import Array


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
