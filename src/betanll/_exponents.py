"""Which exponents of beta-NLL are usable, and which are unusual."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from betanll.sentences import shown


def is_exponent(value: Any) -> bool:
    """Return whether `value` is a finite number of at least 0."""
    return 0 <= as_float(value) < math.inf


def as_float(value: Any) -> float:
    """Return a number as a float, NaN for anything else and for 10**400.

    Examples
    --------
    >>> as_float(2), as_float("2"), as_float(True), as_float(10**400)
    (2.0, nan, nan, nan)
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def check_exponent(name: str, value: Any) -> None:
    """Raise a ``ValueError`` unless `value` is a finite number of at least 0.

    Examples
    --------
    >>> from betanll.losses import check_exponent
    >>> check_exponent("beta", -1)
    Traceback (most recent call last):
    ValueError: beta must be a finite number of at least 0, got -1
    """
    if not is_exponent(value):
        raise ValueError(
            f"{name} must be a finite number of at least 0, got {shown(value)}"
        )


def unusual_exponent(*values: float) -> str | None:
    """Return a sentence about an exponent above 1, None if there is none.

    Examples
    --------
    >>> unusual_exponent(0.5) is None
    True
    >>> print(unusual_exponent(2.0, 0.0))
    beta = 2 is unusual: above 1, rows with a large predicted variance dominate
    training. Choose a beta between 0 and 1.
    """
    largest = max(values)
    if largest <= 1:
        return None
    return (
        f"beta = {largest:g} is unusual: above 1, rows with a large predicted variance "
        "dominate training. Choose a beta between 0 and 1."
    )
