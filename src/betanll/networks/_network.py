"""What a network is, and the names under which networks are saved."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import jax

NetworkClass = TypeVar("NetworkClass", bound=type)

#: Classes of networks by the name that saved models give them.
_REGISTERED: dict[str, type] = {}
_PLAIN = (bool, int, float, str, type(None))


class Network(Protocol):
    """A network description: hashable, with parameters as a pytree of arrays.

    Arrays have samples last: inputs are ``(n_inputs, n)``, outputs ``(n_outputs, n)``.
    There are ``sum(head_sizes)`` outputs. The last `n_detached` outputs must send no
    gradient to the features; only ``Faithful`` asks for that.

    Three further methods are optional:

    * ``decays(params)`` returns `params` with a bool in place of each array: whether
      weight decay applies to that array. By default, arrays with two or more axes
      decay.
    * ``features(params, inputs)`` returns the last hidden layer, ``(n_units, n)``, for
      :meth:`betanll.training.FitResult.features`.
    * ``hidden_sizes``, the units of the hidden layers, improves the estimate of the
      memory that training needs.
    """

    @property
    def n_inputs(self) -> int: ...
    def init(self, head_sizes: tuple[int, ...], *, key: jax.Array) -> Any: ...
    def apply(self, params: Any, inputs: Any, *, n_detached: int = 0) -> Any: ...


def network(name: str) -> Callable[[NetworkClass], NetworkClass]:
    """Register a class of networks, so that models with such a network can be saved.

    The class is a frozen dataclass whose fields are numbers, strings, bools, None or
    tuples of them. Importing the module that defines the class registers it; a model
    can be loaded wherever that module was imported before.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import jax
    >>> from betanll.networks import network
    >>> @network("linear")
    ... @dataclass(frozen=True)
    ... class Linear:
    ...     n_inputs: int
    ...
    ...     def init(self, head_sizes, *, key):
    ...         return 0.1 * jax.random.normal(key, (sum(head_sizes), self.n_inputs))
    ...
    ...     def apply(self, params, inputs, *, n_detached=0):
    ...         return params @ inputs
    """

    def register(cls: NetworkClass) -> NetworkClass:
        if not dataclasses.is_dataclass(cls) or cls.__hash__ is None:
            raise ValueError(f"the network {cls.__name__} must be a frozen dataclass")
        known = _REGISTERED.get(name)
        if known is not None and _identity(known) != _identity(cls):
            raise ValueError(
                f"the network name {name!r} is taken by {known.__module__}."
                f"{known.__qualname__}: choose another name for {cls.__qualname__}"
            )
        _REGISTERED[name] = cls
        return cls

    return register


def to_json(net: Network) -> dict[str, Any]:
    """Return the registered name and the fields of a network.

    Examples
    --------
    >>> from betanll.networks import MLP
    >>> to_json(MLP(2, (8,)))["name"]
    'mlp'
    """
    cls: Any = type(net)
    names = [name for name, known in _REGISTERED.items() if known is cls]
    if not names:
        raise ValueError(
            f"the network {cls.__name__} cannot be saved: register its class with "
            '@betanll.networks.network("a-name")'
        )
    fields = {}
    for field in dataclasses.fields(cls):
        value = getattr(net, field.name)
        parts = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(part, _PLAIN) for part in parts):
            raise ValueError(
                f"the network {cls.__name__} cannot be saved: {field.name} must be a "
                f"number, a string or a tuple of them, got {value!r}"
            )
        fields[field.name] = list(value) if isinstance(value, tuple) else value
    return {"name": names[0], **fields}


def from_json(description: Mapping[str, Any]) -> Network:
    """Return the network that :func:`to_json` describes.

    Only registered classes are looked up; nothing is imported.
    """
    fields = dict(description)
    # Models of the first format have no name: all of them are perceptrons.
    name = fields.pop("name", "mlp")
    if name not in _REGISTERED:
        raise ValueError(
            f"unknown network {name!r}: import the module that registers it before "
            "loading the model"
        )
    cls = _REGISTERED[name]
    expected = {field.name for field in dataclasses.fields(cls)}
    if fields.keys() != expected:
        raise ValueError(f"{cls.__name__} must have the fields {sorted(expected)}")
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    net: Network = cls(**values)
    return net


def _identity(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__
