"""``betanll predict``: a model and a table in, a table with mean and spread out."""

from __future__ import annotations

import contextlib
import gzip
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import click

from betanll.cli.options import (
    MAX_COUNT,
    fraction,
    plugin_option,
    say_note,
)
from betanll.cli.output import check_file, example, naming, print_elapsed

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
    help="CSV file to write, perhaps compressed (.csv.gz).",
)
@click.option(
    "--coverage",
    type=fraction,
    default="0.9",
    show_default=True,
    metavar="NUMBER",
    help="Share of the truth that lies between lower and upper.",
)
@click.option(
    "--delimiter",
    help="Character that separates the cells of a CSV file.  [default: detected]",
)
@click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first line has names.  [default: found out]",
)
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
    delimiter: str | None,
    header: bool | None,
    chunk_rows: int,
) -> None:
    """Predict each row of DATA with MODEL, a folder that ``betanll fit`` wrote.

    Writes the columns named by ``fit --id``, then mean, std, lower and upper of each
    target. Files of any length are read and written piece by piece.
    """
    import numpy as np

    from betanll.files import written_atomically
    from betanll.progress import Progress
    from betanll.tables import TableError, open_table

    if not out.name.endswith((".csv", ".csv.gz")):
        raise click.UsageError(f"--out must end in .csv or .csv.gz, got {out}")
    check_file(out, data)
    table_model = _load(model)
    schema = table_model.schema
    table = open_table(data, delimiter=delimiter, header=header)
    for note in table.index_notes:
        say_note(note)
    table.check_columns(schema.needed)
    formats = _formats(table_model)
    surprises: Counter[tuple[str, str]] = Counter()
    n_rows = 0
    with (
        naming(out),
        written_atomically(out) as temporary,
        _opened(temporary) as file,
        Progress(None, "rows") as progress,
    ):
        for chunk in table.chunks(chunk_rows, text=schema.text_columns):
            try:
                predictions = table_model.predict(chunk, coverage=coverage)
            except TableError as error:
                raise TableError(f"{data}: {error}") from None
            surprises += schema.encoder.surprises(chunk)
            for name, form in formats.items():
                # Faster than the float_format of pandas.
                texts = [form % number for number in predictions[name].tolist()]
                predictions[name] = np.array(texts, object)
            text = predictions.to_csv(header=n_rows == 0, index=False)
            file.write(text.encode())
            n_rows += len(chunk)
            progress.update(len(chunk))
        if n_rows == 0:
            raise TableError(f"{data}: the file has no rows")
    for note in schema.encoder.surprise_notes(surprises):
        say_note(note)
    click.echo(f"{n_rows} rows: {out}")
    print_elapsed()


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


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if path.suffix != ".gz":
            yield file
            return
        # Neither time nor name: the same rows give the same bytes.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as compressed:
            yield cast(IO[bytes], compressed)


def _load(path: Path) -> TableModel:
    """Load a model and print what is odd about it."""
    from betanll.tables import TableModel

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model = TableModel.load(path)
    for warning in caught:
        say_note(str(warning.message), err=True)
    return model
