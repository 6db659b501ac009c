"""Protocols of a fit: on which rows networks are trained, and which one is kept."""

from betanll.protocols._columns import ColumnMap
from betanll.protocols._crossfit import crossfit
from betanll.protocols._data import Rows, TrainingData
from betanll.protocols._positions import Positions
from betanll.protocols._recipe import (
    BETAS,
    LEARNING_RATES,
    Fitted,
    Recipe,
    Unseen,
    as_numpy,
    weighted_mean,
)
from betanll.protocols._run import Protocol, run
from betanll.protocols._search import search_and_refit
from betanll.protocols._whitening import Whitening

__all__ = [
    "BETAS",
    "LEARNING_RATES",
    "ColumnMap",
    "Fitted",
    "Positions",
    "Protocol",
    "Recipe",
    "Rows",
    "TrainingData",
    "Unseen",
    "Whitening",
    "as_numpy",
    "crossfit",
    "run",
    "search_and_refit",
    "weighted_mean",
]
