"""The loss of a variational autoencoder, around any objective for its decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from betanll import losses
from betanll.objectives import Objective, Parameters, objective
from betanll_paper.autoencoders.network import Reconstruction, WithNoise

Array = jax.Array


def _of_decoder(name: str) -> Any:
    """Return a property that is the decoder's attribute or method of this name."""
    return property(lambda self: getattr(self.decoder, name))


@objective(None)
class Autoencoding(Objective):
    """Reconstruction loss from one sampled code, plus the divergence of the code.

    The loss of an image is the decoder's loss, summed over pixels, plus the divergence
    of the code's posterior from N(0, I). Weights inside the decoder's loss, such as
    the powers in beta-NLL, leave the divergence alone.

    Parameters
    ----------
    decoder : Objective
        Objective whose targets are the pixels.
    averages_pixels : bool, default=False
        Average the decoder's loss over pixels, as the published results for moment
        matching do. Relative to it, the divergence then weighs ``n_pixels`` times as
        much, and the code is likely to collapse.
    """

    decoder: Objective
    averages_pixels: bool = False

    is_stochastic = True

    # All other attributes and methods are the decoder's.
    name = _of_decoder("name")
    n_parameters = _of_decoder("n_parameters")
    n_predictive = _of_decoder("n_predictive")
    n_detached = _of_decoder("n_detached")
    validation_score = _of_decoder("validation_score")
    head_sizes = _of_decoder("head_sizes")
    nll = _of_decoder("nll")
    mean = _of_decoder("mean")
    predictive = _of_decoder("predictive")
    init_state = _of_decoder("init_state")

    def parameters(self, raw: Any) -> Parameters:
        return self.decoder.parameters(raw.raw)

    def split_outputs(self, outputs: Reconstruction) -> Reconstruction:
        """Return the outputs of an autoencoder as they are."""
        return outputs

    def predicted_parameters(
        self, forward: Callable[[Any], Any], inputs: Array
    ) -> Parameters:
        """Return the prediction from one code of each image, with fixed noise."""
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

        # The decoder's objective may add inputs of its own, after those of the batch.
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
