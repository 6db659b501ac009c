"""The losses and heads of betanll as PyTorch modules, and trained regressors.

The losses take their arguments in the order of :class:`torch.nn.GaussianNLLLoss`, so
that one name is all there is to change in an existing training loop::

    criterion = BetaNLLLoss()  # was: torch.nn.GaussianNLLLoss()
    loss = criterion(mean, target, variance)

The functions of :mod:`betanll.losses` accept tensors too. They return one value per
element, check nothing that depends on the data, and order their arguments predictions
first: ``beta_nll(mean, variance, target)``.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError(
        'betanll.torch needs PyTorch: pip install "betanll[torch]"'
    ) from None

from betanll.diagnostics import PitfallMonitor
from betanll.torch._export import RegressorModule
from betanll.torch._heads import GaussianHead, StudentTHead
from betanll.torch._losses import (
    BetaNLLLoss,
    CRPSLoss,
    FaithfulNLLLoss,
    MomentMatchingLoss,
    NaturalGaussianNLLLoss,
    StudentTNLLLoss,
)
from betanll.torch._precision import at_least_float32, full_precision

__all__ = [
    "BetaNLLLoss",
    "CRPSLoss",
    "FaithfulNLLLoss",
    "GaussianHead",
    "MomentMatchingLoss",
    "NaturalGaussianNLLLoss",
    "PitfallMonitor",
    "RegressorModule",
    "StudentTHead",
    "StudentTNLLLoss",
    "at_least_float32",
    "full_precision",
]
