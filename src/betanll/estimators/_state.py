"""A fitted estimator as plain JSON values and named arrays, and back.

Nothing is looked up by a name from the file except among the registered objectives,
and every array is checked against the network it claims to belong to.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import numpy as np
import numpy.typing as npt

from betanll import networks
from betanll.columns import ColumnEncoder
from betanll.distributions import Identity, transforms
from betanll.estimators._model_folder import ModelError
from betanll.estimators._notebook import LEVELS
from betanll.estimators._target_transform import Transforms
from betanll.estimators.stored import (
    Arrays,
    Check,
    named_arrays,
    parameters_from_json,
    parameters_to_json,
    plain,
    restored,
    stored_array,
    stored_objective,
    stored_tree,
    unlisted,
)
from betanll.networks import Network
from betanll.objectives import to_json
from betanll.preprocessing import QuantilePositions, Standardizer

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor

Estimator = TypeVar("Estimator", bound="HeteroscedasticRegressor")
_NUMBERS = ("best_learning_rate_", "best_validation_score_", "n_iter_", "n_updates_")


def to_state(
    estimator: HeteroscedasticRegressor,
) -> tuple[dict[str, Any], Arrays]:
    """Return configuration and arrays of a fitted estimator."""
    names = getattr(estimator, "feature_names_in_", None)
    encoder = estimator.encoder_
    configuration = {
        "kind": type(estimator).__name__,
        "parameters": parameters_to_json(estimator.get_params(deep=False)),
        "net": networks.to_json(estimator.net_),
        "objective": to_json(estimator.objective_),
        "feature_names": None if names is None else [str(name) for name in names],
        "columns": None if encoder is None else encoder.to_dict(),
        "y_is_vector": estimator._y_is_vector,
        "n_members": len(estimator.members_),
        "n_outputs": estimator.n_outputs_,
        "target_transforms": [
            transforms.to_json(one) for one in estimator.target_transform_
        ],
        "target_names": getattr(estimator, "target_names_", None),
        "search_results": {
            key: [plain(value) for value in column]
            for key, column in estimator.search_results_.items()
        },
        **{name.rstrip("_"): plain(getattr(estimator, name)) for name in _NUMBERS},
    }
    arrays = {
        **{
            f"inputs.{field.name}": getattr(estimator.inputs_, field.name)
            for field in dataclasses.fields(estimator.inputs_)
        },
        "targets.mean": estimator.targets_.mean,
        "targets.scale": estimator.targets_.scale,
        "spread": estimator.spread_,
        "loss_curve": np.array(estimator.loss_curve_),
    }
    if (seen := getattr(estimator, "input_range_", None)) is not None:
        arrays["input_range"] = seen
    if estimator.df_ is not None:
        arrays["df"] = estimator.df_
    if estimator.held_out_coverage_ is not None:
        arrays["held_out_coverage"] = estimator.held_out_coverage_
    for i, member in enumerate(estimator.members_):
        arrays |= named_arrays(f"member.{i}", member)
    for name, column in estimator.history_.items():
        arrays[f"history.{name}"] = column
    for i, scores in enumerate(estimator.conformal_scores_ or ()):
        arrays[f"conformal.{i}"] = scores
    return configuration, arrays


def from_state(
    cls: type[Estimator], configuration: dict[str, Any], arrays: Arrays
) -> Estimator:
    """Return the fitted estimator; whatever does not fit together is refused."""
    return restored(partial(_restore, cls), configuration, arrays)


def _restore(
    cls: type[Estimator], configuration: dict[str, Any], arrays: Arrays
) -> Estimator:
    """Return the estimator and take the arrays that it uses from `arrays`."""
    kind = configuration["kind"]
    if kind != cls.__name__:
        raise ModelError(f"the model is a {kind}, not a {cls.__name__}")
    estimator = cls(**parameters_from_json(configuration["parameters"]))

    estimator.net_ = networks.from_json(configuration["net"])
    estimator.objective_ = stored_objective(configuration["objective"])
    n_inputs, n_outputs = estimator.net_.n_inputs, int(configuration["n_outputs"])
    columns = configuration["columns"]
    estimator.encoder_ = None if columns is None else ColumnEncoder.from_dict(columns)
    n_features = n_inputs
    if estimator.encoder_ is not None:
        n_features = len(estimator.encoder_.columns)
        n_encoded = len(estimator.encoder_.encoded_names)
        if n_encoded != n_inputs:
            raise ModelError(f"{n_encoded} encoded columns for {n_inputs} inputs")
    estimator.n_features_in_ = n_features
    estimator.n_outputs_ = n_outputs
    names = configuration["feature_names"]
    if names is not None:
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise ModelError(f"feature names must be strings, got {names!r}")
        if len(names) != n_features:
            raise ModelError(f"{len(names)} feature names for {n_features} columns")
        estimator.feature_names_in_ = np.array(names, object)
    estimator._y_is_vector = bool(configuration["y_is_vector"])
    if n_outputs < 1 or (estimator._y_is_vector and n_outputs > 1):
        raise ModelError(f"the model cannot have {n_outputs} targets")

    estimator.target_transform_ = _transforms(configuration, n_outputs)
    targets = configuration.get("target_names")
    if targets is not None:
        estimator.target_names_ = [str(name) for name in targets]
        if len(targets) != n_outputs:
            raise ModelError(f"{len(targets)} target names for {n_outputs} targets")

    def vector(name: str, n: int, is_valid: Check = np.isfinite) -> Any:
        return stored_array(arrays, name, (n,), np.float64, is_valid)

    estimator.inputs_ = _input_map(arrays, estimator.net_)
    estimator.input_range_ = None
    if "input_range" in arrays:
        estimator.input_range_ = stored_array(
            arrays, "input_range", (2, n_inputs), np.float64, _is_range
        )
    estimator.targets_ = Standardizer(
        vector("targets.mean", n_outputs),
        vector("targets.scale", n_outputs, _is_positive),
    )
    estimator.spread_ = vector("spread", n_outputs, _is_positive)
    estimator.df_ = None
    if "df" in arrays:
        # Others have no variance.
        estimator.df_ = vector("df", n_outputs, lambda df: np.isfinite(df) & (df > 2))
    estimator.held_out_coverage_ = None
    if "held_out_coverage" in arrays:
        estimator.held_out_coverage_ = stored_array(
            arrays,
            "held_out_coverage",
            (len(LEVELS), n_outputs),
            np.float64,
            lambda share: np.isnan(share) | ((share >= 0) & (share <= 1)),
        )
    head_sizes = estimator.objective_.head_sizes(n_outputs)
    template = jax.eval_shape(
        partial(estimator.net_.init, head_sizes), key=jax.random.key(0)
    )
    estimator.members_ = [
        stored_tree(arrays, f"member.{i}", template)
        for i in range(int(configuration["n_members"]))
    ]
    if not estimator.members_:
        raise ModelError("the model has no network")
    has_scores = "conformal.0" in arrays
    estimator.conformal_scores_ = (
        [_scores(arrays, i) for i in range(n_outputs)] if has_scores else None
    )
    estimator.beta_ = getattr(estimator.objective_, "beta", None)
    for name in _NUMBERS:
        setattr(estimator, name, configuration[name.rstrip("_")])
    estimator.history_ = {
        name.removeprefix("history."): arrays.pop(name)
        for name in list(arrays)
        if name.startswith("history.")
    }
    estimator.loss_curve_ = arrays.pop("loss_curve").tolist()
    estimator.search_results_ = {
        key: [unlisted(value) for value in column]
        for key, column in configuration["search_results"].items()
    }
    return estimator


def _input_map(arrays: Arrays, net: Network) -> Standardizer | QuantilePositions:
    n, n_bins = net.n_inputs, getattr(net, "n_bins", 0)
    if not n_bins:
        return Standardizer(
            stored_array(arrays, "inputs.mean", (n,), np.float64),
            stored_array(
                arrays, "inputs.scale", (n,), np.float64, lambda scale: scale > 0
            ),
        )

    def is_increasing(knots: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        is_later = knots[1:] > knots[:-1]
        is_padding = np.isposinf(knots)
        return np.concatenate(
            [np.isfinite(knots[:1]), is_later | (is_padding[1:])], axis=0
        )

    shape = (n_bins + 1, n)
    return QuantilePositions(
        stored_array(arrays, "inputs.knots", shape, np.float64, is_increasing)
    )


def _transforms(configuration: dict[str, Any], n_outputs: int) -> Transforms:
    """Return the transforms of the targets; earlier models have none."""
    given = configuration.get("target_transforms")
    if given is None:
        return (Identity(),) * n_outputs
    if len(given) != n_outputs:
        raise ModelError(f"{len(given)} target transforms for {n_outputs} targets")
    return tuple(map(transforms.from_json, given))


def _scores(arrays: Arrays, i: int) -> npt.NDArray[Any]:
    name = f"conformal.{i}"
    n = arrays[name].size
    scores = stored_array(arrays, name, (n,), np.float64, lambda score: score >= 0)
    if np.any(scores[1:] < scores[:-1]):
        raise ModelError(f"array {name!r} must be sorted")
    return scores


def _is_range(bounds: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.isfinite(bounds) & (bounds[0] <= bounds[1])


def _is_positive(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.isfinite(array) & (array > 0)
