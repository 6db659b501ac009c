"""Descriptions of work, plain enough to be compared, stored and sent anywhere."""

from __future__ import annotations

import hashlib
import importlib
import json
from dataclasses import dataclass
from typing import Any

#: Whose functions a task may name: the library's, and those of its quality benchmark.
_PACKAGES = ("betanll.", "benchmarks.quality.")


@dataclass(frozen=True)
class Task:
    """A piece of work: a function by name and its settings.

    Parameters
    ----------
    function : str
        Where the function is, as ``"package.module:name"``. It takes the settings as
        keyword arguments and returns a list of dictionaries that JSON can hold, the
        result rows.
    settings : tuple of (str, value)
        Sorted by name; numbers, text, booleans and None.

    Examples
    --------
    >>> task = Task.of("betanll.sweeps._task:echo", word="hello")
    >>> task.run()
    [{'word': 'hello'}]
    >>> task == Task.from_json(task.to_json()), len(task.key)
    (True, 64)
    """

    function: str
    settings: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, function: str, /, **settings: Any) -> Task:
        """Describe a call."""
        for name, value in settings.items():
            if value is not None and not isinstance(value, str | bool | int | float):
                raise TypeError(f"setting {name!r} is not plain: {value!r}")
        return cls(function, tuple(sorted(settings.items())))

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
        """Return the task that :meth:`to_json` described."""
        content = json.loads(text)
        return cls.of(content["function"], **content["settings"])

    def run(self) -> list[dict[str, Any]]:
        """Call the function, of this library or of its quality benchmark only."""
        module, _, name = self.function.partition(":")
        if not module.startswith(_PACKAGES):
            raise ValueError(f"{self.function!r} is not a function of betanll")
        return getattr(importlib.import_module(module), name)(**dict(self.settings))


def echo(**settings: Any) -> list[dict[str, Any]]:
    """Return the settings as the one result row."""
    return [settings]
