"""HTML pages: one look for all of them, and no outside requests."""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def environment(package: str, *, autoescape: bool = True) -> Environment:
    """Return the templates of a package, which may extend ``betanll/templates``."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("betanll")]),
        autoescape=autoescape,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
