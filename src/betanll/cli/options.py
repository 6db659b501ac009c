"""Options and steps that the commands for tables share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from betanll import objectives
from betanll._exponents import is_exponent, unusual_exponent
from betanll._limits import MAX_LAYERS, MAX_MEMBERS, MAX_UNITS
from betanll.plugins import import_plugin
from betanll.sentences import shortened

if TYPE_CHECKING:
    from betanll.tables import TrainingTable

Beta = TypeVar("Beta")
Command = TypeVar("Command", bound=Callable[..., Any])

#: Rows, updates and whatever else is counted in 32 bits.
MAX_COUNT = 2**31 - 1
PRESETS = ("fast", "default", "best", "paper")
#: As the preset has it.
AUTO = "auto"
_MAX_DIGITS = 18


def beta_or_auto(text: str) -> float | str:
    """Read a number of at least 0, or "auto"."""
    if text == "auto":
        return text
    try:
        beta = float(text)
    except ValueError:
        raise click.BadParameter(f'{text!r} is neither a number nor "auto".') from None
    if not is_exponent(beta):
        raise click.BadParameter(f"{text} is not a finite number of at least 0.")
    return beta


def number(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number.") from None


def exponent(text: str) -> float:
    """Read a beta."""
    value = number(text)
    if not is_exponent(value):
        raise click.BadParameter(f"{text} is not a finite number of at least 0.")
    return value


def say_note(sentence: str, *, err: bool = False) -> None:
    """Print a note on one line, short and printable whatever a file contains."""
    click.echo(shortened(f"Note: {sentence}"), err=err)


def note_unusual_beta(beta: float | str | None) -> None:
    """Print a note about a beta above 1."""
    if isinstance(beta, float) and (note := unusual_exponent(beta)):
        say_note(note)


def fraction(text: str) -> float:
    """Read a number between 0 and 1."""
    value = number(text)
    if not 0 < value < 1:
        raise click.BadParameter(f"{text} does not lie between 0 and 1.")
    return value


def objective_spec(text: str) -> str:
    """Check the name of an objective, perhaps with a number as in beta-nll:0.25."""
    try:
        objectives.get(text)
    except objectives.UnknownObjectiveError:
        name, known = text.partition(":")[0], ", ".join(objectives.names())
        raise click.BadParameter(
            f"{name!r} is not one of {known}; name the module of a custom objective "
            "with --plugin."
        ) from None
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from None
    return text


def objective_and_beta(
    text: str, read_beta: Callable[[str], Beta], known: Sequence[str] | None = None
) -> tuple[str, Beta | None]:
    """Read an objective, registered or one of `known`, and the beta of beta-nll."""
    name, colon, beta = text.partition(":")
    if known is not None and name not in known:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(known)}.")
    if colon and name == "beta-nll":
        return name, read_beta(beta)
    if known is None:
        return objective_spec(text), None
    if colon:
        raise click.BadParameter(f"{name} has no beta.")
    return name, None


def import_plugins(modules: Sequence[str]) -> None:
    """Import modules of packages or of the current folder."""
    # The script `betanll` does not see modules in the folder where it is called. Last,
    # so that no module of a package is hidden.
    if modules and not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())
    for module in modules:
        import_plugin(module)


#: Imports modules before the other options are read, which may name their objectives.
plugin_option = click.option(
    "--plugin",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, parameter, modules: import_plugins(modules),
    metavar="MODULE",
    help="Python module that registers objectives; may be repeated.",
)


def integer_or_auto(text: str) -> int | str:
    """Read a positive whole number, or "auto"."""
    if text == AUTO:
        return text
    if text.isdecimal() and len(text) > _MAX_DIGITS:
        raise click.BadParameter(f"{text[:_MAX_DIGITS]}... is too large.")
    if not text.isdecimal() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is not a whole number of at least 1.")
    if int(text) > MAX_COUNT:
        raise click.BadParameter(f"{text} is more than {MAX_COUNT}.")
    return int(text)


def members_or_auto(text: str) -> int | str:
    """Read the size of an ensemble, or "auto"."""
    members = integer_or_auto(text)
    if isinstance(members, int) and members > MAX_MEMBERS:
        raise click.BadParameter(f"{text} is more than {MAX_MEMBERS}.")
    return members


def preset_option(default: str) -> Callable[[Command], Command]:
    """Add what says how much work training is."""
    return click.option(
        "--preset",
        type=click.Choice(PRESETS),
        default=default,
        show_default=True,
        help="How much work: one network, an ensemble, a larger one; or as the paper.",
    )


def layer_sizes_or_auto(text: str) -> tuple[int, ...] | str:
    """Read positive whole numbers with commas between them, or "auto"."""
    return text if text == AUTO else layer_sizes(text)


def layer_sizes(text: str) -> tuple[int, ...]:
    """Read positive whole numbers with commas between them."""
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = (0,)
    if min(sizes) < 1:
        raise click.BadParameter(f"{text!r} is not like 50 or 128,128.")
    if len(sizes) > MAX_LAYERS:
        raise click.BadParameter(f"{len(sizes)} layers are more than {MAX_LAYERS}.")
    if max(sizes) > MAX_UNITS:
        raise click.BadParameter(
            f"{text!r} has more than {MAX_UNITS} units in a layer."
        )
    return sizes


seed_option = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Same seed, same result.",
)
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(1, MAX_COUNT),
    help="Trainings at a time.  [default: one for each core]",
)


def column_kind(text: str) -> tuple[str, str]:
    """Read a column and how to read it."""
    name, equals, kind = text.rpartition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r} is not like zip=category.")
    return name, kind


def table_options(command: Command) -> Command:
    """Add what says which columns of which file are meant."""
    for decorate in reversed(
        [
            click.argument("data", type=click.Path(path_type=Path)),
            click.option(
                "--target",
                "targets",
                multiple=True,
                required=True,
                metavar="COLUMN",
                help="Column to predict; may be repeated.",
            ),
            click.option(
                "--drop",
                multiple=True,
                metavar="COLUMN",
                help="Column to leave out; may be repeated.",
            ),
            click.option(
                "--as",
                "kinds",
                multiple=True,
                type=column_kind,
                metavar="COLUMN=KIND",
                help="How to read a column: number, category, date, date:%d/%m/%Y, "
                "boolean or ignored; may be repeated.",
            ),
            click.option(
                "--id",
                "ids",
                multiple=True,
                metavar="COLUMN",
                help="Column to hand on to the predictions; may be repeated.",
            ),
            click.option(
                "--time",
                metavar="COLUMN",
                help="Column of dates or numbers: hold out the latest rows.",
            ),
            click.option(
                "--group",
                metavar="COLUMN",
                help="Column of labels, such as patients: hold out whole groups.",
            ),
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
            plugin_option,
        ]
    ):
        command = decorate(command)
    return command


def training_options(command: Command) -> Command:
    """Add what says how networks are trained."""
    for decorate in reversed(
        [
            click.option(
                "--hidden",
                type=layer_sizes_or_auto,
                default=AUTO,
                metavar="SIZES",
                help="Units of the hidden layers, such as 128,128."
                "  [default: by the preset]",
            ),
            click.option(
                "--members",
                type=members_or_auto,
                default=AUTO,
                metavar="NUMBER",
                help="Networks of the ensemble.  [default: by the preset]",
            ),
            click.option(
                "--max-updates",
                type=integer_or_auto,
                default=AUTO,
                metavar="NUMBER",
                help="Budget of one training.  [default: by the preset]",
            ),
            seed_option,
            jobs_option,
        ]
    ):
        command = decorate(command)
    return command


def read_training_table(
    data: Path,
    delimiter: str | None,
    header: bool | None,
    targets: Sequence[str],
    drop: Sequence[str],
    ids: Sequence[str],
    kinds: Sequence[tuple[str, str]],
    time: str | None,
    group: str | None,
) -> TrainingTable:
    """Read a table to train on, and print what was noticed about its columns."""
    from betanll.tables import TrainingTable

    table = TrainingTable.read(
        data,
        targets,
        drop=drop,
        ids=ids,
        kinds=dict(kinds),
        delimiter=delimiter,
        header=header,
        time=time,
        group=group,
    )
    for note in (*table.notes, *table.column_notes):
        say_note(note)
    return table
