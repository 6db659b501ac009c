"""Which commands there are: the library's own, and those of installed packages."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

import click

from betanll import plugins
from betanll.sentences import shortened

#: Help lines of the library's commands, whose modules are imported only when they run.
_OWN = {
    "compare": "Objectives side by side on your data, cross-validated.",
    "demo": "The pitfall and the cure, and a fit, with a report to open.",
    "diagnose": "Does NLL starve points of your data? Which beta helps?",
    "explain": "Which columns matter, odd rows, and why an interval is wide.",
    "fit": "Learn mean and spread from a table; writes a model and a report.",
    "objectives": "List what can be trained: names, classes, descriptions.",
    "predict": "Mean, std and interval for each row of a table.",
}
#: Commands that another package brings along.
_OF_THE_PAPER = ("bench", "data", "depth", "reproduce")
#: Sections of the overview; commands of other packages come last.
_SECTIONS = {
    "Your data": ("fit", "predict", "explain", "compare", "diagnose"),
    "Learn": ("demo",),
    "Tools": ("objectives",),
    "The paper": _OF_THE_PAPER,
}
#: Entry points of dictionaries of commands: name -> (help line, "module:command").
GROUP = "betanll.commands"


class CommandGroup(click.Group):
    """Commands by name; packages add commands by entry points of a group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._help_lines())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in _OWN:
            command = importlib.import_module(f"betanll.cli.{name}").command
            assert isinstance(command, click.Command)
            return command
        added, complaints = _added()
        if name in added:
            return _load(name, added[name][1])
        if complaints:
            raise click.ClickException("; ".join(complaints))
        if name in _OF_THE_PAPER:
            raise click.ClickException(
                f"{name} is part of the package betanll-paper, in the folder paper of "
                "the repository: pip install ./paper"
            )
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Look a command up; for a name that is none, propose one that is."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = (*_OWN, *_OF_THE_PAPER, *_added()[0])
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        lines = self._help_lines()
        width = max(map(len, lines))
        for title, names in _sections(lines).items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", lines[name]) for name in names])

    def _help_lines(self) -> dict[str, str]:
        added, complaints = _added()
        for complaint in complaints:
            click.echo(f"betanll: {complaint}", err=True)
        return {name: line for name, (line, _) in added.items()} | _OWN


def _sections(lines: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of commands by the title of their section, none empty."""
    known = {name for names in _SECTIONS.values() for name in names}
    sections = {
        **{
            title: [name for name in names if name in lines]
            for title, names in _SECTIONS.items()
        },
        "Other packages": sorted(set(lines) - known),
    }
    return {title: names for title, names in sections.items() if names}


def _added() -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return the commands of installed packages, and complaints about others."""
    found, complaints = plugins.load(GROUP)
    added: dict[str, tuple[str, str]] = {}
    for point, commands in found.items():
        if not _is_valid(commands):
            complaints.append(
                f"the plug-in {point!r} is not a dictionary of commands, name -> (help "
                f"line, 'module:command'): {shortened(repr(commands))}"
            )
            continue
        for name, command in commands.items():
            if name in _OWN or name in added:
                complaints.append(
                    f"the command {name!r} of the plug-in {point!r} is ignored: there "
                    "is another one of this name"
                )
            else:
                added[name] = command
    return added, complaints


def _is_valid(commands: Any) -> bool:
    return isinstance(commands, dict) and all(
        isinstance(name, str)
        and isinstance(command, tuple)
        and len(command) == 2
        and all(isinstance(text, str) for text in command)
        for name, command in commands.items()
    )


def _load(name: str, path: str) -> click.Command:
    """Import a command of another package; a fault of it is one sentence."""
    module, _, attribute = path.partition(":")
    try:
        command = getattr(importlib.import_module(module), attribute)
    except plugins.FAULTS as error:
        raise click.ClickException(
            f"the command {name} cannot be loaded from {path!r}: "
            f"{plugins.reason_of(error)}; update or uninstall the package that brings "
            "it along"
        ) from error
    if not isinstance(command, click.Command):
        raise click.ClickException(
            f"the command {name} cannot be used: {path!r} is not a command of click"
        )
    return command
