"""A fitted autoencoder as plain JSON values and named arrays, and back."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from betanll.estimators import ModelError
from betanll.estimators.stored import (
    Arrays,
    built,
    named_arrays,
    parameters_from_json,
    parameters_to_json,
    plain,
    stored_array,
    stored_objective,
    stored_tree,
)
from betanll.objectives import to_json
from betanll_paper.autoencoders.network import Autoencoder
from betanll_paper.autoencoders.predictions import COLLAPSE_RATIO

if TYPE_CHECKING:
    from betanll_paper.autoencoders.model import VAE

_KIND = "VAE"
_HISTORY = "history."
_NUMBERS = (
    *("n_iter", "n_updates", "best_iter"),
    *("best_validation_score", "collapse_ratio"),
)


def to_state(model: VAE) -> tuple[dict[str, Any], Arrays]:
    """Return configuration and arrays of a fitted model."""
    net = model.net_
    fields = [field.name for field in dataclasses.fields(net)]
    configuration = {
        "kind": _KIND,
        "parameters": parameters_to_json(model.get_params(deep=False)),
        "net": {name: plain(getattr(net, name)) for name in fields},
        "objective": to_json(model.objective_),
        "image_shape": list(model.image_shape_),
        **{name: plain(getattr(model, f"{name}_")) for name in _NUMBERS},
    }
    arrays = {"mean_image": model.mean_image_}
    for part, layers in model.params_.items():
        arrays |= named_arrays(part, layers)
    arrays |= {_HISTORY + name: column for name, column in model.history_.items()}
    return configuration, arrays


def restore(model: VAE, configuration: dict[str, Any], arrays: Arrays) -> VAE:
    """Fill in an unfitted model, and take the arrays that it uses from `arrays`."""
    kind = configuration["kind"]
    if kind != _KIND:
        raise ModelError(f"the model is a {kind}, not a {_KIND}")
    model.set_params(**parameters_from_json(configuration["parameters"]))
    net = built(Autoencoder, configuration["net"])
    objective = stored_objective(configuration["objective"])
    shape = tuple(int(size) for size in configuration["image_shape"])
    if min(shape, default=0) < 1 or math.prod(shape) != net.n_inputs:
        raise ModelError(f"images of shape {shape} do not have {net.n_inputs} pixels")
    model.net_, model.objective_, model.image_shape_ = net, objective, shape
    head_sizes = (objective.n_predictive * net.n_inputs,)
    template = jax.eval_shape(partial(net.init, head_sizes), key=jax.random.key(0))
    model.params_ = {
        part: stored_tree(arrays, part, template[part])
        for part in ("encoder", "decoder")
    }
    model.mean_image_ = stored_array(arrays, "mean_image", shape, np.float64)
    for name in _NUMBERS:
        number = configuration[name]
        if not isinstance(number, int | float):
            raise ModelError(f"{name} must be a number, got {number!r}")
        setattr(model, f"{name}_", number)
    model.is_collapsed_ = model.collapse_ratio_ >= COLLAPSE_RATIO
    columns = [name for name in arrays if name.startswith(_HISTORY)]
    model.history_ = {name.removeprefix(_HISTORY): arrays.pop(name) for name in columns}
    return model
