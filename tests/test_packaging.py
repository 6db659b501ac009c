"""What the two distributions contain."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def project(folder):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))


def test_the_sdist_has_all_that_the_tests_read():
    included = set(
        project(".")["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    )
    # Whether hidden, made by a build or written by hatchling in any case.
    left_out = {"LICENSE", "README.md", "pyproject.toml", "build", "dist"}
    present = {
        f"/{path.name}"
        for path in ROOT.iterdir()
        if not path.name.startswith((".", "betanll-")) and path.name not in left_out
    }
    assert {"/src", "/tests", "/benchmarks", "/paper", "/results"} <= included
    assert {name for name in present if name.endswith(".md")} <= included
    assert all((ROOT / name.lstrip("/")).exists() for name in included)


def test_both_wheels_have_the_licence():
    for folder in (".", "paper"):
        assert project(folder)["project"]["license-files"] == ["LICENSE"]
    licence = (ROOT / "LICENSE").read_bytes()
    assert (ROOT / "paper" / "LICENSE").read_bytes() == licence
