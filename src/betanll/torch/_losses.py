"""Losses with the calling convention of torch.nn.GaussianNLLLoss."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from betanll import losses
from betanll._exponents import check_exponent, unusual_exponent
from betanll.torch._precision import at_least_float32

_REDUCTIONS = ("none", "mean", "sum")


def _check_reduction(value: Any) -> None:
    if value not in _REDUCTIONS:
        raise ValueError(
            f"reduction must be one of {', '.join(_REDUCTIONS)}, got {value!r}"
        )


def _check_beta(value: Any) -> None:
    if isinstance(value, Tensor):
        is_usable = (value >= 0) & value.isfinite()
        _forbid(~is_usable, f"beta must be finite and at least 0, got {value}")
    else:
        check_exponent("beta", value)


def _check_eps(value: Any) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < math.inf:
        raise ValueError(f"eps must be a finite number of at least 0, got {value!r}")


#: By the name of the attribute.
_CHECKS: dict[str, Callable[[Any], None]] = {
    "beta": _check_beta,
    "eps": _check_eps,
    "reduction": _check_reduction,
}


class _Loss(nn.Module):
    """Base class: the reduction, and the checks of the arguments.

    The modules here compute in float32 when given half precision.
    """

    def __init__(self, reduction: str) -> None:
        super().__init__()
        self.reduction = reduction

    def __setattr__(self, name: str, value: Any) -> None:
        # Settings may change between steps: check each change.
        if name in _CHECKS:
            _CHECKS[name](value)
        super().__setattr__(name, value)

    def _reduce(self, loss: Tensor) -> Tensor:
        if self.reduction == "mean":
            return loss.mean()
        if self.reduction == "sum":
            return loss.sum()
        return loss

    def extra_repr(self) -> str:
        """Return the settings to be printed."""
        names = ("beta", "full", "eps", "reduction")
        return ", ".join(
            f"{name}={getattr(self, name)!r}" for name in names if hasattr(self, name)
        )


class BetaNLLLoss(_Loss):
    r"""Gaussian NLL, each element weighted by its own variance to the power beta.

    .. math:: \lfloor v \rfloor^{\beta} \cdot
        \tfrac12 \left( \log v + \frac{(y - \mu)^2}{v} \right),
        \qquad v = \max(\text{var}, \text{eps})

    Takes the place of :class:`torch.nn.GaussianNLLLoss`: same arguments in the same
    order, same reductions, and with ``beta=0`` the same numbers. The function behind
    it is :func:`betanll.losses.beta_nll`, whose order is ``(mean, variance, target)``.

    Parameters
    ----------
    beta : float, default=0.5
        0 is the plain NLL; 1 gives the mean the gradient of the squared error. Values
        above 1 are unusual and bring a warning. It may be changed between steps:
        ``criterion.beta = 0.25``.
    full : bool, default=False
        Include the constant :math:`\tfrac12 \log 2\pi` of the density, inside the
        weighted bracket.
    eps : float, default=1e-6
        Variances below `eps` count as `eps`. As in PyTorch, the gradient passes the
        clamp as if it were not there. If the network has a lower floor of its own,
        give that: ``eps=1e-8`` for :class:`GaussianHead`.
    reduction : {"mean", "sum", "none"}, default="mean"
        "mean" is the average over *all* elements, as in PyTorch, and not the average
        over samples of the sum over outputs. "none" returns one value per element, to
        be masked, weighted or summed as you like.

    Notes
    -----
    For beta > 0 the loss depends on the unit of the target: standardise each output.
    Its values are not comparable between betas; watch the NLL and the squared error.

    References
    ----------
    Seitzer, Tavakoli, Antić, Martius: On the Pitfalls of Heteroscedastic Uncertainty
    Estimation with Probabilistic Neural Networks. ICLR 2022, arXiv:2203.09168.

    Examples
    --------
    >>> import torch
    >>> mean, variance = torch.zeros(3, 2), torch.full((3, 2), 4.0)
    >>> target = torch.full((3, 2), 2.0)
    >>> BetaNLLLoss(beta=0.5)(mean, target, variance)
    tensor(2.3863)

    Weights or a mask go onto the single elements:

    >>> elements = BetaNLLLoss(reduction="none")(mean, target, variance)
    >>> weight = torch.tensor([[1.0], [0.0], [2.0]]).expand_as(elements)
    >>> (weight * elements).sum() / weight.sum()
    tensor(2.3863)
    """

    def __init__(
        self,
        beta: float = 0.5,
        *,
        full: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.beta = beta
        self.full = full
        self.eps = eps
        if not isinstance(beta, Tensor) and (note := unusual_exponent(beta)):
            warnings.warn(note, stacklevel=2)

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Return the loss.

        Parameters
        ----------
        input : tensor of shape (...)
            Predicted mean.
        target : tensor of the shape of `input`
            Observed value.
        var : tensor or float
            Predicted *variance*, not standard deviation: of the shape of `input`, or of
            that shape with one dimension equal to 1, or without the last dimension.

        Returns
        -------
        tensor
            A scalar, or of the shape of `input` if ``reduction="none"``.
        """
        mean, target = _mean_and_target(input, target)
        variance = _clamp(_spread(mean, var, "var"), self.eps)
        return self._reduce(
            losses.beta_nll(mean, variance, target, beta=self.beta, full=self.full)
        )


