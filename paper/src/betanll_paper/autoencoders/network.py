"""Variational autoencoder: two perceptrons with a sampled code between them.

The last axis of arrays is the sample, as in :class:`betanll.networks.MLP`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from betanll.networks import MAX_UNITS, MLP, Params
from betanll.objectives.heads import unit_head


class WithNoise(NamedTuple):
    """Inputs, and the key with which their codes are drawn from the posterior."""

    inputs: jax.Array
    key: jax.Array


class Reconstruction(NamedTuple):
    """Raw outputs of the decoder and the Gaussian posterior of the code.

    `raw` is ``(n_parameters, n_inputs, n)``, mean and variance are ``(n_latent, n)``.
    """

    raw: jax.Array
    mean: jax.Array
    variance: jax.Array


@dataclass(frozen=True)
class Autoencoder:
    """Perceptrons that encode inputs to a Gaussian code and decode a sample of it.

    Parameters
    ----------
    n_inputs : int
        Number of input features, such as pixels, to reconstruct.
    n_latent : int, default=10
        Length of the code.
    hidden_sizes : tuple of int, default=(512, 256, 128)
        Units of each hidden layer of the encoder; the decoder has them in reverse.
    activation : {"tanh", "relu", "elu", "gelu", "silu"}, default="relu"
        Nonlinearity after every hidden layer.
    initialiser : {"xavier", "lecun"}, default="xavier"
        Uniform initialisation of the weights; biases start at zero.

    Examples
    --------
    >>> import jax
    >>> net = Autoencoder(n_inputs=64, n_latent=3, hidden_sizes=(16, 8))
    >>> params = net.init([64, 64], key=jax.random.key(0))
    >>> net.decode(params, jax.numpy.zeros((3, 5))).shape
    (2, 64, 5)
    """

    n_inputs: int
    n_latent: int = 10
    hidden_sizes: tuple[int, ...] = (512, 256, 128)
    activation: str = "relu"
    initialiser: str = "xavier"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden_sizes", tuple(self.hidden_sizes))
        if not 1 <= self.n_latent <= MAX_UNITS:
            limit = f"at most {MAX_UNITS}" if self.n_latent > 0 else "positive"
            raise ValueError(f"n_latent must be {limit}, got {self.n_latent}")
        _ = self.encoder  # checks the rest

    @property
    def encoder(self) -> MLP:
        """Network from the inputs to mean and raw variance of the code."""
        return MLP(self.n_inputs, self.hidden_sizes, self.activation, self.initialiser)

    @property
    def decoder(self) -> MLP:
        """Network from a code to the raw outputs."""
        sizes = self.hidden_sizes[::-1]
        return MLP(self.n_latent, sizes, self.activation, self.initialiser)

    def init(self, head_sizes: tuple[int, ...], *, key: jax.Array) -> Params:
        """Draw parameters for a decoder with heads of the given numbers of outputs."""
        encoder_key, decoder_key = jax.random.split(key)
        latent_heads = (self.n_latent, self.n_latent)
        return {
            "encoder": self.encoder.init(latent_heads, key=encoder_key),
            "decoder": self.decoder.init(head_sizes, key=decoder_key),
        }

    def decays(self, params: Params) -> Params:
        """Mark the parameters that weight decay shrinks: weights, but not biases."""
        return {
            "encoder": self.encoder.decays(params["encoder"]),
            "decoder": self.decoder.decays(params["decoder"]),
        }

    def encode(self, params: Params, inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return mean and variance of the code, ``(n_latent, n)``.

        A raw variance of 0 means 1.
        """
        mean, raw_variance = jnp.split(self.encoder.apply(params["encoder"], inputs), 2)
        return mean, unit_head(raw_variance)

    def decode(
        self, params: Params, code: jax.Array, *, n_detached: int = 0
    ) -> jax.Array:
        """Return the raw outputs at codes ``(n_latent, n)``."""
        outputs = self.decoder.apply(params["decoder"], code, n_detached=n_detached)
        return outputs.reshape(-1, self.n_inputs, code.shape[1])

    def features(self, params: Params, inputs: jax.Array) -> jax.Array:
        """Return the mean of the code, ``(n_latent, n)``."""
        return self.encode(params, inputs)[0]

    def apply(
        self, params: Params, inputs: Any, *, n_detached: int = 0
    ) -> Reconstruction:
        """Encode and decode, with posterior means as codes unless a key draws them."""
        key = None
        if isinstance(inputs, WithNoise):
            inputs, key = inputs
        mean, variance = self.encode(params, inputs)
        code = mean
        if key is not None:
            noise = jax.random.normal(key, mean.shape, mean.dtype)
            code = mean + jnp.sqrt(variance) * noise
        raw = self.decode(params, code, n_detached=n_detached)
        return Reconstruction(raw, mean, variance)
