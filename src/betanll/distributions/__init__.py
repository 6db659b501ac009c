"""Predictive distributions over NumPy arrays: `Normal`, `StudentT`, `Mixture`, ...

Each holds one univariate distribution per array element. All classes have the same
members, so that code can use predictions of any class. A custom class needs three
methods: see `Distribution`.
"""

from betanll.distributions._base import Affine, Distribution
from betanll.distributions._joined import concatenate
from betanll.distributions._mixture import Mixture
from betanll.distributions._normal import Normal
from betanll.distributions._student_t import StudentT
from betanll.distributions._transformed import Transformed
from betanll.distributions.transforms import Identity, Log, Logit, Transform

__all__ = [
    "Affine",
    "Distribution",
    "Identity",
    "Log",
    "Logit",
    "Mixture",
    "Normal",
    "StudentT",
    "Transform",
    "Transformed",
    "concatenate",
]
