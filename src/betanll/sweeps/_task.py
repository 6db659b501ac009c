"""Functions that workers may run, and descriptions of their calls."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from betanll.sentences import shortened

#: Returns the result rows.
Function = Callable[..., list[dict[str, Any]]]
_F = TypeVar("_F", bound=Function)

#: Attribute that marks a function.
_MARK = "__betanll_task__"
#: Module names of a script: in its own process, and in the workers that it starts.
_SCRIPT_NAMES = ("__main__", "__mp_main__")


def task(function: _F) -> _F:
    """Mark a function that workers of a sweep may run, in any module.

    The function takes settings as keyword arguments: numbers, text, booleans and None.
    It returns result rows, a list of dictionaries that JSON can hold. The store finds
    results by the names of the module and the function: moving or renaming the function
    orphans them.

    Parameters
    ----------
    function : callable
        Defined at the top level of a module, where workers find it by its name.

    Returns
    -------
    callable
        The same function.

    Raises
    ------
    ValueError
        If workers could not find the function: a lambda, a method, a function inside
        another one or of an interactive session.

    Examples
    --------
    Functions of a module ``trials.py``, and a task that calls one of them:

    .. code-block:: python

        @task
        def draw(*, seed: int) -> list[dict[str, float]]:
            return [{"value": random.Random(seed).random()}]


        tasks = [Task.of(draw, seed=seed) for seed in range(10)]

    >>> task(lambda: [])
    Traceback (most recent call last):
    ValueError: @task needs a function at the top level of a module, got <lambda>: ...
    """
    _name_of(function)
    setattr(function, _MARK, True)
    return function


@dataclass(frozen=True)
class Task:
    """A call of a function that is marked with :func:`task`.

    Tasks are plain: they can be compared, stored and sent. Make them with :meth:`of`.

    Parameters
    ----------
    function : str
        Location of the function, as ``"package.module:name"``.
    settings : tuple of (str, value)
        Keyword arguments, sorted by name; numbers, text, booleans and None.

    Examples
    --------
    >>> described = Task.of(echo, word="hello")
    >>> described.function
    'betanll.sweeps._task:echo'
    >>> described.run()
    [{'word': 'hello'}]
    >>> described == Task.from_json(described.to_json()), len(described.key)
    (True, 64)
    """

    function: str
    settings: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, function: Function, /, **settings: Any) -> Task:
        """Describe a call of a marked function.

        Raises
        ------
        ValueError
            If the function is not marked with :func:`task`.
        TypeError
            If a setting is not plain.
        """
        if not _is_marked(function):
            called = getattr(function, "__qualname__", repr(function))
            raise ValueError(_not_marked(shortened(called)))
        return cls(_name_of(function), _plain(settings))

    @property
    def key(self) -> str:
        """A hash of the canonical JSON, the same on any machine."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Return the task as canonical JSON."""
        content = {"function": self.function, "settings": dict(self.settings)}
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Task:
        """Return the task that :meth:`to_json` wrote, or raise a ``ValueError``."""
        try:
            content = json.loads(text)
        except RecursionError:
            raise ValueError("the description of a task is nested too deep") from None
        if not (
            isinstance(content, dict)
            and content.keys() == {"function", "settings"}
            and isinstance(content["function"], str)
            and isinstance(content["settings"], dict)
        ):
            raise ValueError("not the description of a task")
        try:
            return cls(content["function"], _plain(content["settings"]))
        except TypeError as error:
            raise ValueError(str(error)) from None

    def run(self) -> list[dict[str, Any]]:
        """Call the function and return its result rows.

        The module must be imported already: a description from a file must not import
        anything.
        """
        return self.find()(**dict(self.settings))

    def find(self, *, import_module: bool = False) -> Function:
        """Return the function, or raise a ``ValueError`` if it is not marked.

        Parameters
        ----------
        import_module : bool, default=False
            Whether to import the module of the function, as workers do.
        """
        module_name, _, name = self.function.partition(":")
        module = _script_of_name(module_name) or sys.modules.get(module_name)
        if module is None and import_module and module_name:
            module = importlib.import_module(module_name)
        if module is None:
            raise ValueError(
                f"import the module of the task {shortened(self.function)!r} first"
            )
        function: Any = getattr(module, name, None)
        if not _is_marked(function):
            raise ValueError(_not_marked(shortened(self.function)))
        return function


def _is_marked(function: Any) -> bool:
    return inspect.isfunction(function) and hasattr(function, _MARK)


def _not_marked(function: str) -> str:
    return (
        f"workers may not run {function}: mark the function with @task of "
        "betanll.sweeps where it is defined"
    )


def _plain(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    for name, value in settings.items():
        if value is not None and not isinstance(value, str | bool | int | float):
            raise TypeError(f"setting {name!r} is not plain: {value!r}")
    return tuple(sorted(settings.items()))


def _name_of(function: Any) -> str:
    """Return ``"module:name"`` of a function; raise if workers could not find it."""
    if not inspect.isfunction(function):
        raise ValueError(f"@task needs a function, got {shortened(repr(function))}")
    name = function.__qualname__
    if "." in name or "<" in name:
        raise ValueError(
            f"@task needs a function at the top level of a module, got {name}: workers "
            "find it by its name"
        )
    module = function.__module__
    if module in _SCRIPT_NAMES:
        script = _script_name(function.__globals__)
        if script is None:
            raise ValueError(
                f"@task cannot mark {name} of an interactive session: write it to a "
                "file, which workers can import"
            )
        module = script
    return f"{module}:{name}"


def _script_of_name(name: str) -> ModuleType | None:
    """Return the script that this process runs, if it has this name."""
    script = sys.modules["__main__"]
    return script if _script_name(vars(script)) == name else None


def _script_name(namespace: Mapping[str, Any]) -> str | None:
    """Return the module name under which a script is imported; None without a file."""
    spec, file = namespace.get("__spec__"), namespace.get("__file__")
    if spec is not None:
        return str(spec.name)
    return Path(file).stem if file else None


@task
def echo(**settings: Any) -> list[dict[str, Any]]:
    """Return the settings as the only result row; for examples and tests."""
    return [settings]
