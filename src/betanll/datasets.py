"""Synthetic data as seeded functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from betanll.typing import Array

if TYPE_CHECKING:
    from betanll.distributions import Normal

__all__ = [
    "SINE_NOISE",
    "Samples",
    "Splits",
    "heteroscedastic_sine",
    "heteroscedastic_sine_truth",
    "sine",
]

#: Standard deviation of the noise on the sine.
SINE_NOISE = 0.01

#: Standard deviation of both noises of the heteroscedastic sine.
_FACTOR_NOISE = 0.3


class Samples(NamedTuple):
    """Inputs and targets, ``(n, n_columns)`` each."""

    x: Array
    y: Array


class Splits(NamedTuple):
    """Three sets that were drawn independently."""

    train: Samples
    validation: Samples
    test: Samples


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


def heteroscedastic_sine(n: int = 500, *, seed: int = 0) -> Samples:
    """Return a sine whose amplitude and noise both grow.

    :math:`y = x \\sin x + x \\xi_1 + \\xi_2` on equally spaced points of [0, 10] with
    independent :math:`\\xi \\sim N(0, 0.3^2)` (Seitzer et al. 2022, section 5.1, after
    Detlefsen et al. 2019). Evaluate with another seed: the inputs stay the same.

    Examples
    --------
    >>> x, y = heteroscedastic_sine()
    >>> x.shape, y.shape, float(x.max())
    ((500, 1), (500, 1), 10.0)
    """
    x = np.linspace(0, 10, n)[:, None]
    factor, offset = np.random.default_rng(seed).normal(0, _FACTOR_NOISE, (2, n, 1))
    return Samples(x, x * np.sin(x) + x * factor + offset)


def heteroscedastic_sine_truth(x: npt.ArrayLike) -> Normal:
    """Return the distribution of which :func:`heteroscedastic_sine` draws at `x`.

    Its standard deviation is :math:`0.3 \\sqrt{1 + x^2}`.

    Examples
    --------
    >>> heteroscedastic_sine_truth([[0.0], [10.0]]).std.round(3)
    array([[0.3  ],
           [3.015]])
    """
    x = np.asarray(x, np.float64)
    from betanll.distributions import Normal

    return Normal(x * np.sin(x), _FACTOR_NOISE * np.sqrt(1 + x**2))
