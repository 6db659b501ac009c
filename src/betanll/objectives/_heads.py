"""Maps from raw network outputs to positive parameters."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from betanll._limits import (
    MAX_RATE,
    MAX_SHAPE,
    MAX_VARIANCE,
    MIN_RATE,
    MIN_SHAPE,
    MIN_VARIANCE,
    RATE_OFFSET,
    inverse_softplus,
)

_UNIT_OFFSET = inverse_softplus(1 - MIN_VARIANCE)


def bounded_softplus(
    raw: jax.Array, *, offset: float, floor: float, ceiling: float
) -> jax.Array:
    """Return softplus(raw + offset) + floor, clamped at `ceiling`.

    The floor is added, so that the gradient never vanishes there; the clamp stops it.
    """
    return jnp.minimum(jax.nn.softplus(raw + offset) + floor, ceiling)


def unit_head(
    raw: jax.Array, *, floor: float = MIN_VARIANCE, ceiling: float = MAX_VARIANCE
) -> jax.Array:
    """Return a positive number, 1 where `raw` is zero: a variance, say."""
    return bounded_softplus(raw, offset=_UNIT_OFFSET, floor=floor, ceiling=ceiling)


def gamma_heads(
    raw_shape: jax.Array, raw_rate: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return a Gamma shape and rate; raw zeros mean a Student t of variance 1."""
    shape = bounded_softplus(raw_shape, offset=0.0, floor=MIN_SHAPE, ceiling=MAX_SHAPE)
    rate = bounded_softplus(
        raw_rate, offset=RATE_OFFSET, floor=MIN_RATE, ceiling=MAX_RATE
    )
    return shape, rate
