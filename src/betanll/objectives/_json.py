"""Objectives as values of JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from betanll.objectives._base import Objective
from betanll.objectives._registry import UnknownObjectiveError, entries, entry_of
from betanll.plugins import MAX_LENGTH, missing_import


def to_json(objective: Objective) -> dict[str, Any]:
    """Return the name and the fields of a registered objective as values of JSON.

    The module tells a reader what to import; :func:`from_json` never imports it.

    Examples
    --------
    >>> from betanll.objectives import BetaNLL
    >>> to_json(BetaNLL((1.0, 0.5)))["fields"]
    {'beta': [1.0, 0.5], 'max_variance': 1000.0}
    """
    cls = type(objective)
    name = next((n for n, e in entries.items() if e.cls is cls), None)
    if name is None:
        raise ValueError(
            f"{cls.__name__} cannot be saved without a name: decorate the class with "
            f'@objective("name")'
        )
    fields = dataclasses.fields(objective)  # type: ignore[arg-type]
    return {
        "name": name,
        "module": cls.__module__,
        "fields": {
            field.name: _to_json(getattr(objective, field.name)) for field in fields
        },
    }


def from_json(description: Mapping[str, Any]) -> Objective:
    """Return the objective that :func:`to_json` describes.

    Only registered names are looked up: a file cannot cause an import.

    Raises
    ------
    UnknownObjectiveError
        If the name is not registered; the message names the missing import.
    ValueError
        If the description does not fit the class.

    Examples
    --------
    >>> from betanll.objectives import BetaNLL
    >>> from_json(to_json(BetaNLL(0.25)))
    BetaNLL(beta=0.25, max_variance=1000.0)
    """
    name, fields = description.get("name"), description.get("fields")
    if not isinstance(name, str) or not isinstance(fields, Mapping):
        raise ValueError("an objective is described by its name and its fields")
    try:
        cls = entry_of(name).cls
    except UnknownObjectiveError:
        hint = missing_import(description.get("module"))
        raise UnknownObjectiveError(
            f"the objective {name[:MAX_LENGTH]!r} is not registered: {hint}"
        ) from None
    expected = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    if fields.keys() != expected:
        raise ValueError(f"{cls.__name__} must have the fields {sorted(expected)}")
    return cls(**{field: _from_json(value) for field, value in fields.items()})


def _to_json(value: Any) -> Any:
    if isinstance(value, Objective):
        return to_json(value)
    if isinstance(value, np.generic):
        return value.item()
    return [_to_json(part) for part in value] if isinstance(value, tuple) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return from_json(value)
    return tuple(map(_from_json, value)) if isinstance(value, list) else value
