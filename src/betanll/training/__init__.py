"""Training: a whole fit as one compiled program, and fleets of fits."""

from betanll import _pytree, objectives
from betanll.training._adamw import adamw, averaged_params, cosine_adamw
from betanll.training._data import Data, padded_size
from betanll.training._fit import fit, fit_fleet
from betanll.training._optimizers import Optimizer, optimizer
from betanll.training._predict import predict_parameters
from betanll.training._result import DivergedError, FitResult
from betanll.training._run import Run, RunState, check_network, prepare
from betanll.training._task import Budget, FitTask

__all__ = [
    "Budget",
    "Data",
    "DivergedError",
    "FitResult",
    "FitTask",
    "Optimizer",
    "Run",
    "RunState",
    "adamw",
    "averaged_params",
    "check_network",
    "cosine_adamw",
    "fit",
    "fit_fleet",
    "optimizer",
    "padded_size",
    "predict_parameters",
    "prepare",
]

objectives.on_definition(_pytree.register_objective)
