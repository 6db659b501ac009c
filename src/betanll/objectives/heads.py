"""Maps from raw network outputs to positive parameters, on arrays of three libraries.

A custom objective builds its ``parameters`` from these functions. All limits apply to
standardised targets.

Examples
--------
>>> import numpy as np
>>> from betanll.objectives import heads
>>> heads.unit_head(np.array([-100.0, 0.0, 5000.0])).tolist()
[1e-08, 1.0, 1000.0]
"""

from __future__ import annotations

import math

from betanll.losses.arrays import Array, minimum, softplus

__all__ = [
    "MAX_RATE",
    "MAX_SHAPE",
    "MAX_VARIANCE",
    "MIN_RATE",
    "MIN_SHAPE",
    "MIN_VARIANCE",
    "bounded_softplus",
    "gamma_heads",
    "inverse_softplus",
    "unit_head",
]

#: Floor of a predicted variance.
MIN_VARIANCE = 1e-8
#: Ceiling of a predicted variance.
MAX_VARIANCE = 1000.0
#: Floor of a Gamma shape: half the degrees of freedom of a Student t.
MIN_SHAPE = 1.001
#: Ceiling of a Gamma shape.
MAX_SHAPE = 1000.0
#: Rates for which the variance rate / (shape - 1) meets the limits of a variance.
MIN_RATE = (MIN_SHAPE - 1) * MIN_VARIANCE
MAX_RATE = (MAX_SHAPE - 1) * MAX_VARIANCE


def inverse_softplus(value: float) -> float:
    """Return the z for which log(1 + exp(z)) equals `value`.

    Examples
    --------
    >>> round(inverse_softplus(1.0), 4)
    0.5413
    """
    return math.log(math.expm1(value))


_UNIT_OFFSET = inverse_softplus(1 - MIN_VARIANCE)
# A raw rate of zero, with a raw shape of zero, means a Student t of variance one.
_RATE_OFFSET = inverse_softplus(math.log(2) + MIN_SHAPE - 1 - MIN_RATE)


def bounded_softplus(
    raw: Array, *, offset: float, floor: float, ceiling: float
) -> Array:
    """Return softplus(raw + offset) + floor, clamped at `ceiling`.

    The gradient never vanishes at the floor, which is added, but does at the clamp.

    Examples
    --------
    >>> import numpy as np
    >>> raw = np.array([-100.0, 0.0, 100.0])
    >>> bounded_softplus(raw, offset=0.0, floor=0.5, ceiling=10.0).round(4).tolist()
    [0.5, 1.1931, 10.0]
    """
    return minimum(softplus(raw + offset) + floor, ceiling)


def unit_head(
    raw: Array, *, floor: float = MIN_VARIANCE, ceiling: float = MAX_VARIANCE
) -> Array:
    """Return positive numbers, such as variances: 1 where `raw` is zero.

    Examples
    --------
    >>> import numpy as np
    >>> float(unit_head(np.array(0.0)))
    1.0
    """
    return bounded_softplus(raw, offset=_UNIT_OFFSET, floor=floor, ceiling=ceiling)


def gamma_heads(raw_shape: Array, raw_rate: Array) -> tuple[Array, Array]:
    """Return a Gamma shape and rate; raw zeros mean a Student t of variance 1.

    Examples
    --------
    >>> import numpy as np
    >>> shape, rate = gamma_heads(np.array(0.0), np.array(0.0))
    >>> float(rate / (shape - 1))
    1.0
    """
    shape = bounded_softplus(raw_shape, offset=0.0, floor=MIN_SHAPE, ceiling=MAX_SHAPE)
    rate = bounded_softplus(
        raw_rate, offset=_RATE_OFFSET, floor=MIN_RATE, ceiling=MAX_RATE
    )
    return shape, rate
