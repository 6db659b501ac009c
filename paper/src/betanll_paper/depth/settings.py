"""How a network is trained."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

#: Number formats of the network's arithmetic; weights are always float32.
PRECISIONS = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


@dataclass(frozen=True)
class TrainingSettings:
    """Length and rate of a training; the defaults are those of the paper.

    AdamW with a one-cycle schedule: the rate rises from a 25th of its peak during the
    first 30 % of the updates and falls to a 2500th along half a cosine each, while the
    momentum goes from 0.95 to 0.85 and back. All parameters have the same rate.

    Parameters
    ----------
    epochs : int, default=25
    batch_size : int, default=16
        Images of an update, over all processes.
    n_accumulated : int, default=1
        Parts in which a process takes its share of them, one after the other, where
        memory is short. Batch normalisation and the scale-invariant loss see each part
        by itself.
    learning_rate : float, default=3.57e-4
        The peak.
    weight_decay : float, default=0.1
    max_gradient_norm : float, default=0.1
        Longer gradients are cut to this length.
    validate_every : int, default=100
        Updates from one look at the validation images to the next. The weights with
        the smallest relative error there are the result.
    precision : {"float32", "bfloat16", "float16"}, default="float32"
        "bfloat16" and "float16" are faster on graphics cards.
    n_loaders : int, default=0
        Processes that read and augment images ahead; each gets a copy of the pairs.
    seed : int, default=0
        Of the order of the images, their augmentation, and what the network drops out.
    """

    epochs: int = 25
    batch_size: int = 16
    n_accumulated: int = 1
    learning_rate: float = 3.57e-4
    weight_decay: float = 0.1
    max_gradient_norm: float = 0.1
    validate_every: int = 100
    precision: str = "float32"
    n_loaders: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "n_accumulated", "validate_every"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} must be at least 1, got {getattr(self, name)}"
                )
        for name in ("learning_rate", "max_gradient_norm"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.precision not in PRECISIONS:
            raise ValueError(
                f"precision must be one of {', '.join(PRECISIONS)}, "
                f"got {self.precision!r}"
            )

    def optimizer(self, network: nn.Module) -> torch.optim.AdamW:
        """Return what updates the network."""
        return torch.optim.AdamW(
            network.parameters(),
            lr=self.learning_rate,
            betas=(0.95, 0.999),
            weight_decay=self.weight_decay,
            fused=True,
        )

    def schedule(
        self, optimizer: torch.optim.Optimizer, n_updates: int
    ) -> torch.optim.lr_scheduler.OneCycleLR:
        """Return what sets its rate and momentum, for `n_updates` at least 2."""
        return torch.optim.lr_scheduler.OneCycleLR(
            optimizer,
            max_lr=self.learning_rate,
            total_steps=n_updates,
            pct_start=0.3,
            div_factor=25,
            final_div_factor=100,
        )
