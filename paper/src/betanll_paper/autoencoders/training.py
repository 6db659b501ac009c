"""Training of the network of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from sklearn.utils import check_random_state

from betanll import objectives
from betanll.objectives import BetaNLL, Objective
from betanll.training import Data, DivergedError, FitResult, fit, optimizer
from betanll_paper.autoencoders.images import (
    Images,
    Places,
    checked_images,
    pixel_blocks,
    warn_if_large,
)
from betanll_paper.autoencoders.network import Autoencoder
from betanll_paper.autoencoders.objective import Autoencoding

if TYPE_CHECKING:
    from betanll_paper.autoencoders.model import VAE

#: Validation images for the test of a collapsed code.
N_HELD_OUT = 1000
_COUNTS = ("n_latent", "batch_size", "max_iter", "n_iter_no_change", "validate_every")


def train(model: VAE, X: Any, validation: Any) -> Images:
    """Fit the model to images, and return some validation images."""
    _check_parameters(model)
    images = checked_images(X)
    shape = images.shape[1:]
    net = _network(model, int(np.prod(shape)))
    objective = decoder_objective(model)
    warn_if_large(images)
    random = check_random_state(model.random_state)
    if validation is None:
        order = random.permutation(len(images))
        n_held_out = max(1, round(model.validation_fraction * len(images)))
        places, held_out = order[n_held_out:], (images, order[:n_held_out])
    else:
        others = checked_images(validation, name="validation", shape=shape)
        places, held_out = np.arange(len(images)), (others, np.arange(len(others)))
    if len(places) < 2:
        raise ValueError(
            f"X must leave at least 2 images for training, got {len(images)} images"
        )
    result = fit(
        net,
        Autoencoding(objective, averages_pixels=model.reduction == "mean"),
        _packed((images, places), held_out),
        optimizer=optimizer(learning_rate=float(model.learning_rate_init)),
        batch_size=min(int(model.batch_size), len(places)),
        max_epochs=int(model.max_iter),
        patience=-(-int(model.n_iter_no_change) // int(model.validate_every)),
        validate_every=int(model.validate_every),
        seed=int(random.randint(2**31 - 1)),
        progress=bool(model.verbose),
    )
    if result.best_epoch == 0:
        raise DivergedError(
            f"training diverged in epoch {result.n_epochs}: scale the images to "
            "[0, 1] or lower learning_rate_init",
            [result],
        )
    model.net_, model.objective_, model.image_shape_ = net, objective, shape
    _keep(model, result)
    total = sum(
        block.sum(axis=0, dtype=np.float64) for block in pixel_blocks(images, places)
    )
    model.mean_image_ = (total / len(places)).reshape(shape)
    others, places = held_out
    return others[places[:N_HELD_OUT]]


def decoder_objective(model: VAE) -> Objective:
    """Return the objective of the pixels; only ``"beta-nll"`` reads beta."""
    if model.objective != BetaNLL.name:
        return objectives.get(model.objective)
    beta: Any = model.beta
    return BetaNLL(tuple(beta) if isinstance(beta, list) else beta)


def _check_parameters(model: VAE) -> None:
    """Raise a ``ValueError`` that names the first parameter with an unusable value."""
    for name in _COUNTS:
        value = getattr(model, name)
        if not (_is_integer(value) and 1 <= value < 2**31):
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    for name, limit, wanted in (
        ("learning_rate_init", float("inf"), "be positive"),
        ("validation_fraction", 1, "lie between 0 and 1"),
    ):
        value = getattr(model, name)
        is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
        if not (is_number and 0 < value < limit):
            raise ValueError(f"{name} must {wanted}, got {value!r}")
    if model.reduction not in ("sum", "mean"):
        raise ValueError(f'reduction must be "sum" or "mean", got {model.reduction!r}')


def _network(model: VAE, n_pixels: int) -> Autoencoder:
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


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _packed(train: tuple[Images, Places], held_out: tuple[Images, Places]) -> Data:
    """Lay out the images for the compiled loop; each image is its own target."""

    def blocks() -> Iterator[Any]:
        for images, places in (train, held_out):
            for pixels in pixel_blocks(images, places):
                yield pixels, pixels[:, :0], np.ones((len(pixels), 1), np.float32)

    return Data.from_blocks(
        blocks(),
        n_train=len(train[1]),
        n_validation=len(held_out[1]),
        n_inputs=int(np.prod(train[0].shape[1:])),
        n_targets=0,
    )


def _keep(model: VAE, result: FitResult) -> None:
    """Store the result of training, with NumPy arrays as parameters."""
    params = jax.tree.map(np.asarray, result.params)
    # Outputs for the loss alone, such as the weights of a mixture prior, may be many
    # times as large as the rest of the network.
    n_used = model.objective_.n_predictive * model.net_.n_inputs
    params["decoder"][-1] = {
        part: array[:n_used].copy() for part, array in params["decoder"][-1].items()
    }
    model.params_ = params
    model.n_iter_, model.n_updates_ = result.n_epochs, result.n_updates
    model.best_iter_ = result.best_epoch
    model.best_validation_score_ = -result.best_score
    model.history_ = result.history
