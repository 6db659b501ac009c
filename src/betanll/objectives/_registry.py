"""The registry of objectives by name: from betanll, plug-ins and user code."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, dataclass_transform, overload

from betanll.objectives._base import Objective, traced
from betanll.plugins import import_plugin, installed, package_of

#: Entry points of installed packages that define objectives.
GROUP = "betanll.objectives"

ObjectiveClass = TypeVar("ObjectiveClass", bound=Objective)
Listener = Callable[[type[Objective]], None]

_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")

_classes: list[type[Objective]] = []
_listeners: list[Listener] = []


class UnknownObjectiveError(ValueError):
    """No objective of that name is registered."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A class, and the fields that a name sets."""

    cls: type[Objective]
    fields: Mapping[str, Any]

    def __call__(self) -> Objective:
        return self.cls(**self.fields)


entries: dict[str, Entry] = {}


class _Name:
    """The name of a class, or of the variant that an instance equals."""

    def __init__(self, name: str, variants: Mapping[str, Mapping[str, Any]]) -> None:
        self.name, self.variants = name, variants

    def __get__(self, instance: Any, owner: type) -> str:
        for name, fields in self.variants.items():
            if instance is not None and all(
                getattr(instance, field) == value for field, value in fields.items()
            ):
                return name
        return self.name


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(traced, dataclasses.field))
def objective(
    name: type[ObjectiveClass], /
) -> type[ObjectiveClass]: ...  # the bare decorator


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(traced, dataclasses.field))
def objective(
    name: str | None, /, **variants: Mapping[str, Any]
) -> Callable[[type[ObjectiveClass]], type[ObjectiveClass]]: ...


def objective(name: Any, /, **variants: Mapping[str, Any]) -> Any:
    """Make a class a frozen dataclass, and register the objective under a name.

    The name then works in the estimator, on the command line and in saved models. All
    values of a field declared with :func:`traced` share one compilation; a field that
    holds another objective is part of the same pytree.

    Parameters
    ----------
    name : str or None
        Lower-case letters, digits, hyphens, dots and underscores. With None, the
        objective can be used as an object but not saved. Without parentheses,
        ``@objective`` uses the class attribute ``name``, if any.
    **variants : mapping of str to value
        Further names, each with the fields that differ from their defaults.

    Raises
    ------
    ValueError
        If another class has the name.

    Examples
    --------
    >>> from betanll import losses, objectives
    >>> @objectives.objective("absolute", **{"absolute-half": {"factor": 0.5}})
    ... class Absolute(objectives.FixedVariance):
    ...     "Absolute error."
    ...
    ...     factor: float = 1.0
    ...
    ...     def loss(self, parameters, target, progress):
    ...         (mean,) = parameters
    ...         return self.factor * abs(target - mean)
    >>> objectives.get("absolute-half")
    Absolute(factor=0.5)
    >>> _ = [objectives.unregister(name) for name in ("absolute", "absolute-half")]
    """
    if isinstance(name, type):
        return objective(vars(name).get("name"))(name)

    def decorate(cls: type[ObjectiveClass]) -> type[ObjectiveClass]:
        if not (isinstance(cls, type) and issubclass(cls, Objective)):
            raise TypeError(f"@objective is for subclasses of Objective, not {cls!r}")
        _check_members(cls)
        decorated = dataclasses.dataclass(frozen=True)(cls)
        _declare_family(decorated)
        if name is None:
            if "name" not in vars(cls):
                type.__setattr__(decorated, "name", cls.__name__)
        else:
            names = {name: {}, **variants}
            _check_defaults(decorated)
            for each in names:
                _check_name(each, decorated)
            type.__setattr__(decorated, "name", _Name(name, variants))
            entries.update(
                {each: Entry(decorated, fields) for each, fields in names.items()}
            )
        _classes.append(decorated)
        for listener in _listeners:
            listener(decorated)
        return decorated

    return decorate


def _declare_family(cls: type[Objective]) -> None:
    """Give a class with its own `predictive` a family of its own."""
    owners = {
        name: next(i for i, base in enumerate(cls.__mro__) if name in vars(base))
        for name in ("predictive", "predictive_family")
    }
    if owners["predictive"] < owners["predictive_family"]:
        cls.predictive_family = Objective.predictive_family


def _check_members(cls: type[Objective]) -> None:
    """Refuse a class that lacks what every objective says, by the names of it."""
    required = ["parameters", "loss", "nll", "predictive"]
    if cls.training_loss is not Objective.training_loss:
        required.remove("loss")
    missing = [
        name for name in required if getattr(cls, name) is getattr(Objective, name)
    ]
    if not hasattr(cls, "n_parameters"):
        missing.insert(0, "n_parameters")
    if missing:
        raise ValueError(
            f"the objective {_where(cls)} lacks {' and '.join(missing)}: see "
            "betanll.objectives.Objective"
        )
    n = cls.n_parameters
    if isinstance(n, int) and n < 1:
        raise ValueError(
            f"the objective {_where(cls)} must have n_parameters of at least 1, got {n}"
        )


