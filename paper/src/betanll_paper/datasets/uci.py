"""The tabular sets of the paper with their published splits."""

from __future__ import annotations

import csv
import gzip
import os
import zipfile
import zlib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from betanll.typing import Rows
from betanll_paper.datasets.directory import DataError, data_directory, unknown_set

Splits = tuple[tuple[Rows, Rows], ...]


class UCIFacts(NamedTuple):
    """What is known of a set before its files are there."""

    #: Folder in the authors' repository.
    folder: str
    n_rows: int
    #: Names of the columns, in the order of the original file.
    inputs: tuple[str, ...]
    targets: tuple[str, ...]
    n_splits: int


def rows_of(table: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file beside this module."""
    path = resources.files("betanll_paper.datasets") / table
    return list(csv.DictReader(path.read_text("ascii").splitlines()))


UCI_FACTS = {
    row["set"]: UCIFacts(
        row["folder"],
        int(row["rows"]),
        tuple(f"x_{name}" for name in row["inputs"].split()),
        tuple(f"y_{name}" for name in row["targets"].split()),
        int(row["splits"]),
    )
    for row in rows_of("uci_facts.csv")
}

#: Names of the sets, as in the paper.
UCI_NAMES = tuple(UCI_FACTS)


@dataclass(frozen=True, eq=False)
class UCITable:
    """A data set of the paper, not scaled and in the order of the original file.

    Parameters
    ----------
    name : str
        One of ``UCI_NAMES``.
    x : array of shape (n_rows, n_inputs)
    y : array of shape (n_rows, n_targets)
    input_names, target_names : tuple of str
        Columns of the file; inputs start with ``x_``, targets with ``y_``.
    splits : tuple of (training rows, test rows)
        All published splits.
    """

    name: str
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    input_names: tuple[str, ...]
    target_names: tuple[str, ...]
    splits: Splits = field(repr=False)

    @property
    def n_splits(self) -> int:
        """Number of published splits: 20, protein 5."""
        return len(self.splits)

    def split(self, k: int) -> tuple[Rows, Rows]:
        """Return numbers of the training rows and of the test rows of split `k`.

        They stand in published order: the authors train on the first 80% of the
        training rows and validate on the last 20%.
        """
        if not 0 <= k < self.n_splits:
            raise DataError(
                f"{self.name} has the splits 0 to {self.n_splits - 1}, got {k}"
            )
        return self.splits[k]


def uci_files(name: str, folder: Path) -> tuple[Path, Path]:
    """Return the paths of the table and of the splits of a set."""
    uci = folder / "uci"
    return uci / f"{name}.csv.gz", uci / f"{name}.splits.npz"


def uci_facts(name: str) -> UCIFacts:
    """Return the facts of a set, or say which sets there are."""
    if name not in UCI_FACTS:
        raise unknown_set("UCI set", name, UCI_NAMES)
    return UCI_FACTS[name]


def load_uci(name: str, data_dir: str | os.PathLike[str] | None = None) -> UCITable:
    """Load one of the twelve tabular sets of the paper.

    The files come from ``betanll data download``; nothing is downloaded here.

    Parameters
    ----------
    name : str
        One of ``UCI_NAMES``.
    data_dir : path, optional
        Folder of the data, see :func:`data_directory`.

    Returns
    -------
    UCITable

    Raises
    ------
    DataError
        Where the set is unknown, missing or damaged.

    Examples
    --------
    >>> energy = load_uci("energy")  # doctest: +SKIP
    >>> energy.x.shape, energy.y.shape, energy.n_splits  # doctest: +SKIP
    ((768, 8), (768, 2), 20)
    >>> train, test = energy.split(0)  # doctest: +SKIP
    """
    facts = uci_facts(name)
    table, splits = uci_files(name, data_directory(data_dir))
    for path in (table, splits):
        if not path.is_file():
            raise DataError(
                f"{path} is missing; 'betanll data download uci' fetches the UCI sets "
                f"and $BETANLL_DATA names the folder of the data"
            )
    values = _read_table(table, facts)
    n_inputs = len(facts.inputs)
    return UCITable(
        name,
        np.ascontiguousarray(values[:, :n_inputs]),
        np.ascontiguousarray(values[:, n_inputs:]),
        facts.inputs,
        facts.targets,
        _read_splits(splits, facts),
    )


def _read_table(path: Path, facts: UCIFacts) -> npt.NDArray[np.float64]:
    columns = (*facts.inputs, *facts.targets)
    try:
        header, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        if header != ",".join(columns):
            raise ValueError("its columns are not those of the set")
        if len(lines) != facts.n_rows:
            raise ValueError(f"it has {len(lines)} rows instead of {facts.n_rows}")
        # Not by pandas, some versions of which get the last digit wrong.
        values = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
        if values.shape[1] != len(columns) or not np.isfinite(values).all():
            raise ValueError("some of its cells are no finite numbers")
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise _damaged(path, _reason(error)) from None
    return values


def _read_splits(path: Path, facts: UCIFacts) -> Splits:
    names = [(f"train_{k}", f"test_{k}") for k in range(facts.n_splits)]
    try:
        # numpy itself leaves a broken file open.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            splits = [(file[train], file[test]) for train, test in names]
    except KeyError as error:
        raise _damaged(path, f"a split is missing: {_reason(error)}") from None
    except (ValueError, EOFError, OSError, zlib.error, zipfile.BadZipFile) as error:
        raise _damaged(path, _reason(error)) from None
    for k, parts in enumerate(splits):
        if not _is_partition(parts, facts.n_rows):
            raise _damaged(
                path, f"split {k} does not share out the {facts.n_rows} rows"
            )
    return tuple(
        (train.astype(np.intp), test.astype(np.intp)) for train, test in splits
    )


def _is_partition(parts: tuple[npt.NDArray[np.int32], ...], n_rows: int) -> bool:
    """Whether the parts hold each of the rows 0, 1, ... once, and none is empty."""
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in parts):
        return False
    if not all(map(len, parts)):
        return False
    return np.array_equal(np.sort(np.concatenate(parts)), np.arange(n_rows))


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} is damaged ({reason}); delete it and run 'betanll data download uci'"
    )


def _reason(error: Exception) -> str:
    first_line = str(error).strip().partition("\n")[0]
    return first_line or type(error).__name__
