"""The training losses of depth networks, from Table S4 of the paper."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from betanll.losses import check_exponent
from betanll.torch import BetaNLLLoss, at_least_float32
from betanll_paper.depth.network import MIN_DEPTH, MIN_VARIANCE

#: Losses by name, and whether they need a variance.
LOSSES = {
    "beta-nll": True,
    "nll": True,
    "mse": False,
    "l1": False,
    "scale-invariant": False,
}

#: Weights in the scale-invariant loss: of the squared mean, and of the whole.
_MEAN_WEIGHT = 0.15
_SCALE = 10.0


def valid_pixels(depth: Tensor) -> Tensor:
    """Mark the pixels that have a measured depth.

    Examples
    --------
    >>> import torch
    >>> valid_pixels(torch.tensor([0.0, 0.001, 2.0]))
    tensor([False, False,  True])
    """
    return depth > MIN_DEPTH


class DepthLoss(nn.Module):
    r"""One of the losses of Table S4 by name, averaged over valid pixels.

    =================  =============================================================
    beta-nll           :math:`\lfloor v \rfloor^\beta \cdot
                       \tfrac12 (\log 2\pi v + r^2 / v)`
    nll                the same with :math:`\beta = 0`
    mse                :math:`r^2`
    l1                 :math:`|r|`
    scale-invariant    :math:`10 \sqrt{\mathrm{Var}(g) + 0.15\, \mathrm{mean}(g)^2}`
    =================  =============================================================

    Here r is the error in metres and :math:`g = \log\mu - \log d`; its sample variance
    and mean are over all valid pixels of the batch.

    Parameters
    ----------
    name : {"beta-nll", "nll", "mse", "l1", "scale-invariant"}
    beta : float, optional
        Required for ``"beta-nll"``, and refused for other losses.

    Attributes
    ----------
    has_variance : bool
        Whether the network must predict a variance.
    is_pixelwise : bool
        Whether the loss is a mean over pixels. Then the losses of two batches can be
        averaged, weighted by their numbers of valid pixels.

    Examples
    --------
    >>> import torch
    >>> mean, depth = torch.full((1, 1, 2, 2), 3.0), torch.full((1, 1, 4, 4), 2.0)
    >>> depth[:, :, 0] = 0  # not measured
    >>> DepthLoss("l1")(mean, None, depth)
    tensor(1.)
    >>> variance = torch.full((1, 1, 2, 2), 0.5)
    >>> DepthLoss("beta-nll", beta=0.5)(mean, variance, depth)
    tensor(1.1118)
    """

    def __init__(self, name: str, beta: float | None = None) -> None:
        super().__init__()
        if name not in LOSSES:
            raise ValueError(f"name must be one of {', '.join(LOSSES)}, got {name!r}")
        if (beta is None) == (name == "beta-nll"):
            raise ValueError(
                f"beta must be given for beta-nll and for nothing else, got {beta} for "
                f"{name}"
            )
        if beta is not None:
            check_exponent("beta", beta)
        self.name = name
        self.beta = beta
        self.has_variance = LOSSES[name]
        self.is_pixelwise = name != "scale-invariant"
        if self.has_variance:
            self.nll = BetaNLLLoss(
                beta or 0.0, eps=MIN_VARIANCE, full=True, reduction="none"
            )

    def forward(self, mean: Tensor, variance: Tensor | None, depth: Tensor) -> Tensor:
        """Return the loss, zero if no pixel is valid.

        Parameters
        ----------
        mean : tensor of shape (batch, 1, height, width)
            At any resolution; it is resized to `depth`.
        variance : tensor of the shape of `mean`, or None
            Ignored by losses without a variance.
        depth : tensor of shape (batch, 1, height, width)
            In metres; 0 where it is not measured.
        """
        if self.has_variance and variance is None:
            raise ValueError(f"variance must be given for the loss {self.name}")
        if not self.has_variance:
            variance = None
        valid = valid_pixels(depth)
        if not valid.any():
            # Not a constant, so that every parameter still gets a gradient.
            return 0 * (mean.sum() if variance is None else (mean + variance).sum())
        # Select before computing: the logarithm of a depth of zero would make the
        # gradient NaN even if the loss were masked afterwards.
        places = valid.flatten().nonzero().squeeze(1)
        target = at_least_float32(depth.flatten()[places])
        predicted = resize(mean, depth).flatten()[places]
        if variance is not None:
            spread = resize(variance, depth).flatten()[places]
            loss: Tensor = self.nll(predicted, target, spread)
            return loss.mean()
        if self.name == "scale-invariant":
            return _scale_invariant(predicted.log() - target.log())
        error = predicted - target
        return (error.abs() if self.name == "l1" else error.square()).mean()

    def extra_repr(self) -> str:
        """Return the settings that ``repr`` shows."""
        return repr(self.name) + ("" if self.beta is None else f", beta={self.beta}")


def resize(prediction: Tensor, like: Tensor) -> Tensor:
    """Return a prediction ``(batch, 1, ...)`` at the resolution of `like`."""
    if prediction.ndim != 4 or like.ndim != 4 or len(prediction) != len(like):
        raise ValueError(
            "predictions and images must be of shape (batch, channels, height, width), "
            f"got {tuple(prediction.shape)} for {tuple(like.shape)}"
        )
    return nn.functional.interpolate(
        at_least_float32(prediction),
        size=like.shape[2:],
        mode="bilinear",
        align_corners=True,
    )


def _scale_invariant(error: Tensor) -> Tensor:
    square = _MEAN_WEIGHT * error.mean().square()
    if error.numel() > 1:
        square = square + error.var()
    # The gradient of a perfect prediction is zero; the root of zero would make it NaN.
    return _SCALE * square.clamp(min=torch.finfo(square.dtype).tiny).sqrt()
