"""Names in the changelog that a user may try."""

import importlib
import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
NEWEST = TEXT.split("\n## ")[1]
#: In quotes; a group of entry points is no module.
NAME = re.compile(r"(?<!group )(?<!\w)`(betanll(?:_paper)?(?:\.\w+)+)")


def section(title):
    return NEWEST.split(f"### {title}\n")[1].split("\n### ")[0]


def new_names():
    """Return the new names in the table of renamed ones."""
    rows = [line.split("|") for line in section("Renamed").splitlines()]
    return "\n".join(row[2] for row in rows if len(row) == 4)


def resolve(name):
    """Return what a dotted name stands for, or raise."""
    *parts, last = name.split(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, ".".join(parts)):
            pytest.skip(f"needs {error.name}")
    return getattr(resolve(".".join(parts)), last)


@pytest.mark.parametrize("name", sorted({*NAME.findall(section("Added"))}))
def test_an_added_name_exists(name):
    resolve(name)


@pytest.mark.parametrize("name", sorted({*NAME.findall(new_names())}))
def test_the_new_name_of_something_renamed_exists(name):
    resolve(name)


def test_names_are_found():
    assert len({*NAME.findall(section("Added"))}) > 15
    assert len({*NAME.findall(new_names())}) > 8
