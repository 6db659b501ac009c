"""Increasing maps from the values that a target can take to the whole real line.

A network predicts normal distributions on the real line. Mapped back, they keep to the
values that the target can take: :class:`~betanll.distributions.Transformed`.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy.special import expit

from betanll.typing import Array

__all__ = [
    "Identity",
    "Log",
    "Logit",
    "Transform",
    "from_json",
    "get",
    "names",
    "text",
    "to_json",
    "transform",
]

_Class = TypeVar("_Class", bound="type[Transform]")
_CLASSES: dict[str, type[Transform]] = {}


class Transform(ABC):
    """A strictly increasing, differentiable map onto the real line.

    Subclasses are frozen dataclasses of numbers, decorated with :func:`transform`.
    Their methods take and return arrays of doubles.
    """

    #: Name in parameters, on the command line and in saved models.
    name: ClassVar[str]

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The ends of the values that are mapped, which are not among them."""

    @abstractmethod
    def forward(self, value: Array) -> Array:
        """Map values inside of the support."""

    @abstractmethod
    def inverse(self, image: Array) -> Array:
        """Map any real number, and infinities to the ends of the support."""

    @abstractmethod
    def log_slope(self, value: Array) -> Array:
        """Logarithm of the derivative of :meth:`forward` inside of the support."""

    def __call__(self, value: Array) -> Array:
        """Map values; those beyond the support become infinite, NaN stays."""
        low, high = self.support
        is_inside = (value > low) & (value < high)
        with np.errstate(invalid="ignore", divide="ignore"):
            image = self.forward(value)
        outside = np.where(
            value <= low, -np.inf, np.where(value >= high, np.inf, value)
        )
        return np.where(is_inside, image, outside)


def transform(name: str) -> Callable[[_Class], _Class]:
    """Register a class of transforms, so that models with it can be saved.

    Examples
    --------
    >>> @transform("cube-root")
    ... @dataclass(frozen=True)
    ... class CubeRoot(Identity):
    ...     def forward(self, value):
    ...         return np.cbrt(value)
    ...
    ...     def inverse(self, image):
    ...         return image**3
    ...
    ...     def log_slope(self, value):
    ...         return -np.log(3) - 2 / 3 * np.log(np.abs(value))
    >>> get("cube-root")
    CubeRoot()
    """

    def register(cls: _Class) -> _Class:
        cls.name = name
        _CLASSES[name] = cls
        return cls

    return register


def _check_finite(transform: Any) -> None:
    for field in dataclasses.fields(transform):
        value = float(getattr(transform, field.name))
        if not math.isfinite(value):
            raise ValueError(f"{field.name} must be finite, got {value}")
        object.__setattr__(transform, field.name, value)


@transform("none")
@dataclass(frozen=True)
class Identity(Transform):
    """Values as they are."""

    @property
    def support(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def forward(self, value: Array) -> Array:
        return value

    def inverse(self, image: Array) -> Array:
        return image

    def log_slope(self, value: Array) -> Array:
        return np.zeros(np.shape(value))


@transform("log")
@dataclass(frozen=True)
class Log(Transform):
    """Natural logarithm of the distance from `low`, for values above it.

    Prices, wages, durations, concentrations: what differs by factors.

    Examples
    --------
    >>> Log()(np.array([0.0, 1.0, np.e]))
    array([-inf,   0.,   1.])
    >>> Log(low=-1.0)(np.array([0.0]))  # log1p
    array([0.])
    """

    low: float = 0.0

    def __post_init__(self) -> None:
        _check_finite(self)

    @property
    def support(self) -> tuple[float, float]:
        return self.low, math.inf

    def forward(self, value: Array) -> Array:
        if self.low == -1:
            return np.log1p(value)
        return np.log(value - self.low)

    def inverse(self, image: Array) -> Array:
        with np.errstate(over="ignore"):
            if self.low == -1:
                return np.expm1(image)
            return self.low + np.exp(image)

    def log_slope(self, value: Array) -> Array:
        return -self.forward(value)


@transform("logit")
@dataclass(frozen=True)
class Logit(Transform):
    """Logarithm of the odds, ``log((value - low) / (high - value))``.

    Shares, percentages, scores between two bounds that no value reaches.

    Examples
    --------
    >>> Logit(0, 100)(np.array([0.0, 50.0, 100.0]))
    array([-inf,   0.,  inf])
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        _check_finite(self)
        if not self.low < self.high:
            raise ValueError(f"low must be below high, got {self.low} and {self.high}")

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def forward(self, value: Array) -> Array:
        return np.log(value - self.low) - np.log(self.high - value)

    def inverse(self, image: Array) -> Array:
        share = expit(image)
        # From the closer end, so that neither loses its digits.
        below = self.low + (self.high - self.low) * share
        above = self.high - (self.high - self.low) * expit(-image)
        return np.where(share < 0.5, below, above)

    def log_slope(self, value: Array) -> Array:
        width = math.log(self.high - self.low)
        return width - np.log(value - self.low) - np.log(self.high - value)


#: Names with their usual numbers, besides those of the classes.
_NAMED: dict[str, Transform] = {"log1p": Log(low=-1.0)}


def names() -> list[str]:
    """Return the names that :func:`get` knows."""
    return sorted({*_CLASSES, *_NAMED})


def get(text: str) -> Transform:
    """Return a transform by its name, perhaps with numbers.

    Examples
    --------
    >>> get("log"), get("log1p"), get("logit:0:100")
    (Log(low=0.0), Log(low=-1.0), Logit(low=0.0, high=100.0))
    """
    name, *numbers = text.split(":")
    if text in _NAMED:
        return _NAMED[text]
    if name not in _CLASSES:
        raise ValueError(f"unknown transform {name!r}: choose {', '.join(names())}")
    cls = _CLASSES[name]
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        raise ValueError(f"{text!r} must have numbers after {name}:") from None
    fields = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    if len(values) > len(fields):
        pattern = ":".join([name, *(field.upper() for field in fields)])
        raise ValueError(f"{text!r} must be like {pattern}")
    return cls(*values)


def text(transform: Transform) -> str:
    """Return the text from which :func:`get` makes a transform.

    Examples
    --------
    >>> text(Log()), text(Log(low=-1.0)), text(Logit(0, 100))
    ('log', 'log1p', 'logit:0:100')
    """
    for name in (transform.name, *_NAMED):
        if get(name) == transform:
            return name
    numbers = dataclasses.astuple(transform)  # type: ignore[call-overload]
    return ":".join([transform.name, *(f"{number:.10g}" for number in numbers)])


def to_json(transform: Transform) -> dict[str, Any]:
    """Return what :func:`from_json` reads.

    Examples
    --------
    >>> to_json(Log())
    {'name': 'log', 'fields': {'low': 0.0}}
    """
    fields = dataclasses.asdict(transform)  # type: ignore[call-overload]
    return {"name": transform.name, "fields": fields}


def from_json(description: dict[str, Any]) -> Transform:
    """Return a registered transform; nothing else is looked up or executed."""
    name, fields = description["name"], description["fields"]
    if name not in _CLASSES:
        raise ValueError(f"unknown transform {name!r}: choose {', '.join(names())}")
    cls = _CLASSES[name]
    known = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    if fields.keys() != known:
        raise ValueError(f"transform {name!r} must have the fields {sorted(known)}")
    return cls(**{key: float(value) for key, value in fields.items()})
