"""Properties of the values of a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Where single precision holds numbers, and whole numbers exactly.
_SINGLE_RANGE, _SINGLE_WHOLE = (1e-30, 1e30), 2.0**24
_SINGLE_EPS = float(np.finfo(np.float32).eps)
#: Largest error relative to the spread of a column.
_MAX_BLUR = 1e-5


def median(values: NDArray[np.float64]) -> float:
    middle = (len(values) - 1) // 2, len(values) // 2
    lower, upper = np.partition(values, middle)[list(middle)].tolist()
    # Halved before they are added, which cannot overflow.
    return lower if lower == upper else 0.5 * lower + 0.5 * upper


def needs_double(values: NDArray[np.float64]) -> bool:
    """Return whether single precision would blur differences between values.

    Examples
    --------
    >>> needs_double(np.array([0.1, 5.0, 1e6])), needs_double(1.6e9 + np.arange(9.0))
    (False, True)
    """
    size = np.abs(values)
    largest = float(size.max(initial=0.0))
    smallest = float(size.min(initial=1.0, where=size > 0))
    if not _SINGLE_RANGE[0] < smallest <= largest < _SINGLE_RANGE[1]:
        return True
    if largest >= _SINGLE_WHOLE and not np.any(values % 1):
        return True
    low, high = np.percentile(values, [25, 75])
    offset = max(abs(low), abs(high))
    return bool(offset * _SINGLE_EPS > _MAX_BLUR * (high - low) > 0)
