"""The networks of the paper that the benchmark trains."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class BenchNetwork:
    """A network with the size of its data and batches."""

    name: str
    n_inputs: int
    hidden_sizes: tuple[int, ...]
    activation: str
    n_targets: int
    batch_size: int
    n_samples: int

    @property
    def flops(self) -> int:
        """Multiplications and additions of the matrix products of one update.

        Each layer needs three products (forward, gradient of the weights, gradient of
        the input), the first layer two.
        """
        sizes = (self.n_inputs, *self.hidden_sizes, 2 * self.n_targets)
        products = [i * o for i, o in itertools.pairwise(sizes)]
        return 2 * self.batch_size * (3 * sum(products) - products[0])

    def data(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return random inputs and smooth, noisy targets."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(self.n_samples, self.n_inputs))
        noise = rng.normal(size=(self.n_samples, self.n_targets))
        y = np.sin(x.sum(axis=1, keepdims=True)) + 0.1 * noise
        return x.astype(np.float32), y.astype(np.float32)


NETWORKS = {
    network.name: network
    for network in [
        BenchNetwork("uci", 8, (50,), "relu", 1, 256, 7372),
        BenchNetwork("sine", 1, (128, 128), "tanh", 1, 100, 1000),
        BenchNetwork("object-slide", 5, (128, 128, 128), "relu", 1, 256, 60_000),
        BenchNetwork("fpp", 29, (128, 128, 128, 128), "relu", 3, 256, 60_000),
    ]
}
