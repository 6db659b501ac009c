"""Variational autoencoders whose decoders predict a distribution for every pixel."""

from betanll.vae._model import VAE, CollapseWarning
from betanll.vae._objective import Autoencoding
from betanll.vae._predictions import COLLAPSE_RATIO, Evaluation

__all__ = [
    "COLLAPSE_RATIO",
    "VAE",
    "Autoencoding",
    "CollapseWarning",
    "Evaluation",
]
