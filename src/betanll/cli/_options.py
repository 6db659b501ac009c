"""Options and steps that the commands for tables share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from betanll.tables import TableSchema

Beta = TypeVar("Beta")
Command = TypeVar("Command", bound=Callable[..., Any])

#: Training, validation and held-out part need so many rows.
MIN_ROWS = 10

# Spelt out, because --help must not import JAX; a test compares it with the library.
OBJECTIVES = (
    "mse",
    "nll",
    "beta-nll",
    "mm",
    "student-t",
    "xvamp",
    "xvamp-star",
    "vbem",
    "vbem-star",
    "fixed-variance",
    "faithful",
    "natural",
    "crps",
)


PRESETS = ("fast", "default", "best", "paper")
#: As the preset has it.
AUTO = "auto"


def beta_or_auto(text: str) -> float | str:
    """Read a number of at least 0, or "auto"."""
    if text == "auto":
        return text
    try:
        beta = float(text)
    except ValueError:
        raise click.BadParameter(f'{text!r} is neither a number nor "auto".') from None
    if not 0 <= beta < float("inf"):
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
    if not 0 <= value < math.inf:
        raise click.BadParameter(f"{text} is not a finite number of at least 0.")
    return value


def fraction(text: str) -> float:
    """Read a number between 0 and 1."""
    value = number(text)
    if not 0 < value < 1:
        raise click.BadParameter(f"{text} does not lie between 0 and 1.")
    return value


def objective_and_beta(
    text: str, read_beta: Callable[[str], Beta], known: Sequence[str] = OBJECTIVES
) -> tuple[str, Beta | None]:
    """Read the name of an objective; beta may follow beta-nll after a colon."""
    name, colon, beta = text.partition(":")
    if name not in known:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(known)}.")
    if not colon:
        return name, None
    if name != "beta-nll":
        raise click.BadParameter(f"{name} has no beta.")
    return name, read_beta(beta)


def integer_or_auto(text: str) -> int | str:
    """Read a positive whole number, or "auto"."""
    if text == AUTO:
        return text
    if not text.isdecimal() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is not a whole number of at least 1.")
    return int(text)


def preset_option(default: str) -> Callable[[Command], Command]:
    """Add what says how much work training is."""
    return click.option(
        "--preset",
        type=click.Choice(PRESETS),
        default=default,
        show_default=True,
        help="How much work: one network, an ensemble, a larger one; or as the paper.",
    )


def layer_sizes(text: str) -> tuple[int, ...] | str:
    """Read positive whole numbers with commas between them, or "auto"."""
    if text == AUTO:
        return text
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = (0,)
    if min(sizes) < 1:
        raise click.BadParameter(f"{text!r} is not like 50 or 128,128.")
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
    type=click.IntRange(min=1),
    help="Trainings at a time.  [default: one for each core]",
)


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
                "--id",
                "ids",
                multiple=True,
                metavar="COLUMN",
                help="Column to hand on to the predictions; may be repeated.",
            ),
            click.option(
                "--delimiter", help="Between cells of a CSV file.  [default: found out]"
            ),
            click.option(
                "--header/--no-header",
                default=None,
                help="Whether the first line has names.  [default: found out]",
            ),
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
                type=layer_sizes,
                default=AUTO,
                metavar="SIZES",
                help="Units of the hidden layers, such as 128,128."
                "  [default: by the preset]",
            ),
            click.option(
                "--members",
                type=integer_or_auto,
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


def read_table(
    data: Path, delimiter: str | None, header: bool | None, ids: Sequence[str]
) -> pd.DataFrame:
    """Read a whole table, and say which columns have no name."""
    from betanll.tables import open_table

    table = open_table(data, delimiter=delimiter, header=header)
    for name in table.nameless:
        click.echo(
            f"Note: the first column has no name and is called {name}; if it only "
            f"counts the rows, leave it out with --drop {name}."
        )
    return table.read(text=[name for name in ids if name in table.columns])


def training_rows(
    data: Path,
    frame: pd.DataFrame,
    targets: Sequence[str],
    drop: Sequence[str],
    ids: Sequence[str],
) -> tuple[pd.DataFrame, TableSchema, npt.NDArray[np.float64]]:
    """Return the rows that have a target, their schema and the targets.

    Everything that makes a table useless for training is refused here, before work.
    """
    import numpy as np

    from betanll.tables import TableError, TableSchema

    try:
        schema = TableSchema.infer(frame, targets=targets, drop=drop, ids=ids)
        y = schema.target_values(frame)
    except TableError as error:
        raise TableError(f"{data}: {error}") from None
    has_target = np.flatnonzero(~np.isnan(y).all(axis=1))
    n_without = len(frame) - len(has_target)
    if n_without:
        click.echo(f"Note: {_rows(n_without)} without any target left out.")
        frame, y = frame.iloc[has_target], y[has_target]
    if len(frame) < MIN_ROWS:
        raise TableError(
            f"{data} has {_rows(len(frame))} with a target; at least {MIN_ROWS} are "
            "needed"
        )
    for name, column in zip(schema.targets, y.T, strict=True):
        if np.nanmin(column) == np.nanmax(column):
            raise TableError(
                f"{data}: target {name!r} is always {column[~np.isnan(column)][0]:g}: "
                "there is nothing to predict"
            )
    n_missing = int(np.isnan(y).sum())
    if n_missing:
        click.echo(f"Note: {n_missing} missing targets do not count in training.")
    for name in schema.constant_features:
        click.echo(f"Note: column {name!r} is constant and says nothing.")
    return frame, schema, y


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"
