"""All experiments of the paper."""

from __future__ import annotations

from betanll.sweeps import Experiment
from betanll_paper.experiments.autoencoders import Autoencoders
from betanll_paper.experiments.depth import DepthModels
from betanll_paper.experiments.dynamics import DynamicsModels
from betanll_paper.experiments.sine import SineFigures
from betanll_paper.experiments.uci import UCITables

EXPERIMENTS: tuple[Experiment, ...] = (
    UCITables(),
    SineFigures(),
    DynamicsModels(),
    Autoencoders(),
    DepthModels(),
)
