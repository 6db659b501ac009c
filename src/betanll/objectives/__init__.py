"""Objectives: each joins a head, a training loss and a predictive distribution.

Importing this package loads neither JAX nor SciPy.
"""

from __future__ import annotations

from betanll.objectives._base import (
    Objective,
    Parameters,
    Schedule,
    start_and_end,
    traced,
    value_at,
)
from betanll.objectives._gaussian import (
    CRPS,
    MSE,
    BetaNLL,
    Faithful,
    FixedVariance,
    GaussianNLL,
    MomentMatching,
    NaturalGaussian,
    warn_of_unusual_beta,
)
from betanll.objectives._json import from_json, to_json
from betanll.objectives._registry import (
    OBJECTIVES,
    UnknownObjectiveError,
    get,
    names,
    objective,
    on_definition,
    split_spec,
    unregister,
)
from betanll.objectives._student_t import StudentT
from betanll.objectives._variational import VBEM, XVAMP

__all__ = [
    "CRPS",
    "MSE",
    "OBJECTIVES",
    "VBEM",
    "XVAMP",
    "BetaNLL",
    "Faithful",
    "FixedVariance",
    "GaussianNLL",
    "MomentMatching",
    "NaturalGaussian",
    "Objective",
    "Parameters",
    "Schedule",
    "StudentT",
    "UnknownObjectiveError",
    "from_json",
    "get",
    "names",
    "objective",
    "on_definition",
    "split_spec",
    "start_and_end",
    "to_json",
    "traced",
    "unregister",
    "value_at",
    "warn_of_unusual_beta",
]
