"""What is timed; every contender does a given amount of work when called."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np

from betanll.objectives import Objective
from betanll.training import Run, RunState, prepare
from betanll_paper.speed.networks import Network

#: Does at least so many updates (or products) and returns how many it did.
Contender = Callable[[int], int]


def ours(network: Network, objective: Objective, n_fits: int) -> Contender:
    """Our compiled training, `n_fits` fits side by side, without compilation."""
    fits = [prepare(network.task(objective, seed)) for seed in range(n_fits)]
    states = [fit.start() for fit in fits]
    executor = ThreadPoolExecutor(n_fits)

    def train(n_updates: int) -> int:
        n_epochs = -(-n_updates // fits[0].n_batches)

        def advance(fit: Run, state: RunState) -> None:
            fit.advance(state, n_epochs)

        list(executor.map(advance, fits, states))
        return n_epochs * fits[0].n_batches * n_fits

    return train


MATMUL_SIZE = 1024
MATMUL_FLOPS = 2 * MATMUL_SIZE**3


def matmul_peaks() -> dict[str, Contender]:
    """Large single-precision products on all cores, by the libraries at hand."""
    square = np.ones((MATMUL_SIZE, MATMUL_SIZE), np.float32)
    on_device = jnp.asarray(square)
    product = jax.jit(jnp.matmul)

    def numpy_products(n: int) -> int:
        for _ in range(n):
            np.matmul(square, square)
        return n

    def jax_products(n: int) -> int:
        for _ in range(n):
            jax.block_until_ready(product(on_device, on_device))
        return n

    return {"numpy": numpy_products, "jax": jax_products}
