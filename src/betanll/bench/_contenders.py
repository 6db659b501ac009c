"""What is timed; every contender does a given amount of work when called."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from betanll.bench._networks import BenchNetwork
from betanll.nets import MLP
from betanll.objectives import Objective
from betanll.training import FitTask, _loop
from betanll.training._task import PreparedFit, prepare

#: Does at least so many updates (or products) and returns how many it did.
Contender = Callable[[int], int]


def ours(network: BenchNetwork, objective: Objective, n_fits: int) -> Contender:
    """Our compiled training, `n_fits` fits side by side, without compilation."""
    x, y = network.data()
    net = MLP(network.n_inputs, network.hidden_sizes, network.activation)
    fits = [
        prepare(
            FitTask(
                net,
                objective,
                x,
                y,
                batch_size=network.batch_size,
                max_epochs=2**30,
                seed=seed,
            )
        )
        for seed in range(n_fits)
    ]
    states = [fit.start() for fit in fits]
    executor = ThreadPoolExecutor(n_fits)

    def train(n_updates: int) -> int:
        n_epochs = -(-n_updates // fits[0].n_batches)

        def run(fit: PreparedFit, state: _loop.State) -> None:
            done = 0
            while done < n_epochs:
                done = min(n_epochs, done + _loop.HISTORY_CAPACITY)
                state, _, _ = _loop.run(fit.program, *fit.arguments(), done, state)
            jax.block_until_ready(state)

        list(executor.map(run, fits, states))
        return n_epochs * fits[0].n_batches * n_fits

    return train


def torch_eager(network: BenchNetwork, n_threads: int) -> Contender:
    """The loop that most people write: shuffled indexing, autograd, Adam."""
    import torch

    x, y = (torch.from_numpy(array) for array in network.data())
    activation = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}[network.activation]
    layers: list[torch.nn.Module] = []
    size = network.n_inputs
    for hidden in network.hidden_sizes:
        layers += [torch.nn.Linear(size, hidden), activation()]
        size = hidden
    trunk = torch.nn.Sequential(*layers)
    mean_head = torch.nn.Linear(size, network.n_targets)
    variance_head = torch.nn.Linear(size, network.n_targets)
    modules = torch.nn.ModuleList([trunk, mean_head, variance_head])
    optimizer = torch.optim.Adam(modules.parameters(), lr=1e-3)

    def step(rows: Any) -> None:
        features = trunk(x[rows])
        mean = mean_head(features)
        variance = torch.nn.functional.softplus(variance_head(features)) + 1e-8
        nll = 0.5 * (variance.log() + (y[rows] - mean) ** 2 / variance)
        loss = (nll * variance.detach() ** 0.5).sum(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def train(n_updates: int) -> int:
        torch.set_num_threads(n_threads)
        done = 0
        while done < n_updates:
            order = torch.randperm(len(x))
            for first in range(0, len(x) - network.batch_size + 1, network.batch_size):
                step(order[first : first + network.batch_size])
                done += 1
                if done == n_updates:
                    break
        return done

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
