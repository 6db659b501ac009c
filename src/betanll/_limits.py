"""Limits and starting values of the heads, for whitened targets."""

from __future__ import annotations

import math

MIN_VARIANCE = 1e-8
MAX_VARIANCE = 1000.0
MIN_SHAPE = 1.001
MAX_SHAPE = 1000.0
# The rates for which the variance rate / (shape - 1) meets the limits above.
MIN_RATE = (MIN_SHAPE - 1) * MIN_VARIANCE
MAX_RATE = (MAX_SHAPE - 1) * MAX_VARIANCE


def inverse_softplus(value: float) -> float:
    """Return the z for which log(1 + exp(z)) equals `value`."""
    return math.log(math.expm1(value))


# A raw rate of zero, with a raw shape of zero, means a Student t of variance one.
RATE_OFFSET = inverse_softplus(math.log(2) + MIN_SHAPE - 1 - MIN_RATE)
