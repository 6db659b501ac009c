"""Functions that take arrays of NumPy, JAX or PyTorch alike.

Write the heads, losses and moments of a custom objective with these functions, and with
operators and the names of the array API standard, such as ``namespace_of(x).log(x)``:
then training (JAX), predictions (NumPy) and ``to_torch()`` (PyTorch) share one source.

Examples
--------
>>> import numpy as np
>>> from betanll.losses.arrays import namespace_of, softplus
>>> def laplace_nll(mean, scale, target):
...     xp = namespace_of(mean)
...     return xp.abs(target - mean) / scale + xp.log(2 * scale)
>>> float(laplace_nll(np.array(0.0), softplus(np.array(0.0)), np.array(0.0)))
0.3266...
"""

from __future__ import annotations

import sys
from typing import Any

import array_api_compat.numpy as numpy_namespace
import numpy as np

__all__ = [
    "Array",
    "arrays_of_equal_shape",
    "digamma",
    "erf",
    "is_jax",
    "is_torch",
    "lgamma",
    "lgamma_half_step",
    "minimum",
    "namespace_of",
    "softplus",
    "stop_gradient",
]

# Nothing here imports JAX or PyTorch: callers who pass one of their arrays have done
# so. The tests of class stand in the open, rather than behind array-api-compat's cached
# helpers, because ``torch.compile`` traces through them.

# An array of any of the three libraries; they share no base class.
Array = Any

_NUMPY_ARRAYS = (np.ndarray, np.generic)
_SCALARS = (int, float)


def arrays_of_equal_shape(**named: Array) -> tuple[Any, ...]:
    """Return the array namespace, then the arguments as arrays of one shape.

    Python scalars are allowed anywhere, and integers become floats. Arrays whose shapes
    differ would be broadcast silently, the classic ``(n,)`` against ``(n, 1)``: they
    raise a ``ValueError`` that names both shapes.

    Examples
    --------
    >>> xp, mean, variance = arrays_of_equal_shape(mean=[1.0, 2.0], variance=0.5)
    >>> variance
    array([0.5, 0.5])
    """
    xp = namespace_of(*named.values())
    arrays = {
        name: value if _is_array(value) else xp.asarray(value)
        for name, value in named.items()
        if not _is_scalar(value)
    }
    if not arrays:
        return (xp, *(xp.asarray(float(value)) for value in named.values()))
    arrays = _as_floats(xp, arrays)
    first_name, first = next(iter(arrays.items()))
    for name, array in arrays.items():
        if array.shape != first.shape:
            raise ValueError(
                f"{first_name} and {name} must have the same shape, "
                f"got {tuple(first.shape)} and {tuple(array.shape)}"
            )
    filled = (
        arrays[name] if name in arrays else xp.full_like(first, value)
        for name, value in named.items()
    )
    return (xp, *filled)


def namespace_of(*arrays: Array) -> Any:
    """Return the array namespace of the arguments; lists and scalars count as NumPy.

    Examples
    --------
    >>> xp = namespace_of(np.ones(2))
    >>> xp.exp(np.zeros(2))
    array([1., 1.])
    """
    if any(is_torch(array) for array in arrays):
        import array_api_compat.torch as torch_namespace

        return torch_namespace
    if any(is_jax(array) for array in arrays):
        import jax.numpy

        return jax.numpy
    return numpy_namespace


def is_torch(array: Any) -> bool:
    """Tell whether `array` is a PyTorch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_jax(array: Any) -> bool:
    """Tell whether `array` is a JAX array or tracer."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.Array)


def stop_gradient(array: Array) -> Array:
    """Return `array` unchanged, with zero derivative."""
    if is_torch(array):
        return array.detach()
    if is_jax(array):
        import jax

        return jax.lax.stop_gradient(array)
    return array


def softplus(array: Array) -> Array:
    """Return log(1 + exp(array)), without overflow.

    Examples
    --------
    >>> softplus(np.array([-1000.0, 0.0, 1000.0])).round(4).tolist()
    [0.0, 0.6931, 1000.0]
    """
    if is_torch(array):
        import torch

        return torch.nn.functional.softplus(array)
    if is_jax(array):
        import jax

        return jax.nn.softplus(array)
    return np.logaddexp(array, 0)


def minimum(array: Array, limit: float) -> Array:
    """Return the elements of `array`, but `limit` for those above; NaN stays NaN.

    The derivative is zero above the limit.

    Examples
    --------
    >>> minimum(np.array([1.0, 3.0]), 2.0).tolist()
    [1.0, 2.0]
    """
    if is_torch(array):
        return array.clamp(max=limit)
    return namespace_of(array).minimum(array, limit)


def lgamma(array: Array) -> Array:
    """Return the logarithm of the gamma function."""
    return _special(array).gammaln(array)


def digamma(array: Array) -> Array:
    """Return the derivative of `lgamma`."""
    return _special(array).digamma(array)


def lgamma_half_step(array: Array) -> Array:
    """Return lgamma(a + 1/2) - lgamma(a).

    In single precision the difference of two large numbers would lose all digits, and
    two slow functions with two slow derivatives would be called. There it is a series
    in ``1 / w``, after four steps of the recurrence; the coefficient of order k is
    ``2 * B[k + 1](1/4) / (k * (k + 1))`` with Bernoulli polynomials.
    """
    xp = namespace_of(array)
    if array.dtype == xp.float64:
        return lgamma(array + 0.5) - lgamma(array)
    steps = array / (array + 0.5)
    for i in (1, 2, 3):
        steps = steps * ((array + i) / (array + (i + 0.5)))
    w = array + 3.75
    u = 1 / (w * w)
    series = u * (1 / 64 - u * (5 / 2048 - u * (61 / 49152)))
    return xp.log(steps * xp.sqrt(w)) + series


def erf(array: Array) -> Array:
    """Return the error function."""
    return _special(array).erf(array)


def _as_floats(xp: Any, arrays: dict[str, Array]) -> dict[str, Array]:
    # Integers take the precision of the floats beside them. Left alone, uint8 residuals
    # would wrap, and a scalar variance of 0.5 filled in beside them would become 0.
    integers = {n for n, a in arrays.items() if _is_integer(xp, a)}
    floating = [a.dtype for n, a in arrays.items() if n not in integers]
    for name in integers:
        array = arrays[name]
        arrays[name] = xp.astype(array, floating[0]) if floating else array / 1
    return arrays


def _is_integer(xp: Any, array: Array) -> bool:
    return bool(xp.isdtype(array.dtype, ("integral", "bool")))


def _special(array: Array) -> Any:
    if is_torch(array):
        import torch

        return torch.special
    if is_jax(array):
        import jax.scipy.special

        return jax.scipy.special
    import scipy.special

    return scipy.special


def _is_array(value: Any) -> bool:
    return isinstance(value, _NUMPY_ARRAYS) or is_torch(value) or is_jax(value)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, _SCALARS)
