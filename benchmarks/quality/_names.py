"""Clear sentences about names that do not exist and packages that are not there."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from importlib.metadata import version
from importlib.util import find_spec

#: Packages that are imported by another name than pip's.
_MODULES = {"scikit-learn": "sklearn"}


class MissingPackageError(ModuleNotFoundError):
    """A package that a method or a table needs, with one sentence that says so."""


def check_name(kind: str, name: str, known: Collection[str]) -> None:
    """Raise an error that lists the known names if `name` is none of them.

    Examples
    --------
    >>> check_name("method", "forrest", ["forest", "gp"])
    Traceback (most recent call last):
    ...
    ValueError: there is no method 'forrest' (did you mean 'forest'?); there are ...
    """
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(
            f"there is no {kind} {name!r}{hint}; there are {list_of(known)}"
        )


def missing(packages: Iterable[str]) -> list[str]:
    """Return the packages, by pip's names, that are not installed; imports nothing."""
    return [package for package in packages if find_spec(module_of(package)) is None]


def module_of(package: str) -> str:
    """Return the name by which a package is imported."""
    return _MODULES.get(package, package)


def require(what: str, packages: Iterable[str]) -> None:
    """Raise an error that names what to install if a package is missing."""
    if absent := missing(packages):
        raise MissingPackageError(
            f"{what} needs {list_of(absent)}, not installed here: "
            f"pip install {' '.join(absent)}"
        )


def versions(packages: Iterable[str]) -> str:
    """Return the installed versions, such as ``"skpro 2.16.0, torch 2.13.0"``."""
    return ", ".join(f"{package} {version(package)}" for package in packages)


def list_of(names: Iterable[object]) -> str:
    """Return the names with commas between them."""
    return ", ".join(map(str, names))
