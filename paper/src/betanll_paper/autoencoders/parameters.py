"""Checks of the model's parameters, and what they mean for training."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from betanll import objectives
from betanll.objectives import BetaNLL, Objective
from betanll_paper.autoencoders.network import Autoencoder

if TYPE_CHECKING:
    from betanll_paper.autoencoders.model import VAE

REDUCTIONS = ("sum", "mean")


def check_parameters(model: VAE) -> None:
    """Raise a ``ValueError`` that names the first parameter with an unusable value."""
    for name in (
        "n_latent",
        "batch_size",
        "max_iter",
        "n_iter_no_change",
        "validate_every",
    ):
        value = getattr(model, name)
        if not (_is_integer(value) and 1 <= value < 2**31):
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    rate = model.learning_rate_init
    if not (_is_number(rate) and 0 < rate < float("inf")):
        raise ValueError(f"learning_rate_init must be positive, got {rate!r}")
    fraction = model.validation_fraction
    if not (_is_number(fraction) and 0 < fraction < 1):
        raise ValueError(
            f"validation_fraction must lie between 0 and 1, got {fraction!r}"
        )
    if model.reduction not in REDUCTIONS:
        raise ValueError(f'reduction must be "sum" or "mean", got {model.reduction!r}')


def net_of(model: VAE, n_pixels: int) -> Autoencoder:
    """Return the network of checked parameters."""
    sizes: Any = model.hidden_layer_sizes
    sizes = (sizes,) if _is_integer(sizes) else sizes
    is_sequence = isinstance(sizes, Sequence | np.ndarray)
    if not is_sequence or not all(_is_integer(size) and size > 0 for size in sizes):
        raise ValueError(
            "hidden_layer_sizes must hold positive integers, "
            f"got {model.hidden_layer_sizes!r}"
        )
    return Autoencoder(
        n_inputs=n_pixels,
        n_latent=int(model.n_latent),
        hidden_sizes=tuple(int(size) for size in sizes),
        activation=model.activation,
    )


def decoder_objective(model: VAE) -> Objective:
    """Return the likelihood of the pixels; beta is that of ``"beta-nll"`` alone."""
    if model.objective != BetaNLL.name:
        return objectives.get(model.objective)
    beta: Any = model.beta
    return BetaNLL(tuple(beta) if isinstance(beta, list) else beta)


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)
