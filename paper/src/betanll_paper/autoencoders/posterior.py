"""Codes of images and the distributions that the decoder predicts from codes.

Networks run in single precision, densities in double. Both take a few images at a
time, so that working memory does not grow with the number of images.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from betanll.distributions import Distribution
from betanll.objectives import Objective
from betanll.training import padded_size
from betanll.typing import Array
from betanll_paper.autoencoders.images import Images, Pixels, pixel_blocks, pixels_of
from betanll_paper.autoencoders.network import Autoencoder

#: Pixels that are decoded at a time, over images and codes.
_MAX_PIXELS = 2**21


class TrainedNet(NamedTuple):
    """A network, the objective of its decoder, and its parameters."""

    net: Autoencoder
    objective: Objective
    params: Any


class Errors(NamedTuple):
    """Log-density and mean squared error of each image."""

    log_likelihood: Array
    square: Array


@partial(jax.jit, static_argnames="net")
def _encode(net: Autoencoder, params: Any, pixels: Any) -> tuple[jax.Array, jax.Array]:
    mean, variance = net.encode(params, pixels.T)
    return mean.T, jnp.sqrt(variance).T


@partial(jax.jit, static_argnames="net")
def _decode(
    net: Autoencoder, objective: Objective, params: Any, codes: Any
) -> list[jax.Array]:
    parameters = objective.parameters(net.decode(params, codes.T))
    return [part.T for part in objective.predictive_parameters(parameters)]


def encode(trained: TrainedNet, images: Images) -> tuple[Array, Array]:
    """Return mean and standard deviation of codes, ``(n, n_latent)`` each."""
    parts = [
        _encode_block(trained, block, padded_size(len(block)))
        for block in pixel_blocks(images)
    ]
    mean, std = map(np.concatenate, zip(*parts, strict=True))
    return mean, std


def decode(trained: TrainedNet, codes: Array) -> Iterator[Distribution]:
    """Yield predictive distributions of codes ``(n, n_latent)``, some at a time."""
    for places, size in _chunks(len(codes), trained.net.n_inputs):
        yield _decode_block(trained, codes[places, None], size)[:, 0]


def predictions(
    trained: TrainedNet, images: Images, n_codes: int, random: np.random.Generator
) -> Iterator[tuple[Pixels, Distribution]]:
    """Yield pixels of some images, and distributions given codes from the posterior.

    The pixels are ``(m, n_pixels)``, the distributions ``(m, n_codes, n_pixels)``.
    """
    for places, size in _chunks(len(images), n_codes * trained.net.n_inputs):
        pixels = pixels_of(images[places])
        mean, std = _encode_block(trained, pixels, size)
        noise = random.standard_normal((len(mean), n_codes, mean.shape[1]))
        codes = mean[:, None] + std[:, None] * noise
        yield pixels, _decode_block(trained, codes, size)


def mixture_moments(predictive: Distribution) -> tuple[Array, Array]:
    """Return mean and standard deviation of the mixture over the codes, axis 1."""
    mean = predictive.mean.mean(axis=1)
    variance = predictive.variance.mean(axis=1) + predictive.mean.var(axis=1)
    return mean, np.sqrt(variance)


def errors(
    trained: TrainedNet, images: Images, n_codes: int, random: np.random.Generator
) -> Errors:
    """Return the errors of the mixture over codes for each image.

    The pixels of an image share a code, so the density of an image is the mean over
    codes of the product over pixels. The squared error is of the mean over codes.
    """
    parts = []
    for pixels, predictive in predictions(trained, images, n_codes, random):
        image = pixels.astype(np.float64)
        log_prob = predictive.log_prob(
            np.broadcast_to(image[:, None], predictive.shape)
        ).sum(axis=2)
        residual = predictive.mean.mean(axis=1) - image
        log_likelihood = logsumexp(log_prob, axis=1) - np.log(n_codes)
        parts.append((log_likelihood, (residual**2).mean(axis=1)))
    return Errors(*map(np.concatenate, zip(*parts, strict=True)))


def _encode_block(trained: TrainedNet, pixels: Pixels, size: int) -> tuple[Array, ...]:
    found = _encode(trained.net, trained.params, _padded(pixels, size))
    return tuple(np.asarray(part, np.float64)[: len(pixels)] for part in found)


def _decode_block(trained: TrainedNet, codes: Array, size: int) -> Distribution:
    n, n_codes, n_latent = codes.shape
    rows = _padded(codes.astype(np.float32), size).reshape(-1, n_latent)
    parameters = tuple(
        np.asarray(part, np.float64).reshape(size, n_codes, -1)[:n]
        for part in _decode(*trained, rows)
    )
    return trained.objective.predictive(parameters)


def _chunks(n: int, n_numbers: int) -> Iterator[tuple[slice, int]]:
    """Yield parts of n rows and their padded length, one length for all of them."""
    size = min(padded_size(n), max(1, _MAX_PIXELS // n_numbers))
    for first in range(0, n, size):
        yield slice(first, min(n, first + size)), size


def _padded(rows: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    return np.pad(rows, ((0, size - len(rows)), *((0, 0),) * (rows.ndim - 1)))
