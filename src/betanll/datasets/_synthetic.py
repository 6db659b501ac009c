"""Synthetic data as seeded functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


#: Standard deviation of the noise on the sine.
SINE_NOISE = 0.01


class Samples(NamedTuple):
    """Inputs and targets, ``(n, n_columns)`` each."""

    x: Array
    y: Array


def sine(n: int = 1000, *, noise: float = SINE_NOISE, seed: int = 0) -> Samples:
    """Return the sine on which the Gaussian likelihood gets stuck.

    Twelve periods of :math:`y = 0.4 \\sin(2 \\pi x)` on equally spaced points of
    [0, 12] with little, constant noise (Seitzer et al. 2022, section 3). Evaluate with
    another seed: the inputs stay the same.

    Examples
    --------
    >>> x, y = sine()
    >>> x.shape, y.shape, float(x.max())
    ((1000, 1), (1000, 1), 12.0)
    """
    x = np.linspace(0, 12, n)[:, None]
    clean = 0.4 * np.sin(2 * np.pi * x)
    return Samples(x, clean + noise * np.random.default_rng(seed).normal(size=(n, 1)))
