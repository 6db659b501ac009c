"""Maps from raw network outputs to positive parameters."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

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


# Raw outputs of zero mean unit variance.
_VARIANCE_OFFSET = inverse_softplus(1 - MIN_VARIANCE)
_RATE_OFFSET = inverse_softplus(math.log(2) + MIN_SHAPE - 1 - MIN_RATE)


def bounded_softplus(
    raw: jax.Array, *, offset: float, floor: float, ceiling: float
) -> jax.Array:
    """Return softplus(raw + offset) + floor, clamped at `ceiling`.

    The floor is added, so that the gradient never vanishes there; the clamp stops it.
    """
    return jnp.minimum(jax.nn.softplus(raw + offset) + floor, ceiling)


def variance_head(
    raw: jax.Array, *, floor: float = MIN_VARIANCE, ceiling: float = MAX_VARIANCE
) -> jax.Array:
    """Return a variance that is 1 where `raw` is zero."""
    return bounded_softplus(raw, offset=_VARIANCE_OFFSET, floor=floor, ceiling=ceiling)


def gamma_heads(
    raw_shape: jax.Array, raw_rate: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return a Gamma shape and rate; raw zeros mean a Student t of variance 1."""
    shape = bounded_softplus(raw_shape, offset=0.0, floor=MIN_SHAPE, ceiling=MAX_SHAPE)
    rate = bounded_softplus(
        raw_rate, offset=_RATE_OFFSET, floor=MIN_RATE, ceiling=MAX_RATE
    )
    return shape, rate
