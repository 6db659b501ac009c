"""Expected log-density of a mixture prior under Gamma posteriors, sampled.

An image has hundreds of targets, which together would need several arrays of a hundred
megabytes. Groups of a few targets fit the cache, from the random numbers to the
derivatives. Each group leaves one array for the gradient of its logits and, if the
prior is trained, two more.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from betanll.losses.arrays import digamma, lgamma
from betanll.objectives._gamma_sampler import log_gamma_samples
from betanll.objectives._mixture_prior import (
    Array,
    mean_log_prior,
    mean_log_sum_exp_with_derivatives,
)

#: Largest group, in points times components times targets.
MAX_GROUP = 2**17
# Smaller samples of the precision are rounded up to the smallest normal float32.
_MIN_LOG_VALUE = -87.0


def expected_log_prior(
    shape: Array,
    rate: Array,
    logits: Array,
    prior_shape: Array,
    prior_rate: Array,
    *,
    n_samples: int,
    key: Array,
) -> Array:
    """Return the mean of log sum_k w_k Gamma(value; ...) over values of the posterior.

    Parameters
    ----------
    shape, rate : array of shape (n_targets, n)
        Posterior Gamma distributions.
    logits : array of shape (n_components, n_targets, n)
        Logits of the mixture weights.
    prior_shape, prior_rate : array of shape (n_targets, n_components)
        Components of the mixture.

    Returns
    -------
    array of shape (n_targets, n)
    """
    n_targets, n = shape.shape
    size = group_size(n_targets, logits.shape[0] * n)
    if size < n_targets:
        arguments = (shape, rate, logits, prior_shape, prior_rate, key)
        return _by_groups(n_samples, size, *arguments)
    return mean_log_prior(
        _log_values(n_samples, key, shape, rate),
        jax.nn.log_softmax(logits, axis=0).swapaxes(0, 1),
        prior_shape,
        prior_rate,
    )


def group_size(n_targets: int, n_each: int) -> int:
    """Return the largest divisor of the targets that stays within `MAX_GROUP`."""
    largest = max(1, min(n_targets, MAX_GROUP // n_each))
    return next(size for size in range(largest, 0, -1) if n_targets % size == 0)


def _log_values(n_samples: int, key: Array, shape: Array, rate: Array) -> Array:
    """Draw logarithms of the precision, ``(n_targets, n_samples, n)``."""
    log_values = log_gamma_samples(key, shape, n_samples) - jnp.log(rate)[None]
    return jnp.maximum(log_values, _MIN_LOG_VALUE).swapaxes(0, 1)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _by_groups(n_samples: int, size: int, *arguments: Array) -> Array:
    return _forward(n_samples, size, *arguments)[0]


def _forward(
    n_samples: int,
    size: int,
    shape: Array,
    rate: Array,
    logits: Array,
    prior_shape: Array,
    prior_rate: Array,
    key: Array,
) -> tuple[Array, list[Array]]:
    """Return the expectation and its derivatives, unreduced for the prior."""

    def group(_: None, i: Array) -> tuple[None, tuple[Array, ...]]:
        def cut(array: Array, axis: int = 0) -> Array:
            return jax.lax.dynamic_slice_in_dim(array, i * size, size, axis)

        draw = partial(_log_values, n_samples, jax.random.fold_in(key, i))
        log_values, to_posterior = jax.vjp(draw, cut(shape), cut(rate))
        log_weights = jax.nn.log_softmax(cut(logits, axis=1).swapaxes(0, 1), axis=1)
        a, b = cut(prior_shape), cut(prior_rate)
        constant = a * jnp.log(b) - lgamma(a)
        value, sums = mean_log_sum_exp_with_derivatives(
            log_values, log_weights + constant[:, :, None], a - 1, b
        )
        by_value, by_offset, by_power, by_rate = (part / n_samples for part in sums)
        # `by_offset` sums to one over the components.
        return None, (
            value,
            *to_posterior(by_value),
            by_offset - jnp.exp(log_weights),
            by_power + by_offset * (jnp.log(b) - digamma(a))[:, :, None],
            by_rate + by_offset * (a / b)[:, :, None],
        )

    _, parts = jax.lax.scan(group, None, jnp.arange(shape.shape[0] // size))
    value, *derivatives = (part.reshape(-1, *part.shape[2:]) for part in parts)
    return value, derivatives


def _backward(
    n_samples: int, size: int, derivatives: list[Array], gradient: Array
) -> tuple[Any, ...]:
    by_shape, by_rate, by_logits, by_prior_shape, by_prior_rate = derivatives
    to_components = gradient[:, None]
    return (
        by_shape * gradient,
        by_rate * gradient,
        (by_logits * to_components).swapaxes(0, 1),
        jnp.sum(by_prior_shape * to_components, axis=2),
        jnp.sum(by_prior_rate * to_components, axis=2),
        None,
    )


_by_groups.defvjp(_forward, _backward)
