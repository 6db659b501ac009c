"""Loss functions on arrays of NumPy, JAX or PyTorch.

Every function is elementwise and written once for the three libraries: it runs under
``jax.jit``, ``jax.vmap`` and ``jax.grad``, under PyTorch's autograd and
``torch.compile``, and on NumPy arrays for values alone. Predictions come first, then
the target, then options by keyword. Shapes that would broadcast raise.
"""

from betanll._exponents import check_exponent
from betanll.losses._gaussian import (
    beta_nll,
    crps_gaussian,
    faithful_nll,
    gaussian_nll,
    natural_gaussian_nll,
)
from betanll.losses._moments import moment_matching, squared_error
from betanll.losses._student_t import student_t_nll
from betanll.losses._variational import (
    expected_gaussian_log_prob,
    gamma_entropy,
    gamma_kl,
    gamma_mixture_log_prob,
    standard_normal_kl,
)

crps = crps_gaussian

__all__ = [
    "beta_nll",
    "check_exponent",
    "crps",
    "crps_gaussian",
    "expected_gaussian_log_prob",
    "faithful_nll",
    "gamma_entropy",
    "gamma_kl",
    "gamma_mixture_log_prob",
    "gaussian_nll",
    "moment_matching",
    "natural_gaussian_nll",
    "squared_error",
    "standard_normal_kl",
    "student_t_nll",
]
