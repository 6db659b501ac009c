"""Derivatives of the losses by JAX and by PyTorch, behind one call."""

import numpy as np
import pytest


def _by_jax(loss, *arguments, dtype="float64"):
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(dtype == "float64"):
        arrays = [jnp.asarray(argument, dtype=dtype) for argument in arguments]
        values, pullback = jax.vjp(loss, *arrays)
        gradients = pullback(jnp.ones_like(values))
        return np.asarray(values), [np.asarray(gradient) for gradient in gradients]


def _by_torch(loss, *arguments, dtype="float64"):
    import torch

    tensors = [
        torch.tensor(argument, dtype=getattr(torch, dtype), requires_grad=True)
        for argument in arguments
    ]
    values = loss(*tensors)
    gradients = torch.autograd.grad(
        values.sum(), tensors, allow_unused=True, materialize_grads=True
    )
    return values.detach().numpy(), [gradient.numpy() for gradient in gradients]


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(_by_jax, id="jax"),
        pytest.param(_by_torch, id="torch", marks=pytest.mark.torch),
    ],
)
def derivatives(request):
    """A function that returns a loss and its derivative by each of its arguments.

    It is called as ``derivatives(loss, *arguments, dtype="float64")``. The derivatives
    are those of the sum, which for an elementwise loss are the elementwise ones.
    """
    return request.param
