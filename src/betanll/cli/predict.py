"""``betanll predict``: a model and a table in, a table with mean and spread out."""

from __future__ import annotations

import functools
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from betanll.cli._reading import reading_options
from betanll.cli.options import (
    MAX_COUNT,
    fraction,
    plugin_option,
    say_note,
)
from betanll.cli.output import example, load_table_model, print_elapsed

if TYPE_CHECKING:
    from betanll.tables import TableModel


@click.command(
    epilog=example("betanll predict betanll-fit new-houses.csv --out predictions.csv")
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("predictions.csv"),
    show_default=True,
    help="File to write: .csv, .csv.gz or .parquet; - is the standard output.",
)
@click.option(
    "--coverage",
    type=fraction,
    default="0.9",
    show_default=True,
    metavar="NUMBER",
    help="Share of the truth that lies between lower and upper.",
)
@reading_options
@click.option(
    "--chunk-rows",
    type=click.IntRange(1, MAX_COUNT),
    default=100_000,
    show_default=True,
    help="Rows in memory at a time.",
)
@plugin_option
def command(
    model: Path,
    data: Path,
    out: Path,
    coverage: float,
    reading: dict[str, Any],
    chunk_rows: int,
) -> None:
    """Predict each row of DATA with MODEL, a folder that ``betanll fit`` wrote.

    Writes the columns named by ``fit --id``, then mean, std, lower and upper of each
    target. Files of any length are read and written piece by piece. DATA may be - for
    the standard input.
    """
    from betanll.cli._prediction_files import STDOUT, check_out, opened_predictions
    from betanll.columns import as_markers, mark_missing
    from betanll.progress import Progress
    from betanll.tables import TableError, open_table

    check_out(out, data)
    is_stdout = str(out) == STDOUT
    say = functools.partial(say_note, err=is_stdout)
    table_model = load_table_model(model)
    schema = table_model.schema
    missing = as_markers([*schema.encoder.missing, *reading["na_values"]])
    table = open_table(data, **{**reading, "na_values": missing})
    for note in table.notes:
        say(note)
    table.check_columns(schema.needed)
    markers = {name: missing for name in table.columns if name not in schema.ids}
    surprises: Counter[tuple[str, str]] = Counter()
    n_rows = 0
    with (
        opened_predictions(out, _formats(table_model)) as write,
        Progress(None, "rows") as progress,
    ):
        for chunk in table.chunks(chunk_rows, text=schema.text_columns):
            chunk = mark_missing(chunk, markers)
            try:
                predictions = table_model.predict(chunk, coverage=coverage)
            except TableError as error:
                raise TableError(f"{table.path}: {error}") from None
            surprises += schema.encoder.surprises(chunk)
            write(predictions)
            n_rows += len(chunk)
            progress.update(len(chunk))
        if n_rows == 0:
            raise TableError(f"{table.path}: the file has no rows")
    for note in schema.encoder.surprise_notes(surprises):
        say(note)
    name = "standard output" if is_stdout else out
    click.echo(f"{n_rows} rows: {name}", err=is_stdout)
    print_elapsed(err=is_stdout)


def _formats(model: TableModel) -> dict[str, str]:
    """Return how numbers are written: ten digits of the spread, wherever zero is."""
    targets = model.regressor.targets_
    formats = {}
    for i, name in enumerate(model.schema.targets):
        offset = abs(targets.mean[i]) / targets.scale[i]
        n_digits = 10 + min(7, max(0, math.ceil(math.log10(max(offset, 1)))))
        for part in ("mean", "std", "lower", "upper"):
            formats[f"{name}_{part}"] = f"%.{n_digits}g"
    return formats