def _check_defaults(cls: type[Objective]) -> None:
    missing = dataclasses.MISSING
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if field.init and field.default is field.default_factory is missing:
            raise ValueError(
                f"{_where(cls)} can be made by name only if every field has a default, "
                f"unlike {field.name!r}"
            )


def _check_name(name: str, cls: type[Objective]) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            "the name of an objective consists of lower-case letters, digits, hyphens, "
            f"dots and underscores, got {name!r}"
        )
    taken = entries.get(name)
    # The same definition again: a notebook cell was rerun, or a module reloaded.
    if taken is not None and _where(taken.cls) != _where(cls):
        raise ValueError(
            f"the objective name {name!r} is taken by {_where(taken.cls)}: choose "
            f"another name for {_where(cls)}"
        )


def _where(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def unregister(name: str) -> None:
    """Forget a name, for tests and notebooks; the class stays usable."""
    if entries.pop(name, None) is None:
        raise UnknownObjectiveError(f"no objective is registered as {name!r}")


def on_definition(listener: Listener) -> None:
    """Call `listener` with every class that :func:`objective` made or will make.

    :mod:`betanll.training` registers the classes as JAX pytrees in this way, so that
    objectives can be defined and listed without JAX.
    """
    _listeners.append(listener)
    for cls in _classes:
        listener(cls)


def names() -> tuple[str, ...]:
    """Return the names of all objectives; no plug-in is imported.

    Registered names come first, beginning with those of betanll; then the entry points
    of installed packages in the group ``betanll.objectives``.

    Examples
    --------
    >>> names()[:3]
    ('mse', 'fixed-variance', 'nll')
    """
    return tuple(dict.fromkeys((*entries, *installed(GROUP))))


def entry_of(name: str) -> Entry:
    """Return the entry of a name; import the entry point of that name if needed."""
    points = installed(GROUP).get(name, ())
    if len(points) > 1:
        claims = [f"{point.value} of {package_of(point)}" for point in points]
        raise ValueError(
            f"the objective name {name!r} is registered twice, by "
            f"{' and '.join(claims)}: uninstall one of the packages"
        )
    for point in points:
        import_plugin(point.module)
        if name not in entries:
            raise ValueError(
                f"the entry point {name!r} of {package_of(point)} names {point.value}, "
                "which registers no objective of that name"
            )
    if name not in entries:
        raise UnknownObjectiveError(
            f"objective must be one of {', '.join(names())}, got {name!r}"
        )
    return entries[name]


class _View(Mapping[str, Callable[[], Objective]]):
    def __getitem__(self, name: str) -> Callable[[], Objective]:
        try:
            return entry_of(name)
        except UnknownObjectiveError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(names())

    def __len__(self) -> int:
        return len(names())

    def __repr__(self) -> str:
        return f"<objectives: {', '.join(names())}>"


#: A view of the registry: by name, callables that make the objective with its defaults.
OBJECTIVES: Mapping[str, Callable[[], Objective]] = _View()


def split_spec(spec: str) -> tuple[str, str | None]:
    """Return the name in a spec, and the text of its number if there is one.

    Examples
    --------
    >>> split_spec("beta-nll:0.25"), split_spec("mse")
    (('beta-nll', '0.25'), ('mse', None))
    """
    name, colon, number = spec.partition(":")
    return name, number if colon else None


def get(spec: str | Objective | type[Objective]) -> Objective:
    """Return the objective of that name or class; an objective is returned unchanged.

    A number after a colon sets the first field that is declared with :func:`traced`.

    Examples
    --------
    >>> get("student-t")
    StudentT()
    >>> get("vbem-star")
    VBEM(trainable=True)
    >>> get("beta-nll:0.25")
    BetaNLL(beta=0.25, max_variance=1000.0)
    """
    if isinstance(spec, type) and issubclass(spec, Objective):
        spec = spec()
    if isinstance(spec, Objective):
        if "__dataclass_fields__" not in vars(type(spec)):
            raise TypeError(f"{type(spec).__name__} needs the decorator @objective")
        return spec
    if not isinstance(spec, str):
        raise UnknownObjectiveError(
            f"objective must be one of {', '.join(names())}, got {spec!r}"
        )
    name, text = split_spec(spec)
    made = entry_of(name)()
    if text is None:
        return made
    fields = dataclasses.fields(made)  # type: ignore[arg-type]
    numbers = [field.name for field in fields if "traced" in field.metadata]
    if not numbers:
        raise ValueError(f"{name} has no number to set, got {spec!r}")
    try:
        value = float(text)
    except ValueError:
        raise ValueError(
            f"{numbers[0]} of {name} must be a number, got {text!r}"
        ) from None
    return dataclasses.replace(made, **{numbers[0]: value})  # type: ignore[type-var]
