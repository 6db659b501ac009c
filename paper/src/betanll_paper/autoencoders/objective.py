"""The loss of a variational autoencoder, around any objective as its likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from betanll import losses
from betanll.distributions import Distribution
from betanll.objectives import Objective, Parameters, objective
from betanll_paper.autoencoders.network import Reconstruction, WithNoise

Array = jax.Array


@objective(None)
class Autoencoding(Objective):
    """Reconstruction of an image from one sampled code, plus the price of the code.

    The loss of an image is the decoder's, summed over pixels, plus the divergence of
    the code's posterior from N(0, I). What the decoder's objective does to its own
    loss, such as the weight of beta-NLL, does not touch the divergence.

    Parameters
    ----------
    decoder : Objective
        Any objective; its targets are the pixels.
    averages_pixels : bool, default=False
        Average the decoder's loss over pixels instead, as the published results for
        moment matching do. The divergence then weighs as many times more as there are
        pixels, and the code is likely to collapse.
    """

    decoder: Objective
    averages_pixels: bool = False

    is_stochastic = True

    # All but the loss is that of the decoder, whatever its own reduction says.

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.decoder.name

    @property
    def n_parameters(self) -> int:  # type: ignore[override]
        return self.decoder.n_parameters

    @property
    def n_predictive(self) -> int:
        return self.decoder.n_predictive

    @property
    def n_detached(self) -> int:  # type: ignore[override]
        return self.decoder.n_detached

    @property
    def validation_score(self) -> str:  # type: ignore[override]
        return self.decoder.validation_score

    def head_sizes(self, n_targets: int) -> tuple[int, ...]:
        return self.decoder.head_sizes(n_targets)

    def parameters(self, raw: Any) -> Parameters:
        return self.decoder.parameters(raw.raw)

    def nll(self, parameters: Parameters, target: Array) -> Array:
        return self.decoder.nll(parameters, target)

    def mean(self, parameters: Parameters) -> Array:
        return self.decoder.mean(parameters)

    def predictive(self, parameters: Parameters) -> Distribution:
        return self.decoder.predictive(parameters)

    def init_state(self, inputs: Array, n_targets: int, *, key: Array) -> Any:
        return self.decoder.init_state(inputs, n_targets, key=key)

    def split_outputs(self, outputs: Reconstruction) -> Reconstruction:
        """Return the outputs of an autoencoder as they are."""
        return outputs

    def predicted_parameters(
        self, forward: Callable[[Any], Any], inputs: Array
    ) -> Parameters:
        """Return what one code of each image predicts, always with the same noise."""
        return self.parameters(forward(WithNoise(inputs, jax.random.key(0))))

    def training_loss(
        self,
        forward: Callable[[Any], Any],
        inputs: Array,
        target: Array,
        state: Any,
        *,
        progress: Array,
        key: Array,
    ) -> Array:
        """Return the loss of every pixel, and the divergence as one more row."""
        noise_key, decoder_key = jax.random.split(key)
        codes: list[Reconstruction] = []

        # The decoder's objective sees images go in and raw outputs come out; the images
        # of the batch come first, whichever others it adds.
        def decode(images: Array) -> Array:
            codes.append(forward(WithNoise(images, noise_key)))
            return codes[-1].raw

        elementwise = self.decoder.training_loss(
            decode, inputs, target, state, progress=progress, key=decoder_key
        )
        if self.averages_pixels:
            elementwise = elementwise / target.shape[0]
        n = inputs.shape[1]
        mean, variance = codes[0].mean[:, :n], codes[0].variance[:, :n]
        divergence = jnp.sum(losses.standard_normal_kl(mean, variance), axis=0)
        return jnp.concatenate([elementwise, divergence[None]])
