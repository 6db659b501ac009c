"""All tables and figures, by what they are drawn from."""

from __future__ import annotations

from betanll.experiments._depth_artefacts import DepthModels
from betanll.experiments._dynamics_artefacts import DynamicsModels
from betanll.experiments._family import Family
from betanll.experiments._figures import SineFigures
from betanll.experiments._uci_artefacts import UCITables
from betanll.experiments._vae_artefacts import Autoencoders

FAMILIES: tuple[Family, ...] = (
    UCITables(),
    SineFigures(),
    DynamicsModels(),
    Autoencoders(),
    DepthModels(),
)
