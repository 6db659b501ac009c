"""Ways to train a network, each with its head, loss and predictive distribution."""

from __future__ import annotations

from collections.abc import Callable

from betanll.objectives._base import Objective, Schedule, at, objective, traced
from betanll.objectives._gaussian import (
    CRPS,
    MSE,
    BetaNLL,
    Faithful,
    FixedVariance,
    GaussianNLL,
    MomentMatching,
    NaturalGaussian,
)
from betanll.objectives._student_t import StudentT
from betanll.objectives._variational import VBEM, XVAMP

#: Every objective by its name in the estimator and on the command line.
OBJECTIVES: dict[str, Callable[[], Objective]] = {
    "mse": MSE,
    "nll": GaussianNLL,
    "beta-nll": BetaNLL,
    "mm": MomentMatching,
    "student-t": StudentT,
    "xvamp": XVAMP,
    "xvamp-star": lambda: XVAMP(trainable=True),
    "vbem": VBEM,
    "vbem-star": lambda: VBEM(trainable=True),
    "fixed-variance": FixedVariance,
    "faithful": Faithful,
    "natural": NaturalGaussian,
    "crps": CRPS,
}


def get(name: str | Objective | type[Objective]) -> Objective:
    """Return the objective of that name or class; an objective is returned unchanged.

    Examples
    --------
    >>> get("student-t")
    StudentT()
    >>> get("vbem-star")
    VBEM(trainable=True)
    """
    if isinstance(name, type) and issubclass(name, Objective):
        name = name()
    if isinstance(name, Objective):
        if "__dataclass_fields__" not in vars(type(name)):
            raise TypeError(f"{type(name).__name__} needs the decorator @objective")
        return name
    if name not in OBJECTIVES:
        raise ValueError(
            f"objective must be one of {', '.join(OBJECTIVES)}, got {name!r}"
        )
    return OBJECTIVES[name]()


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
    "Schedule",
    "StudentT",
    "at",
    "get",
    "objective",
    "traced",
]
