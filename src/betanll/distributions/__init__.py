"""Predictive distributions over NumPy arrays: `Normal`, `StudentT`, `Mixture`, ...

Each holds one univariate distribution per array element. All have the same members,
so code that consumes predictions never asks which class it was given. A class of your
own needs three methods: see `Distribution`.
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
