"""Where ``betanll predict`` writes: CSV or Parquet, a file or the standard output."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click
import numpy as np

from betanll.cli.output import check_file, naming
from betanll.files import written_atomically

if TYPE_CHECKING:
    import pandas as pd

    Write = Callable[[pd.DataFrame], None]

#: Stands for the standard output.
STDOUT = "-"
_SUFFIXES = (".csv", ".csv.gz", ".parquet")


def check_out(out: Path, data: Path) -> None:
    """Refuse what cannot be written, before any work."""
    if str(out) == STDOUT:
        return
    if not out.name.endswith(_SUFFIXES):
        raise click.UsageError(
            f"--out must end in .csv, .csv.gz or .parquet, or be -, got {out}"
        )
    if out.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise click.UsageError(
                "Parquet files need pyarrow: install betanll[parquet]"
            ) from None
    check_file(out, data)


@contextlib.contextmanager
def opened_predictions(out: Path, formats: Mapping[str, str]) -> Iterator[Write]:
    """Yield a function that writes a piece of the predictions.

    The file, or the text on the standard output, appears as a whole at the end.
    """
    if str(out) == STDOUT:
        with tempfile.TemporaryFile() as file:
            yield _csv_writer(file, formats)
            file.seek(0)
            _copy_to_stdout(file)
        return
    with (
        naming(out),
        written_atomically(out) as temporary,
        temporary.open("wb") as file,
    ):
        if out.suffix == ".parquet":
            with _parquet_writer(file) as write:
                yield write
        elif out.suffix == ".gz":
            # Neither time nor name: the same rows give the same bytes.
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as compressed:
                yield _csv_writer(cast(IO[bytes], compressed), formats)
        else:
            yield _csv_writer(file, formats)


def _csv_writer(file: IO[bytes], formats: Mapping[str, str]) -> Write:
    is_first = True

    def write(predictions: pd.DataFrame) -> None:
        nonlocal is_first
        for name, form in formats.items():
            # Faster than the float_format of pandas.
            texts = [form % number for number in predictions[name].tolist()]
            predictions[name] = np.array(texts, object)
        file.write(predictions.to_csv(header=is_first, index=False).encode())
        is_first = False

    return write


@contextlib.contextmanager
def _parquet_writer(file: IO[bytes]) -> Iterator[Write]:
    import pandas as pd
    import pyarrow
    import pyarrow.parquet

    writer: Any = None

    def write(predictions: pd.DataFrame) -> None:
        nonlocal writer
        arrays = {}
        for name, cells in predictions.items():
            values: Any = cells
            # Types of other ids may differ between pieces.
            if not pd.api.types.is_numeric_dtype(cells.dtype):
                pairs = zip(cells, cells.isna(), strict=True)
                values = [None if is_na else str(cell) for cell, is_na in pairs]
            wanted = None if writer is None else writer.schema.field(name).type
            try:
                arrays[name] = pyarrow.array(values, wanted, from_pandas=True)
            except pyarrow.ArrowInvalid:
                raise ValueError(
                    f"the ids {name!r} change from {wanted} to other values: write a "
                    ".csv file"
                ) from None
        table = pyarrow.table(arrays)
        if writer is None:
            writer = pyarrow.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _copy_to_stdout(file: IO[bytes]) -> None:
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:  # replaced by one of texts
        sys.stdout.write(file.read().decode())
        return
    try:
        sys.stdout.flush()
        shutil.copyfileobj(file, stream)
        stream.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough. Nothing may be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
