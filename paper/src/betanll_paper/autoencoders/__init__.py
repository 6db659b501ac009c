"""Variational autoencoders whose decoders predict a distribution for every pixel."""

from betanll_paper.autoencoders.model import VAE, CollapseWarning
from betanll_paper.autoencoders.network import Autoencoder, Reconstruction, WithNoise
from betanll_paper.autoencoders.objective import Autoencoding
from betanll_paper.autoencoders.predictions import COLLAPSE_RATIO, Evaluation

__all__ = [
    "COLLAPSE_RATIO",
    "VAE",
    "Autoencoder",
    "Autoencoding",
    "CollapseWarning",
    "Evaluation",
    "Reconstruction",
    "WithNoise",
]
