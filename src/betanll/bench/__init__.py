"""Speed of training, next to a plain PyTorch loop and to the machine's matmul peak."""

from betanll.bench._networks import NETWORKS, BenchNetwork, BenchVAE
from betanll.bench._run import Measurement, ObjectiveCost, run, run_objectives

__all__ = [
    "NETWORKS",
    "BenchNetwork",
    "BenchVAE",
    "Measurement",
    "ObjectiveCost",
    "run",
    "run_objectives",
]
