"""Optimisers as pytrees: their settings are traced, so a sweep compiles once."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import optax

from betanll import _pytree


class Optimizer:
    """Settings of an optax optimiser."""

    learning_rate: float

    def transform(self, decay_mask: jax.Array) -> optax.GradientTransformation:
        """Return the optax transformation; `decay_mask` is 1 where weights decay."""
        raise NotImplementedError

    def evaluated(self, params: jax.Array, state: Any) -> jax.Array:
        """Return the parameters to predict with, given the last ones and the state."""
        return params

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(
                    f"{field.name} must be finite and at least 0, got {value!r}"
                )


OptimizerClass = TypeVar("OptimizerClass", bound=Optimizer)


@dataclass_transform(frozen_default=True)
def _optimizer(cls: type[OptimizerClass]) -> type[OptimizerClass]:
    """Make a class a frozen dataclass and a pytree whose fields are all traced."""
    decorated = dataclasses.dataclass(frozen=True)(cls)
    _pytree.register(decorated)
    return decorated


@_optimizer
class Adam(Optimizer):
    """Adam with a constant learning rate."""

    learning_rate: float = 1e-3
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8

    def transform(self, decay_mask: jax.Array) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate, self.b1, self.b2, self.eps)


@_optimizer
class AdamW(Optimizer):
    """Adam with decoupled decay of the weights (not of biases)."""

    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8

    def transform(self, decay_mask: jax.Array) -> optax.GradientTransformation:
        return optax.chain(
            optax.scale_by_adam(self.b1, self.b2, self.eps),
            self._decay(decay_mask),
            optax.scale_by_learning_rate(self.learning_rate),
        )

    def _decay(self, mask: jax.Array) -> optax.GradientTransformation:
        def decay(updates: Any, params: Any) -> Any:
            return updates + self.weight_decay * mask * params

        return optax.stateless(decay)


@_optimizer
class CosineAdamW(AdamW):
    """AdamW whose learning rate rises for some updates, then falls as a cosine.

    It reaches a hundredth of `learning_rate` after `n_updates` and stays there.
    Predictions are made with a moving average of the parameters, in which those of an
    update count `averaging` times as much as those of the next one.
    """

    n_updates: float = 10_000
    n_warmup: float = 100
    averaging: float = 0.99

    def transform(self, decay_mask: jax.Array) -> optax.GradientTransformation:
        def rate(count: jax.Array) -> jax.Array:
            share = jnp.minimum(count / jnp.maximum(self.n_updates, 1), 1)
            cosine = 0.5 * (1 + jnp.cos(jnp.pi * share))
            warmup = jnp.minimum((count + 1) / jnp.maximum(self.n_warmup, 1), 1)
            return self.learning_rate * warmup * (0.99 * cosine + 0.01)

        return optax.chain(
            optax.scale_by_adam(self.b1, self.b2, self.eps),
            self._decay(decay_mask),
            optax.scale_by_learning_rate(rate),
            _keep_average(self.averaging),
        )

    def evaluated(self, params: jax.Array, state: Any) -> jax.Array:
        return state[-1].average


class _Average(NamedTuple):
    average: jax.Array
    n_updates: jax.Array


def _keep_average(decay: float) -> optax.GradientTransformation:
    """Keep a moving average of the parameters; the last link of a chain."""

    def init(params: jax.Array) -> _Average:
        return _Average(params, jnp.zeros((), params.dtype))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, _Average]:
        n = state.n_updates
        # At first over a part of the past, so that the start is soon forgotten.
        share = 1 - jnp.minimum(decay, (n + 1) / (n + 10))
        average = state.average + share * (params + updates - state.average)
        return updates, _Average(average, n + 1)

    return optax.GradientTransformation(init, update)


@_optimizer
class SGD(Optimizer):
    """Gradient descent with heavy-ball momentum."""

    learning_rate: float = 1e-2
    momentum: float = 0.0

    def transform(self, decay_mask: jax.Array) -> optax.GradientTransformation:
        return optax.sgd(self.learning_rate, self.momentum)


@_optimizer
class RMSprop(Optimizer):
    """RMSprop; `decay` averages the squared gradient."""

    learning_rate: float = 1e-3
    decay: float = 0.99
    momentum: float = 0.0
    eps: float = 1e-8

    def transform(self, decay_mask: jax.Array) -> optax.GradientTransformation:
        return optax.rmsprop(
            *(self.learning_rate, self.decay, self.eps),
            eps_in_sqrt=False,  # as PyTorch has it
            momentum=self.momentum,
        )
