"""What the two distributions contain."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def project(folder):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))


def test_the_sdist_has_all_that_the_tests_read():
    targets = project(".")["tool"]["hatch"]["build"]["targets"]
    included = set(targets["sdist"]["include"])
    assert {"/src", "/tests", "/benchmarks", "/paper", "/results"} <= included
    pages = {f"/{path.name}" for path in ROOT.glob("*.md")} - {"/README.md"}
    assert pages <= included
    assert all((ROOT / name.lstrip("/")).exists() for name in included)


def test_both_wheels_have_the_licence():
    for folder in (".", "paper"):
        assert project(folder)["project"]["license-files"] == ["LICENSE"]
    licence = (ROOT / "LICENSE").read_bytes()
    assert (ROOT / "paper" / "LICENSE").read_bytes() == licence
