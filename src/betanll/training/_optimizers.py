"""Optimisers: optax factories whose numbers are traced, so a search compiles once."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import jax
import optax
from jax.flatten_util import ravel_pytree

Params = Any
Factory = Callable[..., optax.GradientTransformation]
#: Turns a flat vector of parameters into a pytree.
Unravel = Callable[[jax.Array], Params]

#: The parameter of a factory that receives 1 where weights decay, and 0 elsewhere.
_MASK = "is_weight"
_NOT_NEGATIVE = ("learning_rate", "weight_decay")


@dataclass(frozen=True)
class Optimizer:
    """An optax factory and its hyperparameters; :func:`optimizer` makes one.

    Parameters
    ----------
    factory : callable
        A module-level function that returns an optax transformation, such as
        ``optax.adam``. Every function has a compiled program of its own. A parameter
        ``is_weight`` of the factory receives an array of 1 where weights decay and 0
        elsewhere, see :class:`~betanll.networks.Network`.
    hyperparameters : mapping of str to float
        Arguments of the factory. Floats are traced: optimisers that differ in floats
        share a compiled program. Other values are part of the program, but an int
        where the factory has a float default, or none, counts as a float.
    sees_tree : bool, default=False
        Whether the factory needs the parameters as the network's pytree, as LAMB and
        Muon do. By default it receives one flat vector, which is faster.
    evaluation_params : callable, optional
        Takes the state of the optimiser and the parameters, and returns the parameters
        to predict with, for example ``optax.contrib.schedule_free_eval_params``. A
        module-level function. By default the factory's attribute of this name, if any.
    """

    factory: Factory
    hyperparameters: Mapping[str, Any]
    sees_tree: bool = False
    evaluation_params: Callable[[Any, Params], Params] | None = None
    #: Names of the traced hyperparameters.
    traced: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_module_level("the factory of an optimiser", self.factory)
        if self.evaluation_params is None:
            found = getattr(self.factory, "evaluation_params", None)
            object.__setattr__(self, "evaluation_params", found)
        if self.evaluation_params is not None:
            _check_module_level("evaluation_params", self.evaluation_params)
        defaults = _defaults(self.factory)
        checked = {}
        for name, value in self.hyperparameters.items():
            if name == _MASK or (name not in defaults and None not in defaults):
                known = ", ".join(key for key in defaults if key and key != _MASK)
                raise ValueError(
                    f"{self.name} has no hyperparameter {name!r}, only: {known}"
                )
            default = defaults.get(name, inspect.Parameter.empty)
            checked[name] = _checked(name, value, default)
        missing = [
            name
            for name, default in defaults.items()
            if default is inspect.Parameter.empty
            and name not in (*checked, None, _MASK)
        ]
        if missing:
            raise ValueError(f"{self.name} needs {missing[0]}")
        traced = tuple(sorted(k for k, v in checked.items() if type(v) is float))
        object.__setattr__(self, "hyperparameters", checked)
        object.__setattr__(self, "traced", traced)

    def __hash__(self) -> int:
        return hash((self.factory, tuple(sorted(self.hyperparameters))))

    @property
    def name(self) -> str:
        """Name of the factory."""
        return str(getattr(self.factory, "__name__", self.factory))

    @property
    def learning_rate(self) -> float | None:
        """The hyperparameter of this name, None if there is none."""
        return self.hyperparameters.get("learning_rate")

    def replace(self, **hyperparameters: Any) -> Optimizer:
        """Return the optimiser with other values of these hyperparameters.

        Examples
        --------
        >>> optimizer(learning_rate=1e-3).replace(learning_rate=0.1).learning_rate
        0.1
        """
        merged = {**self.hyperparameters, **hyperparameters}
        return replace(self, hyperparameters=merged)

    def takes(self, name: str) -> bool:
        """Whether the factory has a parameter of this name."""
        return name in _defaults(self.factory)

    def transform(self, is_weight: Params) -> optax.GradientTransformation:
        """Return the optax transformation; `is_weight` is 1 where weights decay."""
        mask = {_MASK: is_weight} if self.takes(_MASK) else {}
        try:
            made = self.factory(**self.hyperparameters, **mask)
        except jax.errors.ConcretizationTypeError:
            raise ValueError(
                f"{self.name} cannot be compiled with {', '.join(self.traced)} traced: "
                "wrap it in a module-level function that fixes the numbers it needs"
            ) from None
        if not (hasattr(made, "init") and hasattr(made, "update")):
            raise ValueError(
                f"{self.name} must return an optax transformation, got {made!r}"
            )
        return made

    def flat_transform(
        self, is_weight: Params, unravel: Unravel
    ) -> optax.GradientTransformation:
        """Return the transformation for flat vectors; `is_weight` is a pytree."""
        if not self.sees_tree:
            return self.transform(ravel_pytree(is_weight)[0])
        inner = self.transform(is_weight)

        def init(params: Any) -> Any:
            return inner.init(unravel(params))

        def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
            tree = unravel(params)
            changes, state = inner.update(unravel(updates), state, tree)
            return ravel_pytree(changes)[0], state

        return optax.GradientTransformation(init, update)

    def evaluated(self, params: jax.Array, state: Any, unravel: Unravel) -> jax.Array:
        """Return the flat parameters to predict with."""
        if self.evaluation_params is None:
            return params
        if not self.sees_tree:
            flat: jax.Array = self.evaluation_params(state, params)
            return flat
        return ravel_pytree(self.evaluation_params(state, unravel(params)))[0]


def optimizer(
    factory: Factory = optax.adam,
    /,
    *,
    sees_tree: bool = False,
    evaluation_params: Callable[[Any, Params], Params] | None = None,
    **hyperparameters: Any,
) -> Optimizer:
    """Return an optimiser from an optax factory and its hyperparameters.

    All floats of the factory are traced, those with a default included: a search over
    any of them compiles once. Adam's learning rate is 0.001 by default.

    Parameters
    ----------
    factory : callable, default=optax.adam
        Of optax, or any module-level function that returns such a transformation.
    sees_tree, evaluation_params
        As for :class:`Optimizer`.
    **hyperparameters
        Arguments of the factory.

    Examples
    --------
    >>> import optax
    >>> from betanll.training import adamw, optimizer
    >>> optimizer(optax.sgd, learning_rate=0.1, momentum=0.9).name
    'sgd'
    >>> optimizer(adamw, learning_rate=1e-3, weight_decay=0.1).learning_rate
    0.001
    >>> optimizer(optax.sgd, rate=0.1)
    Traceback (most recent call last):
    ...
    ValueError: sgd has no hyperparameter 'rate', only: learning_rate, momentum, ...
    """
    _check_module_level("the factory of an optimiser", factory)
    traced = {k: v for k, v in _defaults(factory).items() if k and type(v) is float}
    if factory is optax.adam:
        traced["learning_rate"] = 1e-3
    numbers = {**traced, **hyperparameters}
    return Optimizer(factory, numbers, sees_tree, evaluation_params)


def _defaults(factory: Factory) -> dict[str | None, Any]:
    """Return the default of each parameter; None is a key if any name is accepted."""
    parameters = inspect.signature(factory).parameters.values()
    any_name = inspect.Parameter.VAR_KEYWORD
    return {
        None if parameter.kind is any_name else parameter.name: parameter.default
        for parameter in parameters
    }


def _checked(name: str, value: Any, default: Any) -> Any:
    """Return a float where it is to be traced; refuse what cannot be compiled."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    is_count = isinstance(value, Integral)
    has_float = default is inspect.Parameter.empty or isinstance(default, float)
    if is_number and (has_float or not is_count):
        number = float(value)
        if not math.isfinite(number) or (number < 0 and name in _NOT_NEGATIVE):
            least = " and at least 0" if name in _NOT_NEGATIVE else ""
            raise ValueError(f"{name} must be finite{least}, got {value!r}")
        return number
    if callable(value):
        _check_module_level(name, value)
    elif name == "learning_rate":
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        hash(value)
    except TypeError:
        raise ValueError(f"{name} must be hashable, got {value!r}") from None
    return value


