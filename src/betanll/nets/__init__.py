"""Networks as plain pytrees: a frozen description with `init` and `apply`."""

from betanll.nets._autoencoder import Autoencoder, Reconstruction, WithNoise
from betanll.nets._mlp import ACTIVATIONS, INITIALISERS, MLP

__all__ = [
    "ACTIVATIONS",
    "INITIALISERS",
    "MLP",
    "Autoencoder",
    "Reconstruction",
    "WithNoise",
]
