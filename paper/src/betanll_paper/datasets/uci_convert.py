"""The authors' raw files of a UCI set as one table and one file of splits."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from betanll.files import written_atomically
from betanll_paper.datasets.directory import DataError
from betanll_paper.datasets.uci import uci_facts, uci_files


def convert_uci(name: str, raw: Path, folder: Path) -> None:
    """Read the raw files of a set in `raw` and write those of :func:`load_uci`.

    Raw are ``data.txt``, numbers of its columns in ``index_features.txt`` and
    ``index_target.txt``, and numbers of rows in ``index_train_<k>.txt`` and
    ``index_test_<k>.txt``. The authors list several targets from last to first; here
    they stand in the order of the original file.
    """
    facts = uci_facts(name)
    columns = (*facts.inputs, *facts.targets)
    inputs = _integers(raw / "index_features.txt")
    targets = np.sort(_integers(raw / "index_target.txt"))
    values = _numbers(raw / "data.txt")
    if values.shape != (facts.n_rows, len(columns)) or (
        (len(inputs), len(targets)) != (len(facts.inputs), len(facts.targets))
    ):
        raise DataError(f"the raw files in {raw} are not those of {name}")
    values = values[:, [*inputs, *targets]]
    splits: dict[str, Any] = {  # Any: the first keyword of `savez` is no array
        f"{part}_{k}": _integers(raw / f"index_{part}_{k}.txt")
        for k in range(facts.n_splits)
        for part in ("train", "test")
    }
    table_path, splits_path = uci_files(name, folder)
    with written_atomically(splits_path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **splits)
    # Neither time nor name in it: the same numbers give the same bytes.
    with (
        written_atomically(table_path) as temporary,
        temporary.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=0) as compressed,
    ):
        for cells in (columns, *(map(_text, row) for row in values.tolist())):
            compressed.write((",".join(cells) + "\n").encode())


def _text(number: float) -> str:
    """Return the shortest text of a number, 0.00001 and not 1e-05."""
    text = repr(number)
    if "e" in text:
        return np.format_float_positional(number, trim="-")
    return text.removesuffix(".0")


def _numbers(path: Path) -> npt.NDArray[np.float64]:
    """Return the table; single-precision numbers as the decimals they stand for."""
    values = np.loadtxt(path, ndmin=2)
    single = values.astype(np.float32)
    if not np.array_equal(single, values):
        return values
    # The authors rounded some sets: 0.98 became 0.9800000190734863. The shortest text
    # of the rounded number is 0.98 again.
    columns = [column.astype(str).astype(np.float64) for column in single.T]
    return np.column_stack(columns)


def _integers(path: Path) -> npt.NDArray[np.int32]:
    return np.loadtxt(path, dtype=np.int32, ndmin=1)
