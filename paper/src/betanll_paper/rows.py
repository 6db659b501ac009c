"""Numbers for JSON: plain, rounded, and thinned out."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

#: Digits of numbers that are only drawn, to keep stored results small.
_DIGITS = 6


def plain(value: float) -> float | None:
    """Return a number, None for what JSON does not have.

    Examples
    --------
    >>> plain(0.5), plain(float("nan"))
    (0.5, None)
    """
    return float(value) if math.isfinite(value) else None


def rounded(values: npt.ArrayLike) -> list[float | None]:
    """Return numbers with six significant digits.

    Examples
    --------
    >>> rounded([1 / 3, float("inf")])
    [0.333333, None]
    """
    numbers = np.asarray(values, np.float64).ravel()
    return [plain(float(f"{number:.{_DIGITS}g}")) for number in numbers]


def log_spaced(first: int, last: int, *, per_decade: int) -> list[int]:
    """Return whole numbers that are about equally spaced on a log axis, ends included.

    Examples
    --------
    >>> log_spaced(1, 1000, per_decade=2)
    [1, 3, 10, 32, 100, 316, 1000]
    """
    if first >= last:
        return [last]
    n = math.ceil(math.log10(last / first) * per_decade) + 1
    return sorted({round(number) for number in np.geomspace(first, last, n)})
