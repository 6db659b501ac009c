"""What saved models are made of: values of JSON, checked arrays, objectives.

Nothing is looked up by a name from a file except among the registered objectives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
import numpy.typing as npt

from betanll import objectives
from betanll.distributions import Transform, transforms
from betanll.estimators._model_folder import MissingPluginError, ModelError
from betanll.networks import UnknownNetworkError
from betanll.objectives import Objective, UnknownObjectiveError

Built = TypeVar("Built")
Arrays = dict[str, npt.NDArray[Any]]
#: Takes an array and returns which of its elements are valid.
Check = Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]


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
    except (UnknownNetworkError, UnknownObjectiveError) as error:
        raise MissingPluginError(str(error)) from None
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


def named_arrays(prefix: str, tree: Any) -> Arrays:
    """Return the arrays of a pytree by their paths, as :func:`stored_tree` reads."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name(prefix, path): np.asarray(leaf) for path, leaf in leaves}


def stored_tree(arrays: Arrays, prefix: str, template: Any) -> Any:
    """Return a pytree of arrays with the shapes and dtypes of the template."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    found = [
        stored_array(arrays, _name(prefix, path), leaf.shape, leaf.dtype)
        for path, leaf in leaves
    ]
    return jax.tree.unflatten(structure, found)


def _name(prefix: str, path: Any) -> str:
    parts = jax.tree_util.keystr(path, simple=True, separator=".")
    return f"{prefix}.{parts}" if parts else prefix


def parameters_to_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator as values of JSON."""
    parameters = dict(parameters)
    if not isinstance(parameters["objective"], str):
        objective = objectives.get(parameters["objective"])
        parameters["objective"] = objectives.to_json(objective)
    if isinstance(parameters["random_state"], np.random.RandomState):
        parameters["random_state"] = None
    if "target_transform" in parameters:
        parameters["target_transform"] = _transform_to_json(
            parameters["target_transform"]
        )
    # Predictions do without them, and functions cannot be stored.
    parameters |= {
        name: None for name in ("columns", "network", "optimizer") if name in parameters
    }
    return {name: plain(value) for name, value in parameters.items()}


def parameters_from_json(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that :func:`parameters_to_json` describes."""
    parameters = dict(parameters)
    if isinstance(parameters["objective"], dict):
        parameters["objective"] = stored_objective(parameters["objective"])
    if "target_transform" in parameters:
        given = parameters["target_transform"]
        parameters["target_transform"] = _transform_from_json(given)
    return {name: unlisted(value) for name, value in parameters.items()}


def _transform_to_json(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return [_transform_to_json(one) for one in given]
    return transforms.to_json(given) if isinstance(given, Transform) else given


def _transform_from_json(given: Any) -> Any:
    if isinstance(given, list):
        return [_transform_from_json(one) for one in given]
    return transforms.from_json(given) if isinstance(given, dict) else given


def stored_objective(description: dict[str, Any]) -> Objective:
    """Return the objective that a model describes; earlier ones name the class."""
    if "class" not in description:
        return objectives.from_json(description)
    fields = dict(description)
    name = fields.pop("class")
    cls = getattr(objectives, name) if name in objectives.__all__ else None
    if not (isinstance(cls, type) and issubclass(cls, Objective)) or cls is Objective:
        raise ModelError(f"unknown objective {name!r}")
    return objectives.from_json({"name": cls.name, "fields": fields})


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
