"""A package of objectives as users may write one; its entry points stand beside it."""

from extra_objectives.evidential import Evidential
from extra_objectives.laplace import LaplaceNLL

__all__ = ["Evidential", "LaplaceNLL"]
