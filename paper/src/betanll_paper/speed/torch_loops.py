"""The loops that most people write in PyTorch: shuffled indexing, autograd, Adam."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from betanll_paper.speed.contenders import Contender
from betanll_paper.speed.networks import BenchNetwork, BenchVAE, Network


def torch_eager(network: Network, n_threads: int) -> Contender:
    """The same training as ours, without compilation."""
    import torch

    if isinstance(network, BenchVAE):
        modules, loss_of = _vae(network)
    else:
        modules, loss_of = _regressor(network)
    optimizer = torch.optim.Adam(modules.parameters(), lr=1e-3)

    def step(rows: Any) -> None:
        loss = loss_of(rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def train(n_updates: int) -> int:
        torch.set_num_threads(n_threads)
        size = network.batch_size
        done = 0
        while done < n_updates:
            order = torch.randperm(network.n_samples)
            for first in range(0, network.n_samples - size + 1, size):
                step(order[first : first + size])
                done += 1
                if done == n_updates:
                    break
        return done

    return train


#: Modules to train, and the loss of some rows.
_Trained = tuple[Any, Callable[[Any], Any]]


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
    """Two linear maps: a mean and a positive variance."""

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