class FaithfulNLLLoss(_Loss):
    r"""Squared error for the mean, NLL around the frozen mean for the variance.

    .. math:: \tfrac12 (y - \mu)^2 + \tfrac12 \left( \log v +
        \frac{(y - \lfloor\mu\rfloor)^2}{v} \right)

    The network is trained on the squared error alone if the variance reads detached
    features, as ``GaussianHead(..., detach_variance=True)`` arranges.

    Parameters
    ----------
    eps : float, default=1e-6
        As in :class:`BetaNLLLoss`.
    reduction : {"mean", "sum", "none"}, default="mean"
        As in :class:`BetaNLLLoss`.

    References
    ----------
    Stirn et al.: Faithful Heteroscedastic Regression with Neural Networks. AISTATS
    2023, arXiv:2212.09184.

    Examples
    --------
    >>> import torch
    >>> mean, variance, target = torch.zeros(3), torch.full((3,), 4.0), torch.ones(3)
    >>> FaithfulNLLLoss()(mean, 2 * target, variance)
    tensor(3.1931)
    """

    def __init__(self, *, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Return the loss; the arguments are those of :class:`BetaNLLLoss`."""
        mean, target = _mean_and_target(input, target)
        variance = _clamp(_spread(mean, var, "var"), self.eps)
        return self._reduce(losses.faithful_nll(mean, variance, target))


class CRPSLoss(_Loss):
    r"""Continuous ranked probability score of a Gaussian.

    A proper score in the unit of the target whose mean gradient never exceeds one, so
    that outliers pull less than in the NLL. See :func:`betanll.losses.crps_gaussian`.

    Parameters
    ----------
    eps : float, default=1e-6
        As in :class:`BetaNLLLoss`.
    reduction : {"mean", "sum", "none"}, default="mean"
        As in :class:`BetaNLLLoss`.

    Examples
    --------
    >>> import torch
    >>> CRPSLoss()(torch.zeros(3), torch.zeros(3), torch.ones(3))
    tensor(0.2337)
    """

    def __init__(self, *, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Return the loss; the arguments are those of :class:`BetaNLLLoss`."""
        mean, target = _mean_and_target(input, target)
        variance = _clamp(_spread(mean, var, "var"), self.eps)
        return self._reduce(losses.crps_gaussian(mean, variance, target))


class MomentMatchingLoss(_Loss):
    r"""Squared error for the mean, and of the absolute residual for the spread.

    .. math:: (y - \mu)^2 + \left( |y - \lfloor\mu\rfloor| - \sigma \right)^2

    The one loss here that takes a *standard deviation*. See
    :func:`betanll.losses.moment_matching`, also for why the spread comes out too small.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}, default="mean"
        As in :class:`BetaNLLLoss`.

    Examples
    --------
    >>> import torch
    >>> MomentMatchingLoss()(torch.zeros(3), torch.full((3,), 2.0), 1.5)
    tensor(4.2500)
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(self, input: Tensor, target: Tensor, std: Tensor | float) -> Tensor:
        """Return the loss; `std` may have the shapes of ``var`` in `BetaNLLLoss`."""
        mean, target = _mean_and_target(input, target)
        return self._reduce(
            losses.moment_matching(mean, _spread(mean, std, "std"), target)
        )


class StudentTNLLLoss(_Loss):
    r"""Negative log-density of a Gaussian with a Gamma(shape, rate) precision.

    See :func:`betanll.losses.student_t_nll`; :class:`StudentTHead` predicts what it
    needs.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}, default="mean"
        As in :class:`BetaNLLLoss`.

    Examples
    --------
    >>> import torch
    >>> one = torch.ones(3)
    >>> StudentTNLLLoss()(0 * one, one, one, one)
    tensor(1.6480)
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction)

    def forward(
        self, input: Tensor, target: Tensor, shape: Tensor, rate: Tensor
    ) -> Tensor:
        """Return the loss.

        Parameters
        ----------
        input, target, shape, rate : tensor, all of one shape
            Predicted mean, observed value, Gamma shape and Gamma *rate* (not scale).
        """
        mean, target = _mean_and_target(input, target)
        shape, rate = at_least_float32(shape), at_least_float32(rate)
        _forbid(shape <= 0, "shape must be positive")
        _forbid(rate <= 0, "rate must be positive")
        return self._reduce(losses.student_t_nll(mean, shape, rate, target))


