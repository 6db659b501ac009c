"""Forward passes over any number of samples with few compilations."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from betanll.objectives import Objective
from betanll.training._data import checked_matrix

#: Samples in one forward pass; fewer are padded to one of these sizes. The size may
#: change the last bit of a result, because products are divided differently.
SIZES = (256, 1024, 4096, 16384)
CHUNK = SIZES[-1]
#: Samples in one product of a pass in blocks; divides all of the sizes.
BLOCK = SIZES[0]


@partial(jax.jit, static_argnames="net")
def predict_at_once(
    net: Any, objective: Objective, params: Any, inputs: jax.Array
) -> tuple[jax.Array, ...]:
    def forward(inputs: Any) -> Any:
        return objective.split_outputs(net.apply(params, inputs))

    return objective.predicted_parameters(forward, inputs.T)


@partial(jax.jit, static_argnames="net")
def predict_in_blocks(
    net: Any, objective: Objective, params: Any, inputs: jax.Array
) -> tuple[jax.Array, ...]:
    blocks = inputs.reshape(-1, BLOCK, inputs.shape[1])
    parameters = jax.lax.map(
        lambda block: predict_at_once(net, objective, params, block), blocks
    )
    return tuple(
        jnp.moveaxis(part, 0, 1).reshape(part.shape[1], -1) for part in parameters
    )


def predict_parameters(
    net: Any, objective: Objective, params: Any, x: Any, *, in_blocks: bool = False
) -> tuple[npt.NDArray[np.float64], ...]:
    """Return the distribution parameters at `x`, each ``(n, n_targets)``.

    With `in_blocks`, the bits of a sample do not depend on the other samples.
    """
    forward = predict_in_blocks if in_blocks else predict_at_once
    x = checked_matrix(x, "inputs")
    if x.shape[1] != net.n_inputs:
        raise ValueError(
            f"inputs must have shape (n, {net.n_inputs}), got {tuple(x.shape)}"
        )
    parts = []
    for first in range(0, max(len(x), 1), CHUNK):
        part = x[first : first + CHUNK]
        n = len(part)
        size = next(size for size in SIZES if size >= n)
        padded = part if n == size else np.pad(part, ((0, size - n), (0, 0)))
        parameters = forward(net, objective, params, jnp.asarray(padded))
        needed = objective.predictive_parameters(parameters)
        parts.append([np.asarray(parameter)[:, :n] for parameter in needed])
    return tuple(
        np.concatenate(columns, axis=1).T.astype(np.float64)
        for columns in zip(*parts, strict=True)
    )
