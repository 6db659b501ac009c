"""Is a model any good on data that it has not seen, and against simple rivals?"""

from betanll.assessment._assess import Assessment, assess
from betanll.assessment._baselines import constant_baseline, ridge_baseline
from betanll.assessment._compare import Comparison, compare
from betanll.assessment._ranks import ranks_with_ties

__all__ = [
    "Assessment",
    "Comparison",
    "assess",
    "compare",
    "constant_baseline",
    "ranks_with_ties",
    "ridge_baseline",
]
