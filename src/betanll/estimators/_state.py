"""A fitted estimator as plain JSON values and named arrays, and back.

Nothing is looked up by a name from the file except in the fixed tables of this
library, and every array is checked against the network it claims to belong to.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from betanll import objectives
from betanll.estimators._persistence import ModelError
from betanll.nets import MLP
from betanll.objectives import Objective
from betanll.protocols import Positions, Whitening

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor

Estimator = TypeVar("Estimator", bound="HeteroscedasticRegressor")
Built = TypeVar("Built")
Arrays = dict[str, npt.NDArray[Any]]
#: Says of each element whether it may be.
Check = Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]

_OBJECTIVE_CLASSES = {
    name: value
    for name in objectives.__all__
    if isinstance(value := getattr(objectives, name), type)
    and issubclass(value, Objective)
    and value is not Objective
}
_NUMBERS = ("best_learning_rate_", "best_validation_score_", "n_iter_", "n_updates_")


def to_state(
    estimator: HeteroscedasticRegressor,
) -> tuple[dict[str, Any], Arrays]:
    """Return configuration and arrays of a fitted estimator."""
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters["objective"], str):
        objective = objectives.get(parameters["objective"])
        parameters["objective"] = _objective_to_json(objective)
    if isinstance(parameters["random_state"], np.random.RandomState):
        parameters["random_state"] = None
    names = getattr(estimator, "feature_names_in_", None)
    configuration = {
        "kind": type(estimator).__name__,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "net": {
            "n_inputs": estimator.net_.n_inputs,
            "hidden_sizes": list(estimator.net_.hidden_sizes),
            "activation": estimator.net_.activation,
            "initialiser": estimator.net_.initialiser,
            "n_bins": estimator.net_.n_bins,
        },
        "objective": _objective_to_json(estimator.objective_),
        "feature_names": None if names is None else [str(name) for name in names],
        "y_is_vector": estimator._y_is_vector,
        "n_members": len(estimator.members_),
        "n_outputs": estimator.n_outputs_,
        "search_results": {
            key: [_plain(value) for value in column]
            for key, column in estimator.search_results_.items()
        },
        **{name.rstrip("_"): _plain(getattr(estimator, name)) for name in _NUMBERS},
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
    if estimator.df_ is not None:
        arrays["df"] = estimator.df_
    for i, member in enumerate(estimator.members_):
        for j, layer in enumerate(member):
            for part, array in layer.items():
                arrays[f"member.{i}.{j}.{part}"] = array
    for name, column in estimator.history_.items():
        arrays[f"history.{name}"] = column
    for i, scores in enumerate(estimator.conformal_scores_ or ()):
        arrays[f"conformal.{i}"] = scores
    return configuration, arrays


def from_state(
    cls: type[Estimator], configuration: dict[str, Any], arrays: Arrays
) -> Estimator:
    """Return the fitted estimator; whatever does not fit together is refused."""
    arrays = dict(arrays)
    try:
        estimator = _restore(cls, configuration, arrays)
    except ModelError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelError(f"the model does not describe an estimator: {error}") from None
    if arrays:
        raise ModelError(f"the model has no use for the array {min(arrays)!r}")
    return estimator


def _restore(
    cls: type[Estimator], configuration: dict[str, Any], arrays: Arrays
) -> Estimator:
    """Return the estimator and take the arrays that it uses from `arrays`."""
    kind = configuration["kind"]
    if kind != cls.__name__:
        raise ModelError(f"the model is a {kind}, not a {cls.__name__}")
    parameters = dict(configuration["parameters"])
    if isinstance(parameters["objective"], dict):
        parameters["objective"] = _objective_from_json(parameters["objective"])
    estimator = cls(**{name: _unlisted(value) for name, value in parameters.items()})

    estimator.net_ = _built(MLP, configuration["net"])
    estimator.objective_ = _objective_from_json(configuration["objective"])
    n_inputs, n_outputs = estimator.net_.n_inputs, int(configuration["n_outputs"])
    estimator.n_features_in_ = n_inputs
    estimator.n_outputs_ = n_outputs
    names = configuration["feature_names"]
    if names is not None:
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise ModelError(f"feature names must be strings, got {names!r}")
        if len(names) != n_inputs:
            raise ModelError(f"{len(names)} feature names for {n_inputs} inputs")
        estimator.feature_names_in_ = np.array(names, object)
    estimator._y_is_vector = bool(configuration["y_is_vector"])
    if n_outputs < 1 or (estimator._y_is_vector and n_outputs > 1):
        raise ModelError(f"the model cannot have {n_outputs} targets")

    def vector(name: str, n: int, is_valid: Check = np.isfinite) -> Any:
        return _checked(arrays, name, (n,), np.float64, is_valid)

    estimator.inputs_ = _input_map(arrays, estimator.net_)
    estimator.targets_ = Whitening(
        vector("targets.mean", n_outputs),
        vector("targets.scale", n_outputs, _is_positive),
    )
    estimator.spread_ = vector("spread", n_outputs, _is_positive)
    estimator.df_ = None
    if "df" in arrays:
        # Others have no variance.
        estimator.df_ = vector("df", n_outputs, lambda df: np.isfinite(df) & (df > 2))
    estimator.members_ = [
        _member(arrays, i, estimator.net_, estimator.objective_, n_outputs)
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
        key: [_unlisted(value) for value in column]
        for key, column in configuration["search_results"].items()
    }
    return estimator


def _input_map(arrays: Arrays, net: MLP) -> Whitening | Positions:
    n = net.n_inputs
    if not net.n_bins:
        return Whitening(
            _checked(arrays, "inputs.mean", (n,), np.float64),
            _checked(arrays, "inputs.scale", (n,), np.float64, lambda scale: scale > 0),
        )

    def is_increasing(knots: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        is_later = knots[1:] > knots[:-1]
        is_padding = np.isposinf(knots)
        return np.concatenate(
            [np.isfinite(knots[:1]), is_later | (is_padding[1:])], axis=0
        )

    shape = (net.n_bins + 1, n)
    return Positions(_checked(arrays, "inputs.knots", shape, np.float64, is_increasing))


def _member(
    arrays: Arrays, i: int, net: MLP, objective: Objective, n_outputs: int
) -> list[dict[str, npt.NDArray[np.float32]]]:
    sizes = (net.n_encoded, *net.hidden_sizes, sum(objective.head_sizes(n_outputs)))
    return [
        {
            "weight": _checked(
                arrays,
                f"member.{i}.{j}.weight",
                (sizes[j + 1], sizes[j]),
                np.float32,
            ),
            "bias": _checked(
                arrays, f"member.{i}.{j}.bias", (sizes[j + 1], 1), np.float32
            ),
        }
        for j in range(len(sizes) - 1)
    ]


def _scores(arrays: Arrays, i: int) -> npt.NDArray[Any]:
    name = f"conformal.{i}"
    n = arrays[name].size
    scores = _checked(arrays, name, (n,), np.float64, lambda score: score >= 0)
    if np.any(scores[1:] < scores[:-1]):
        raise ModelError(f"array {name!r} must be sorted")
    return scores


def _checked(
    arrays: Arrays,
    name: str,
    shape: tuple[int, ...],
    dtype: Any,
    is_valid: Check = np.isfinite,
) -> npt.NDArray[Any]:
    if name not in arrays:
        raise ModelError(f"the model lacks the array {name!r}")
    array = arrays.pop(name)
    if array.shape != shape or array.dtype != dtype:
        raise ModelError(
            f"array {name!r} must be {np.dtype(dtype).name} of shape {shape}, "
            f"got {array.dtype.name} of shape {array.shape}"
        )
    if not np.all(is_valid(array)):
        raise ModelError(f"array {name!r} has values that no model has")
    return array


def _is_positive(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.isfinite(array) & (array > 0)


def _objective_to_json(objective: Objective) -> dict[str, Any]:
    name = type(objective).__name__
    if _OBJECTIVE_CLASSES.get(name) is not type(objective):
        raise ValueError(
            f"an objective of one's own cannot be saved: {name} is not part of betanll"
        )
    fields = dataclasses.fields(objective)  # type: ignore[arg-type]
    return {
        "class": name,
        **{field.name: _plain(getattr(objective, field.name)) for field in fields},
    }


def _objective_from_json(description: dict[str, Any]) -> Objective:
    fields = dict(description)
    name = fields.pop("class")
    if name not in _OBJECTIVE_CLASSES:
        raise ModelError(f"unknown objective {name!r}")
    return _built(_OBJECTIVE_CLASSES[name], fields)


def _built(cls: type[Built], fields: dict[str, Any]) -> Built:
    """Return a dataclass made of all its fields; none takes its default silently."""
    expected = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    if fields.keys() != expected:
        raise ModelError(f"{cls.__name__} must have the fields {sorted(expected)}")
    return cls(**{name: _unlisted(value) for name, value in fields.items()})


def _plain(value: Any) -> Any:
    """Return a value of JSON for a number of NumPy, and lists for tuples."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(part) for part in value]
    return value


def _unlisted(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
