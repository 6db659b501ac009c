"""The UCI sets from the repository of the paper's authors."""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from betanll.files import written_atomically
from betanll_paper.datasets.directory import DataError, data_directory
from betanll_paper.datasets.download import (
    TIMEOUT,
    RemoteFile,
    download_files,
    raw_folder,
)
from betanll_paper.datasets.uci import UCITable, load_uci, rows_of, uci_facts, uci_files

#: The state of github.com/martius-lab/beta-nll that is downloaded.
COMMIT = "669c9f251eb41464c1ec8b43751c7c742dd75cf9"
BASE_URL = f"https://raw.githubusercontent.com/martius-lab/beta-nll/{COMMIT}"

#: The longest are written as "%.18e", with a sign and two characters to end a line.
_BYTES_PER_NUMBER = 32


def uci_sources(name: str) -> dict[str, str]:
    """Return the paths of the raw files of a set and their checksums.

    These are of the kind ``"sha256:..."``, or ``"blob:..."`` for the two files of which
    only the git blob id is known.

    Examples
    --------
    >>> len(uci_sources("energy"))
    44
    """
    return {
        row["path"]: row["checksum"]
        for row in rows_of("uci_sources.csv")
        if str(PurePosixPath(row["path"]).parent) == _folder(name)
    }


def max_bytes(name: str, source: str) -> int:
    """Return a bound on the size of a raw file, from the numbers it contains.

    Examples
    --------
    >>> max_bytes("energy", "data.txt"), max_bytes("energy", "index_test_0.txt")
    (245760, 24576)
    """
    facts = uci_facts(name)
    n_columns = len(facts.inputs) + len(facts.targets)
    is_data = PurePosixPath(source).name == "data.txt"
    return _BYTES_PER_NUMBER * facts.n_rows * (n_columns if is_data else 1)


def blob_id(path: Path) -> str:
    """Return the name git gives to the content of a file.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "empty"
    >>> path.touch()
    >>> blob_id(path)
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 16):
            digest.update(block)
    return digest.hexdigest()


def download_uci(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    base_url: str = BASE_URL,
    timeout: float = TIMEOUT,
    progress: Callable[[int, int], None] | None = None,
) -> UCITable:
    """Download a set unless it is there, and load it.

    The raw files are compared with the checksums of those in the authors' repository.
    After a failure or an interruption another call downloads only what is missing.

    Parameters
    ----------
    name : str
        One of ``UCI_NAMES``.
    data_dir : path, optional
        Folder of the data, see :func:`data_directory`.
    base_url : str, optional
        Address of a mirror of the authors' repository.
    timeout : float, default=30
        Seconds for which the server may be silent before the next attempt.
    progress : callable, optional
        Called with a number of files that are complete and of bytes that have arrived
        since the last call, one of them zero.

    Returns
    -------
    UCITable

    Notes
    -----
    The authors rounded carbon, energy, naval, superconductivity and wine-white to
    single precision. Their decimals are restored where seven digits suffice, which is
    everywhere but in naval and superconductivity.

    Examples
    --------
    >>> energy = download_uci("energy")  # doctest: +SKIP
    """
    folder = data_directory(data_dir)
    with contextlib.suppress(DataError):
        return load_uci(name, folder)
    with raw_folder(folder, name) as raw:
        files = [_remote_file(name, raw, *item) for item in uci_sources(name).items()]
        download_files(
            f"{base_url.rstrip('/')}/{_folder(name)}",
            raw,
            files,
            timeout=timeout,
            progress=progress,
        )
        convert_uci(name, raw, folder)
        return load_uci(name, folder)


def _remote_file(name: str, raw: Path, source: str, checksum: str) -> RemoteFile:
    file = PurePosixPath(source).name
    kind, _, digest = checksum.partition(":")
    if kind == "sha256":
        return RemoteFile(file, raw / file, max_bytes(name, source), checksum)
    is_right = functools.partial(_is_blob, digest)
    return RemoteFile(file, raw / file, max_bytes(name, source), None, is_right)


def _is_blob(digest: str, path: Path) -> bool:
    return blob_id(path) == digest


def _folder(name: str) -> str:
    """Return the folder of a set in the authors' repository."""
    return f"data/UCI_Datasets/{uci_facts(name).folder}/data"


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
