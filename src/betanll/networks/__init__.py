"""Networks as plain pytrees: a frozen description with `init` and `apply`."""

from betanll._limits import MAX_UNITS
from betanll.networks._mlp import ACTIVATIONS, INITIALISERS, MLP, Params
from betanll.networks._network import Network, from_json, network, to_json

__all__ = [
    "ACTIVATIONS",
    "INITIALISERS",
    "MAX_UNITS",
    "MLP",
    "Network",
    "Params",
    "from_json",
    "network",
    "to_json",
]
