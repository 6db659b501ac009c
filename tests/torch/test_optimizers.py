"""Optimisers take the steps of PyTorch's."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from betanll.training import adamw, optimizer

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

PAIRS = {
    "adam": (
        optimizer(learning_rate=0.01, b1=0.8, b2=0.99),
        torch.optim.Adam,
        {"betas": (0.8, 0.99)},
    ),
    "adamw": (
        optimizer(adamw, learning_rate=0.01, weight_decay=0.1),
        torch.optim.AdamW,
        {"weight_decay": 0.1},
    ),
    "sgd": (
        optimizer(optax.sgd, learning_rate=0.01, momentum=0.9),
        torch.optim.SGD,
        {"momentum": 0.9},
    ),
    "rmsprop": (
        optimizer(optax.rmsprop, learning_rate=0.01, decay=0.9, eps_in_sqrt=False),
        torch.optim.RMSprop,
        {"alpha": 0.9},
    ),
    "rmsprop-momentum": (
        optimizer(
            optax.rmsprop,
            learning_rate=0.01,
            decay=0.9,
            momentum=0.5,
            eps_in_sqrt=False,
        ),
        torch.optim.RMSprop,
        {"alpha": 0.9, "momentum": 0.5},
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_same_steps(name):
    ours, theirs, options = PAIRS[name]
    rng = np.random.default_rng(0)
    # Gradients down to the size of eps, where its place in the formula shows.
    gradients = rng.normal(size=(20, 6)) * 10.0 ** -np.arange(0, 12, 2)
    start = rng.normal(size=6)
    parameter = torch.tensor(start, dtype=torch.float32, requires_grad=True)
    their_optimizer = theirs([parameter], lr=0.01, **options)
    transform = ours.transform(jnp.ones(6))
    params = jnp.asarray(start, jnp.float32)
    state = transform.init(params)
    for gradient in gradients.astype(np.float32):
        parameter.grad = torch.tensor(gradient)
        their_optimizer.step()
        # optax raises floats to integer powers
        with jax.numpy_dtype_promotion("standard"):
            change, state = transform.update(jnp.asarray(gradient), state, params)
        params = params + change
    np.testing.assert_allclose(params, parameter.detach(), rtol=2e-5, atol=2e-6)
