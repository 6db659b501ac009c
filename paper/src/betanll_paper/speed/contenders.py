"""Contenders: functions that do a given amount of work, to be timed.

The loops in PyTorch are common ones: shuffled indexing, autograd and Adam.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from betanll.objectives import Objective
from betanll.training import Run, prepare
from betanll_paper.speed.networks import BenchNetwork, BenchVAE, Network

#: Does at least this many updates (or products) and returns how many it did.
Contender = Callable[[int], int]
MATMUL_SIZE = 1024
MATMUL_FLOPS = 2 * MATMUL_SIZE**3

#: Modules to train, and a function of row numbers that returns their loss.
_Trained = tuple[Any, Callable[[Any], Any]]


def ours(network: Network, objective: Objective, n_fits: int) -> Contender:
    """Return compiled training with betanll, `n_fits` fits side by side."""
    fits = [prepare(network.task(objective, seed)) for seed in range(n_fits)]
    states = [fit.start() for fit in fits]
    executor = ThreadPoolExecutor(n_fits)

    def train(n_updates: int) -> int:
        n_epochs = -(-n_updates // fits[0].n_batches)
        list(executor.map(Run.advance, fits, states, [n_epochs] * n_fits))
        return n_epochs * fits[0].n_batches * n_fits

    return train


def matmul_peaks() -> dict[str, Contender]:
    """Return large products in single precision on all cores, by library."""
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


def torch_eager(network: Network, n_threads: int) -> Contender:
    """Return the same training in PyTorch, without compilation."""
    import torch

    if isinstance(network, BenchVAE):
        modules, loss_of = _vae(network)
    else:
        modules, loss_of = _regressor(network)
    optimizer = torch.optim.Adam(modules.parameters(), lr=1e-3)
    size = network.batch_size

    def batches() -> Any:
        while True:
            order = torch.randperm(network.n_samples)
            for first in range(0, network.n_samples - size + 1, size):
                yield order[first : first + size]

    def train(n_updates: int) -> int:
        torch.set_num_threads(n_threads)
        for rows in itertools.islice(batches(), n_updates):
            loss = loss_of(rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return n_updates

    return train


def _regressor(network: BenchNetwork) -> _Trained:
    import torch

    x, y = (torch.from_numpy(array) for array in network.data())
    sizes = (network.n_inputs, *network.hidden_sizes)
    trunk = _trunk(sizes, network.activation)
    heads = _Heads(sizes[-1], network.n_targets)

    def loss_of(rows: Any) -> Any:
        return _beta_nll(*heads(trunk(x[rows])), y[rows]).sum(dim=1).mean()

    return torch.nn.ModuleList([trunk, *heads.modules]), loss_of


def _vae(network: BenchVAE) -> _Trained:
    import torch

    images = torch.from_numpy(network.data())
    sizes = network.hidden_sizes
    encoder = _trunk((network.n_pixels, *sizes), "relu")
    decoder = _trunk((network.n_latent, *sizes[::-1]), "relu")
    code = _Heads(sizes[-1], network.n_latent)
    pixels = _Heads(sizes[0], network.n_pixels)

    def loss_of(rows: Any) -> Any:
        batch = images[rows]
        mean, variance = code(encoder(batch))
        z = mean + variance.sqrt() * torch.randn_like(mean)
        nll = _beta_nll(*pixels(decoder(z)), batch)
        divergence = 0.5 * (mean**2 + variance - 1 - variance.log())
        return (nll.sum(dim=1) + divergence.sum(dim=1)).mean()

    modules = [encoder, decoder, *code.modules, *pixels.modules]
    return torch.nn.ModuleList(modules), loss_of


class _Heads:
    """Linear layers for a mean and a positive variance."""

    def __init__(self, n_inputs: int, n_outputs: int) -> None:
        import torch

        self.modules = [torch.nn.Linear(n_inputs, n_outputs) for _ in range(2)]

    def __call__(self, features: Any) -> tuple[Any, Any]:
        import torch

        mean, raw = (head(features) for head in self.modules)
        return mean, torch.nn.functional.softplus(raw) + 1e-8


def _trunk(sizes: tuple[int, ...], activation: str) -> Any:
    import torch

    nonlinearity = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}[activation]
    layers: list[torch.nn.Module] = []
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(n_in, n_out), nonlinearity()]
    return torch.nn.Sequential(*layers)


def _beta_nll(mean: Any, variance: Any, target: Any) -> Any:
    nll = 0.5 * (variance.log() + (target - mean) ** 2 / variance)
    return nll * variance.detach() ** 0.5
