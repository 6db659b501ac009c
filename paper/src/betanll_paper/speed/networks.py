"""The paper's networks that the benchmark trains."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from betanll.networks import MLP
from betanll.objectives import Objective
from betanll.training import Budget, Data, FitTask
from betanll_paper.autoencoders import Autoencoder, Autoencoding

# Epochs: more than anybody times.
_ENDLESS = 2**30


@dataclass(frozen=True)
class BenchNetwork:
    """A network, and the size of its data and batches."""

    name: str
    n_inputs: int
    hidden_sizes: tuple[int, ...]
    activation: str
    n_targets: int
    batch_size: int
    n_samples: int

    @property
    def flops(self) -> int:
        """Multiplications and additions in the matrix products of one update."""
        sizes = (self.n_inputs, *self.hidden_sizes, 2 * self.n_targets)
        return self.batch_size * _flops(sizes)

    def data(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return random inputs and smooth, noisy targets."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(self.n_samples, self.n_inputs))
        noise = rng.normal(size=(self.n_samples, self.n_targets))
        y = np.sin(x.sum(axis=1, keepdims=True)) + 0.1 * noise
        return x.astype(np.float32), y.astype(np.float32)

    def task(self, objective: Objective, seed: int) -> FitTask:
        """Return an endless fit."""
        net = MLP(self.n_inputs, self.hidden_sizes, self.activation)
        budget = Budget(self.batch_size, _ENDLESS)
        return FitTask(net, objective, Data.of(*self.data()), budget=budget, seed=seed)


@dataclass(frozen=True)
class BenchVAE:
    """A variational autoencoder, and the size of its images and batches."""

    name: str
    n_pixels: int
    n_latent: int
    hidden_sizes: tuple[int, ...]
    batch_size: int
    n_samples: int

    @property
    def flops(self) -> int:
        """Multiplications and additions in the matrix products of one update."""
        sizes = (
            (self.n_pixels, *self.hidden_sizes, 2 * self.n_latent),
            (self.n_latent, *self.hidden_sizes[::-1], 2 * self.n_pixels),
        )
        # The gradient passes through the first layer of the decoder.
        latent = 2 * self.n_latent * self.hidden_sizes[-1]
        return self.batch_size * (sum(map(_flops, sizes)) + latent)

    def data(self) -> npt.NDArray[np.float32]:
        """Return random images."""
        rng = np.random.default_rng(0)
        return rng.uniform(size=(self.n_samples, self.n_pixels)).astype(np.float32)

    def task(self, objective: Objective, seed: int) -> FitTask:
        """Return an endless fit."""
        images = self.data()
        packed = Data.from_blocks(
            [(images, images[:, :0], np.ones((len(images), 1)))],
            n_train=len(images),
            n_inputs=self.n_pixels,
            n_targets=0,
        )
        net = Autoencoder(self.n_pixels, self.n_latent, self.hidden_sizes)
        budget = Budget(self.batch_size, _ENDLESS)
        return FitTask(net, Autoencoding(objective), packed, budget=budget, seed=seed)


def _flops(sizes: Sequence[int]) -> int:
    """Return the operations of one update of a perceptron for one sample.

    Each layer needs three products (forward, gradient of the weights, gradient of the
    input); the first layer needs two.
    """
    products = [i * o for i, o in itertools.pairwise(sizes)]
    return 2 * (3 * sum(products) - products[0])


Network = BenchNetwork | BenchVAE

_NETWORKS: list[Network] = [
    BenchNetwork("uci", 8, (50,), "relu", 1, 256, 7372),
    BenchNetwork("sine", 1, (128, 128), "tanh", 1, 100, 1000),
    BenchNetwork("object-slide", 5, (128, 128, 128), "relu", 1, 256, 60_000),
    BenchNetwork("fpp", 29, (128, 128, 128, 128), "relu", 3, 256, 60_000),
    BenchVAE("vae", 784, 10, (512, 256, 128), 256, 2048),
]
NETWORKS = {network.name: network for network in _NETWORKS}
