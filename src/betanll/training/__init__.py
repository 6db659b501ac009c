"""Training: a whole fit as one compiled program, and fleets of fits."""

from betanll.training._data import PackedData
from betanll.training._fit import available_cores, fit, fit_fleet
from betanll.training._optimizers import (
    SGD,
    Adam,
    AdamW,
    CosineAdamW,
    Optimizer,
    RMSprop,
)
from betanll.training._predict import predict_parameters
from betanll.training._program import Net
from betanll.training._task import FitResult, FitTask

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "CosineAdamW",
    "FitResult",
    "FitTask",
    "Net",
    "Optimizer",
    "PackedData",
    "RMSprop",
    "available_cores",
    "epochs_for",
    "fit",
    "fit_fleet",
    "predict_parameters",
]


def epochs_for(n_updates: int, n_samples: int, batch_size: int) -> int:
    """Return the epochs that give at least `n_updates`, partial batches dropped.

    Examples
    --------
    >>> epochs_for(20_000, n_samples=741, batch_size=256)
    10000
    >>> epochs_for(20_000, n_samples=200, batch_size=256)  # one full batch
    20000
    """
    return -(-n_updates // (n_samples // min(batch_size, n_samples)))
