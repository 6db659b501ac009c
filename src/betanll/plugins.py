"""Plug-ins: modules that a user names, and entry points of packages."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from betanll.sentences import shortened

#: Longest name of a module that an error message repeats from a file.
MAX_LENGTH = 100
#: What a module may raise while it is imported: anything, and a script may exit.
FAULTS = (Exception, SystemExit)


def import_plugin(module: str) -> None:
    """Import a module that registers objectives, tasks or experiments.

    Raises
    ------
    ImportError
        If the import fails for any reason; the message is one sentence.

    Examples
    --------
    >>> from betanll.plugins import import_plugin
    >>> import_plugin("no_such_module")
    Traceback (most recent call last):
    ImportError: the plug-in 'no_such_module' cannot be imported: No module named
    'no_such_module'
    """
    if not is_module_name(module):
        raise ImportError(
            f"a plug-in is the name of a module, such as my_objectives, got {module!r}"
        )
    try:
        importlib.import_module(module)
    except FAULTS as error:
        raise ImportError(
            f"the plug-in {module!r} cannot be imported: {reason_of(error)}"
        ) from error


def is_module_name(module: object) -> bool:
    """Tell whether something can be the name of a module."""
    return (
        isinstance(module, str)
        and len(module) <= MAX_LENGTH
        and all(part.isidentifier() for part in module.split("."))
    )


def missing_import(module: object) -> str:
    """Return what to do about a name of a saved model that is not registered.

    Examples
    --------
    >>> from betanll.plugins import missing_import
    >>> missing_import("my_objectives")
    'import my_objectives first, or use --plugin my_objectives'
    """
    if is_module_name(module) and module != "__main__":
        return f"import {module} first, or use --plugin {module}"
    return "import the module that defines it first, or name it with --plugin"


def reason_of(error: BaseException) -> str:
    """Return an error as one line; imports that fail and bad values need no name."""
    if isinstance(error, ImportError | ValueError) and str(error):
        return shortened(str(error))
    if isinstance(error, SystemExit):
        return shortened(f"it calls sys.exit({error.code!r})")
    return shortened(f"{type(error).__name__}: {error}")


def installed(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of installed packages by name; nothing is imported.

    Examples
    --------
    >>> from betanll.plugins import installed
    >>> installed("no.such.group")
    {}
    """
    return _entry_points(group, tuple(sys.path))


@functools.lru_cache(maxsize=8)
def _entry_points(
    group: str, path: tuple[str, ...]
) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of packages in the folders of `path`, by name."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, {})[point.value] = point
    return {name: tuple(points.values()) for name, points in found.items()}


def package_of(point: EntryPoint) -> str:
    """Return the name of the package that has an entry point."""
    return point.dist.name if point.dist is not None else "an unknown package"


def load(group: str) -> tuple[dict[str, Any], list[str]]:
    """Return the objects that installed packages name, and complaints about others.

    A broken package must not break the rest of the program.

    Returns
    -------
    objects : dict
        By the names of their entry points.
    complaints : list of str
        A sentence for each entry point that cannot be loaded.
    """
    found: dict[str, Any] = {}
    complaints = []
    for name, points in installed(group).items():
        for point in points:
            try:
                found[name] = point.load()
            except FAULTS as error:
                complaints.append(
                    f"the plug-in {point.value!r} of {package_of(point)} "
                    f"cannot be loaded: {reason_of(error)}; update or uninstall it"
                )
    return found, complaints