def _check_module_level(what: str, function: Any) -> None:
    """Raise for functions that are not module-level: each instance would recompile."""
    if not callable(function):
        raise ValueError(f"{what} must be a function, got {function!r}")
    name = getattr(function, "__qualname__", "")
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    places = [vars(module)] if module else []
    places.append(getattr(function, "__globals__", {}))
    if not any(place.get(name) is function for place in places):
        raise ValueError(
            f"{what} must be a module-level function, got {function!r}: "
            "give numbers as hyperparameters and the rest in a function with a name"
        )


def _flatten(optimizer: Optimizer) -> tuple[list[Any], tuple[Any, ...]]:
    numbers = dict(optimizer.hyperparameters)
    leaves = [numbers.pop(name) for name in optimizer.traced]
    options = (optimizer.factory, optimizer.sees_tree, optimizer.evaluation_params)
    return leaves, (optimizer.traced, tuple(sorted(numbers.items())), options)


def _unflatten(auxiliary: tuple[Any, ...], leaves: Any) -> Optimizer:
    traced, static, (factory, sees_tree, evaluation_params) = auxiliary
    # Bypass __init__, whose checks cannot read traced values.
    made: Optimizer = object.__new__(Optimizer)
    made.__dict__.update(
        factory=factory,
        hyperparameters={**dict(zip(traced, leaves, strict=True)), **dict(static)},
        sees_tree=sees_tree,
        evaluation_params=evaluation_params,
        traced=traced,
    )
    return made


jax.tree_util.register_pytree_node(Optimizer, _flatten, _unflatten)
