"""Rows for training and validation, and the choice among trained networks."""

from betanll.model_selection._crossfit import crossfit
from betanll.model_selection._plan import (
    BETAS,
    LEARNING_RATES,
    FitPlan,
    FittedModel,
    HeldOutResiduals,
    as_numpy,
    weighted_mean,
)
from betanll.model_selection._rows import TrainingData
from betanll.model_selection._run import Steps, run
from betanll.model_selection._search import search_and_refit

__all__ = [
    "BETAS",
    "LEARNING_RATES",
    "FitPlan",
    "FittedModel",
    "HeldOutResiduals",
    "Steps",
    "TrainingData",
    "as_numpy",
    "crossfit",
    "run",
    "search_and_refit",
    "weighted_mean",
]
