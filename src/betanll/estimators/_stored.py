"""What saved models are made of: values of JSON, checked arrays, objectives.

Nothing is looked up by a name from a file except in the fixed tables of this library.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from betanll import objectives
from betanll.estimators._persistence import ModelError
from betanll.objectives import Objective

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


def restored(
    restore: Callable[[dict[str, Any], Arrays], Built],
    configuration: dict[str, Any],
    arrays: Arrays,
) -> Built:
    """Return what `restore` makes of a model; what does not fit together is refused.

    It is to take the arrays that it uses out of the dictionary.
    """
    arrays = dict(arrays)
    try:
        model = restore(configuration, arrays)
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
    return model


def stored_array(
    arrays: Arrays,
    name: str,
    shape: tuple[int, ...],
    dtype: Any,
    is_valid: Check = np.isfinite,
) -> npt.NDArray[Any]:
    """Take an array out of `arrays` that must look as stated."""
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


def named_layers(
    prefix: str, layers: Sequence[dict[str, npt.NDArray[np.float32]]]
) -> Arrays:
    """Return weights and biases under the names that :func:`stored_layers` reads."""
    return {
        f"{prefix}.{i}.{part}": array
        for i, layer in enumerate(layers)
        for part, array in layer.items()
    }


def stored_layers(
    arrays: Arrays, prefix: str, sizes: Sequence[int]
) -> list[dict[str, npt.NDArray[np.float32]]]:
    """Return weights and biases from layer to layer of the given sizes."""
    return [
        {
            "weight": stored_array(
                arrays, f"{prefix}.{i}.weight", (n_out, n_in), np.float32
            ),
            "bias": stored_array(arrays, f"{prefix}.{i}.bias", (n_out, 1), np.float32),
        }
        for i, (n_in, n_out) in enumerate(itertools.pairwise(sizes))
    ]


def parameters_to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator as values of JSON."""
    parameters = dict(parameters)
    if not isinstance(parameters["objective"], str):
        objective = objectives.get(parameters["objective"])
        parameters["objective"] = objective_to_json(objective)
    if isinstance(parameters["random_state"], np.random.RandomState):
        parameters["random_state"] = None
    return {name: plain(value) for name, value in parameters.items()}


def parameters_from_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that :func:`parameters_to_json` describes."""
    parameters = dict(parameters)
    if isinstance(parameters["objective"], dict):
        parameters["objective"] = objective_from_json(parameters["objective"])
    return {name: unlisted(value) for name, value in parameters.items()}


def objective_to_json(objective: Objective) -> dict[str, Any]:
    """Return class and fields of an objective of this library."""
    name = type(objective).__name__
    if _OBJECTIVE_CLASSES.get(name) is not type(objective):
        raise ValueError(
            f"an objective of one's own cannot be saved: {name} is not part of betanll"
        )
    fields = dataclasses.fields(objective)  # type: ignore[arg-type]
    return {
        "class": name,
        **{field.name: plain(getattr(objective, field.name)) for field in fields},
    }


def objective_from_json(description: dict[str, Any]) -> Objective:
    """Return the objective that :func:`objective_to_json` describes."""
    fields = dict(description)
    name = fields.pop("class")
    if name not in _OBJECTIVE_CLASSES:
        raise ModelError(f"unknown objective {name!r}")
    return built(_OBJECTIVE_CLASSES[name], fields)


def built(cls: type[Built], fields: dict[str, Any]) -> Built:
    """Return a dataclass made of all its fields; none takes its default silently."""
    expected = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    if fields.keys() != expected:
        raise ModelError(f"{cls.__name__} must have the fields {sorted(expected)}")
    return cls(**{name: unlisted(value) for name, value in fields.items()})


def plain(value: Any) -> Any:
    """Return a value of JSON for a number of NumPy, and lists for tuples."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list | range | np.ndarray):
        return [plain(part) for part in value]
    return value


def unlisted(value: Any) -> Any:
    """Return a tuple for a list, as JSON knows no tuples."""
    return tuple(value) if isinstance(value, list) else value
