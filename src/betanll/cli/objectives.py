"""``betanll objectives``: what can be trained, by name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from betanll import objectives
from betanll.cli.options import plugin_option
from betanll.cli.output import coloured, example
from betanll.objectives import Objective
from betanll.sentences import markdown_table


@click.command(epilog=example("betanll objectives --plugin my_objectives"))
@plugin_option
@click.option("--markdown", is_flag=True, help="Print a table for documentation.")
def command(markdown: bool) -> None:
    """List the objectives of betanll, of installed packages and of plug-ins."""
    rows = list(_rows())
    if markdown:
        head = ["name", "object", "outputs per target", "predicts", "description"]
        cells = [
            [
                f"`{name}`",
                f"`{_object(made)}`",
                f"{made.n_parameters}",
                made.predictive_family,
                _description(made),
            ]
            for name, made in rows
            if isinstance(made, Objective)
        ]
        click.echo(markdown_table(head, cells))
        return
    width = max(len(name) for name, _ in rows) + 2
    for name, made in rows:
        if isinstance(made, Objective):
            click.echo(f"{name:{width}}{_object(made):25}{_description(made)}")
        else:
            click.echo(f"{name:{width}}{coloured('WARNING', 'yellow')}: {made}")


def _rows() -> Iterator[tuple[str, Objective | str]]:
    """Yield names with their objectives, or with what is wrong with a plug-in."""
    for name in objectives.names():
        try:
            yield name, objectives.get(name)
        except (ImportError, ValueError) as error:
            yield name, str(error)


def _object(made: Objective) -> str:
    """Return how Python code makes the objective."""
    cls = type(made)
    is_default = made == cls()
    return f"{cls.__name__}()" if is_default else repr(made)


def _description(made: Objective) -> str:
    return (inspect.getdoc(type(made)) or "").partition("\n")[0]