class NaturalGaussianNLLLoss(_Loss):
    r"""Gaussian NLL in natural parameters, jointly convex in them.

    The mean is :math:`-\eta_1 / 2\eta_2`, the variance :math:`-1 / 2\eta_2`. See
    :func:`betanll.losses.natural_gaussian_nll`.

    Parameters
    ----------
    full : bool, default=False
        Include the constant :math:`\tfrac12 \log 2\pi` of the density.
    reduction : {"mean", "sum", "none"}, default="mean"
        As in :class:`BetaNLLLoss`.

    Examples
    --------
    >>> import torch
    >>> eta1, eta2 = torch.zeros(3), torch.full((3,), -0.125)
    >>> NaturalGaussianNLLLoss()(eta1, torch.full((3,), 2.0), eta2)
    tensor(1.1931)
    """

    def __init__(self, *, full: bool = False, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = full

    def forward(self, eta1: Tensor, target: Tensor, eta2: Tensor) -> Tensor:
        """Return the loss.

        Parameters
        ----------
        eta1, target, eta2 : tensor, all of one shape
            The target stands between the parameters, where it stands in the other
            losses; `eta2` must be negative.
        """
        eta1, target = _mean_and_target(eta1, target, "eta1")
        eta2 = at_least_float32(eta2)
        _forbid(eta2 >= 0, "eta2 must be negative")
        return self._reduce(
            losses.natural_gaussian_nll(eta1, eta2, target, full=self.full)
        )


def _mean_and_target(
    mean: Tensor, target: Tensor, name: str = "input"
) -> tuple[Tensor, Tensor]:
    if mean.shape != target.shape:
        raise ValueError(
            f"{name} and target must have the same shape, "
            f"got {tuple(mean.shape)} and {tuple(target.shape)}"
        )
    return at_least_float32(mean), at_least_float32(target)


def _spread(mean: Tensor, spread: Tensor | float, name: str) -> Tensor:
    """Return a variance or standard deviation with the shape of the mean."""
    message = f"{name} has negative entries; the order is (input, target, {name})"
    if not isinstance(spread, Tensor):
        if spread < 0:
            raise ValueError(message)
        return torch.full_like(mean, spread)
    _forbid(spread < 0, message)
    spread = at_least_float32(spread)
    if spread.shape == mean.shape:
        return spread
    if spread.shape == mean.shape[:-1]:
        return spread.unsqueeze(-1).expand_as(mean)
    if spread.ndim == mean.ndim:
        differing = [n for m, n in zip(mean.shape, spread.shape, strict=True) if m != n]
        if differing == [1]:
            return spread.expand_as(mean)
    raise ValueError(
        f"{name} must have the shape of input, that shape with one dimension equal to "
        f"1, or that shape without its last dimension, "
        f"got {tuple(spread.shape)} for input {tuple(mean.shape)}"
    )


def _clamp(variance: Tensor, eps: float) -> Tensor:
    # The difference is zero and carries the gradient past the clamp.
    fixed = variance.detach()
    return fixed.clamp(min=eps) + (variance - fixed)


def _forbid(offence: Tensor, message: str) -> None:
    # A branch on data would break the graph of torch.compile. NaN passes, as it does in
    # PyTorch, and shows in the loss.
    if not torch.compiler.is_compiling() and bool(offence.any()):
        raise ValueError(message)
