"""A fitted autoencoder as plain JSON values and named arrays, and back."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from betanll.estimators import ModelError
from betanll.estimators.stored import (
    Arrays,
    built,
    named_layers,
    parameters_from_json,
    parameters_to_json,
    plain,
    restored,
    stored_array,
    stored_layers,
    stored_objective,
)
from betanll.objectives import to_json
from betanll_paper.autoencoders.network import Autoencoder
from betanll_paper.autoencoders.predictions import COLLAPSE_RATIO

if TYPE_CHECKING:
    from betanll_paper.autoencoders.model import VAE

Model = TypeVar("Model", bound="VAE")

_KIND = "VAE"
_NUMBERS = (
    "n_iter_",
    "n_updates_",
    "best_iter_",
    "best_validation_score_",
    "collapse_ratio_",
)


def to_state(model: VAE) -> tuple[dict[str, Any], Arrays]:
    """Return configuration and arrays of a fitted model."""
    configuration = {
        "kind": _KIND,
        "parameters": parameters_to_json(model.get_params(deep=False)),
        "net": {
            field.name: plain(getattr(model.net_, field.name))
            for field in dataclasses.fields(model.net_)
        },
        "objective": to_json(model.objective_),
        "image_shape": list(model.image_shape_),
        **{name.rstrip("_"): plain(getattr(model, name)) for name in _NUMBERS},
    }
    arrays = {
        **named_layers("encoder", model.params_["encoder"]),
        **named_layers("decoder", model.params_["decoder"]),
        "mean_image": model.mean_image_,
        **{f"history.{name}": column for name, column in model.history_.items()},
    }
    return configuration, arrays


def from_state(
    cls: type[Model], configuration: dict[str, Any], arrays: Arrays
) -> Model:
    """Return the fitted model; whatever does not fit together is refused."""
    return restored(partial(_restore, cls), configuration, arrays)


def _restore(cls: type[Model], configuration: dict[str, Any], arrays: Arrays) -> Model:
    kind = configuration["kind"]
    if kind != _KIND:
        raise ModelError(f"the model is a {kind}, not a {_KIND}")
    model = cls(**parameters_from_json(configuration["parameters"]))
    net = built(Autoencoder, configuration["net"])
    objective = stored_objective(configuration["objective"])
    shape = tuple(int(size) for size in configuration["image_shape"])
    if min(shape, default=0) < 1 or math.prod(shape) != net.n_inputs:
        raise ModelError(f"images of shape {shape} do not have {net.n_inputs} pixels")
    n_outputs = objective.n_predictive * net.n_inputs
    model.net_, model.objective_, model.image_shape_ = net, objective, shape
    model.params_ = {
        "encoder": stored_layers(
            arrays, "encoder", (net.n_inputs, *net.hidden_sizes, 2 * net.n_latent)
        ),
        "decoder": stored_layers(
            arrays, "decoder", (net.n_latent, *net.hidden_sizes[::-1], n_outputs)
        ),
    }
    model.mean_image_ = stored_array(arrays, "mean_image", shape, np.float64)
    for name in _NUMBERS:
        number = configuration[name.rstrip("_")]
        if not isinstance(number, int | float):
            raise ModelError(f"{name.rstrip('_')} must be a number, got {number!r}")
        setattr(model, name, number)
    model.is_collapsed_ = model.collapse_ratio_ >= COLLAPSE_RATIO
    model.history_ = {
        name.removeprefix("history."): arrays.pop(name)
        for name in list(arrays)
        if name.startswith("history.")
    }
    return model
