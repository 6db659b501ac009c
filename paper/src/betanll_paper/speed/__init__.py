"""Speed of training, next to a plain PyTorch loop and to the machine's matmul peak."""

from betanll_paper.speed.networks import NETWORKS, BenchNetwork, BenchVAE
from betanll_paper.speed.run import Measurement, ObjectiveCost, run, run_objectives

__all__ = [
    "NETWORKS",
    "BenchNetwork",
    "BenchVAE",
    "Measurement",
    "ObjectiveCost",
    "run",
    "run_objectives",
]
