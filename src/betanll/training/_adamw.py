"""Adam with weight decay for some parameters, also with a cosine schedule."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


def adamw(
    learning_rate: Any = 1e-3,
    weight_decay: Any = 1e-4,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    *,
    is_weight: jax.Array,
) -> optax.GradientTransformation:
    """Return Adam with decoupled weight decay; a factory for :func:`optimizer`.

    The network decides which parameters decay, see :class:`~betanll.networks.Network`:
    the weights of :class:`~betanll.networks.MLP`, but not its biases.

    Examples
    --------
    >>> from betanll.training import adamw, optimizer
    >>> optimizer(adamw, learning_rate=3e-3, weight_decay=0.1).name
    'adamw'
    """
    return optax.chain(
        optax.scale_by_adam(b1, b2, eps),
        _decay(weight_decay, is_weight),
        optax.scale_by_learning_rate(learning_rate),
    )


def cosine_adamw(
    learning_rate: Any = 1e-3,
    weight_decay: Any = 1e-4,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    n_updates: Any = 10_000.0,
    n_warmup: Any = 100.0,
    averaging: Any = 0.99,
    *,
    is_weight: jax.Array,
) -> optax.GradientTransformation:
    """Return :func:`adamw` whose learning rate rises, then falls as a cosine.

    The rate rises for `n_warmup` updates, reaches a hundredth of `learning_rate` after
    `n_updates` and stays there. Predictions use a moving average of the parameters, in
    which each update weighs `averaging` times as much as the next.

    Examples
    --------
    >>> from betanll.training import cosine_adamw, optimizer
    >>> cosine = optimizer(cosine_adamw, learning_rate=7e-3, n_updates=5000)
    >>> cosine.hyperparameters["n_updates"]
    5000.0
    """

    def rate(count: jax.Array) -> jax.Array:
        share = jnp.minimum(count / jnp.maximum(n_updates, 1), 1)
        cosine = 0.5 * (1 + jnp.cos(jnp.pi * share))
        warmup = jnp.minimum((count + 1) / jnp.maximum(n_warmup, 1), 1)
        scheduled: jax.Array = learning_rate * warmup * (0.99 * cosine + 0.01)
        return scheduled

    return optax.chain(
        optax.scale_by_adam(b1, b2, eps),
        _decay(weight_decay, is_weight),
        optax.scale_by_learning_rate(rate),
        _keep_average(averaging),
    )


def averaged_params(state: Any, params: Any) -> Any:
    """Return the moving average in the state of :func:`cosine_adamw`."""
    return state[-1].average


cosine_adamw.evaluation_params = averaged_params  # type: ignore[attr-defined]


def _decay(weight_decay: Any, is_weight: jax.Array) -> optax.GradientTransformation:
    def decay(updates: Any, params: Any) -> Any:
        return updates + weight_decay * is_weight * params

    return optax.stateless(decay)


class _Average(NamedTuple):
    average: jax.Array
    n_updates: jax.Array


def _keep_average(decay: Any) -> optax.GradientTransformation:
    """Keep a moving average of the parameters; the last link of a chain."""

    def init(params: jax.Array) -> _Average:
        return _Average(params, jnp.zeros((), params.dtype))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, _Average]:
        n = state.n_updates
        # A shorter average at first soon forgets the start.
        share = 1 - jnp.minimum(decay, (n + 1) / (n + 10))
        average = state.average + share * (params + updates - state.average)
        return updates, _Average(average, n + 1)

    return optax.GradientTransformation(init, update)
