"""Options that say how a table is written, for all commands that read one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_NAMES = ("delimiter", "header", "skip_rows", "encoding", "na_values", "sheet")


def reading_options(command: Command) -> Command:
    """Add what says how DATA is written; the command gets it as `reading`."""

    @functools.wraps(command)
    def gathered(*args: Any, **values: Any) -> Any:
        reading = {name: values.pop(name) for name in _NAMES}
        return command(*args, reading=reading, **values)

    for decorate in reversed(
        [
            click.option(
                "--delimiter",
                help="Character that separates the cells of a CSV file."
                "  [default: detected]",
            ),
            click.option(
                "--header/--no-header",
                default=None,
                help="Whether the first line has names.  [default: found out]",
            ),
            click.option(
                "--skip-rows",
                type=click.IntRange(min=0),
                default=0,
                metavar="NUMBER",
                help="Lines before the table to skip.",
            ),
            click.option(
                "--encoding",
                metavar="NAME",
                help="Encoding of a text file, such as cp1252 or utf-16."
                "  [default: detected]",
            ),
            click.option(
                "--na-values",
                multiple=True,
                metavar="CELL",
                help="Cell that counts as missing, such as -99; may be repeated.",
            ),
            click.option(
                "--sheet",
                metavar="NAME",
                help="Sheet of an Excel file.  [default: the first]",
            ),
        ]
    ):
        gathered = decorate(gathered)
    return cast(Command, gathered)
