"""The commands that the package brings along."""

import importlib
import tomllib
from pathlib import Path

import click

from betanll_paper.commands import COMMANDS


def test_the_paper_declares_its_commands():
    path = Path(__file__).parents[2] / "pyproject.toml"
    points = tomllib.loads(path.read_text())["project"]["entry-points"]
    assert points["betanll.commands"] == {"paper": "betanll_paper.commands:COMMANDS"}
    assert sorted(COMMANDS) == ["bench", "data", "depth", "reproduce"]
    for name, (_, target) in COMMANDS.items():
        module, _, attribute = target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        assert module.endswith(f".{name}")
