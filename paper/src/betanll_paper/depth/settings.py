"""Length, rate and precision of a training run."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR

#: Number formats of the network's arithmetic; weights are always float32.
PRECISIONS = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of a training run; the defaults are the paper's.

    AdamW with a one-cycle schedule: the rate rises from a 25th of its peak during the
    first 30% of the updates, then falls to a 2500th, each along half a cosine.
    Meanwhile the momentum goes from 0.95 to 0.85 and back. All parameters have the
    same rate.

    Parameters
    ----------
    epochs : int, default=25
    batch_size : int, default=16
        Images of an update, over all processes.
    n_accumulated : int, default=1
        Parts into which a process divides its share of a batch, to save memory. Batch
        normalisation and the scale-invariant loss see each part by itself.
    learning_rate : float, default=3.57e-4
        Peak of the schedule.
    weight_decay : float, default=0.1
    max_gradient_norm : float, default=0.1
        Longer gradients are cut to this length.
    validate_every : int, default=100
        Updates between validation checks. The result is the weights with the smallest
        relative error in a check.
    precision : {"float32", "bfloat16", "float16"}, default="float32"
        "bfloat16" and "float16" are faster on graphics cards.
    n_loaders : int, default=0
        Processes that read and augment images ahead; each has a copy of the pairs.
    seed : int, default=0
        Seed of the order of the images, their augmentation, and the network's dropout.
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
        """Return the optimiser of a network."""
        return torch.optim.AdamW(
            network.parameters(),
            lr=self.learning_rate,
            betas=(0.95, 0.999),
            weight_decay=self.weight_decay,
            fused=True,
        )

    def schedule(self, optimizer: torch.optim.Optimizer, n_updates: int) -> OneCycleLR:
        """Return the schedule of rate and momentum over at least two updates."""
        return OneCycleLR(
            optimizer,
            max_lr=self.learning_rate,
            total_steps=n_updates,
            pct_start=0.3,
            div_factor=25,
            final_div_factor=100,
        )
