"""Last layers that turn features into the parameters of a distribution."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor, nn

from betanll.objectives import heads
from betanll.torch._precision import at_least_float32, full_precision


class GaussianHead(nn.Module):
    r"""Linear maps from features to the mean and the variance of a Gaussian.

    .. math:: v = \min\left( \mathrm{softplus}(z + c) + v_\min,\; v_\max \right)

    The floor is added, so that the variance keeps a gradient however small it gets. The
    ceiling is hard: above it the gradient is zero. The offset c makes the variance 1 at
    z = 0, about which the head starts; standardise the targets.

    Parameters
    ----------
    in_features : int
        Number of features.
    out_features : int
        Number of targets.
    min_variance : float, default=1e-8
        Floor of the variance, between 0 and 1.
    max_variance : float, default=1000.0
        Ceiling of the variance, above 1.
    detach_variance : bool, default=False
        Cut the gradient from the variance to the features, so that with
        :class:`FaithfulNLLLoss` the network before the head is trained on the squared
        error alone.

    Notes
    -----
    Biases start at zero and weights from the Xavier-uniform distribution of each map.

    Under autocast the head computes in float32, because half precision cannot hold the
    floor and rounds the mean to two or three digits; a head converted to half precision
    still returns float32.

    Examples
    --------
    >>> import torch
    >>> head = GaussianHead(16, 2)
    >>> mean, variance = head(torch.zeros(5, 16))
    >>> mean.shape, variance.shape
    (torch.Size([5, 2]), torch.Size([5, 2]))
    >>> variance[0].tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        min_variance: float = heads.MIN_VARIANCE,
        max_variance: float = heads.MAX_VARIANCE,
        detach_variance: bool = False,
    ) -> None:
        super().__init__()
        _check_sizes(in_features, out_features)
        limits = (min_variance, max_variance)
        are_numbers = all(isinstance(limit, Real) for limit in limits)
        if not are_numbers or not 0 < min_variance < 1 < max_variance:
            raise ValueError(
                "min_variance and max_variance must lie on either side of the initial "
                f"variance 1 and be positive, got {min_variance!r} and {max_variance!r}"
            )
        self.min_variance = min_variance
        self.max_variance = max_variance
        self.detach_variance = detach_variance
        self.mean = nn.Linear(in_features, out_features)
        self.pre_variance = nn.Linear(in_features, out_features)
        self._offset = heads.inverse_softplus(1 - min_variance)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to zero."""
        _initialise(self.mean)
        _initialise(self.pre_variance)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean and the variance.

        Parameters
        ----------
        features : tensor of shape (..., in_features)

        Returns
        -------
        mean, variance : tensor of shape (..., out_features)
        """
        mean = linear_in_full_precision(self.mean, features)
        z = linear_in_full_precision(
            self.pre_variance, features.detach() if self.detach_variance else features
        )
        return mean, heads.bounded_softplus(
            z,
            offset=self._offset,
            floor=self.min_variance,
            ceiling=self.max_variance,
        )

    def extra_repr(self) -> str:
        """Return the settings to be printed."""
        return (
            f"min_variance={self.min_variance}, max_variance={self.max_variance}, "
            f"detach_variance={self.detach_variance}"
        )


class StudentTHead(nn.Module):
    r"""One linear map from features to mean, Gamma shape and Gamma rate.

    .. math:: a = \min\left( \mathrm{softplus}(z_a) + 1.001,\; 1000 \right), \qquad
        b = \min\left( \mathrm{softplus}(z_b + c) + 10^{-11},\; 999000 \right)

    A target then follows a Student t with :math:`2a` degrees of freedom, scale
    :math:`\sqrt{b/a}` and variance :math:`b / (a - 1)`, which is 1 at
    :math:`z_a = z_b = 0`: standardise the targets.

    Parameters
    ----------
    in_features : int
        Number of features.
    out_features : int
        Number of targets.

    Notes
    -----
    Initialisation and half precision are those of :class:`GaussianHead`.

    Examples
    --------
    >>> import torch
    >>> mean, shape, rate = StudentTHead(16, 2)(torch.zeros(5, 16))
    >>> torch.allclose(rate / (shape - 1), torch.ones(5, 2))
    True
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        _check_sizes(in_features, out_features)
        self.linear = nn.Linear(in_features, 3 * out_features)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to zero."""
        _initialise(self.linear)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mean, the shape and the rate.

        Parameters
        ----------
        features : tensor of shape (..., in_features)

        Returns
        -------
        mean, shape, rate : tensor of shape (..., out_features)
        """
        raw = linear_in_full_precision(self.linear, features)
        mean, z_shape, z_rate = raw.chunk(3, dim=-1)
        return mean, *heads.gamma_heads(z_shape, z_rate)


def _check_sizes(in_features: Any, out_features: Any) -> None:
    for name, size in (("in_features", in_features), ("out_features", out_features)):
        is_integer = isinstance(size, Integral) and not isinstance(size, bool)
        if not is_integer or size < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def _initialise(linear: nn.Linear) -> None:
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)


def linear_in_full_precision(linear: nn.Linear, features: Tensor) -> Tensor:
    """Return the outputs of a layer, in single precision at least."""
    dtype = torch.promote_types(features.dtype, linear.weight.dtype)
    with full_precision(features.device.type):
        output: Tensor = linear(features.to(dtype))
    return at_least_float32(output)
