"""The UCI sets from the repository of the paper's authors."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from importlib import resources
from pathlib import Path, PurePosixPath

from betanll._files import check_writable
from betanll.datasets._directory import DataError, data_directory
from betanll.datasets._fetch import fetch
from betanll.datasets._uci import UCITable, load_uci, uci_facts
from betanll.datasets._uci_convert import convert_uci

#: The state of github.com/martius-lab/beta-nll that is downloaded.
COMMIT = "669c9f251eb41464c1ec8b43751c7c742dd75cf9"
BASE_URL = f"https://raw.githubusercontent.com/martius-lab/beta-nll/{COMMIT}"
TIMEOUT = 30.0
# Most of a set are forty small files, for each of which the server takes its time.
_N_CONNECTIONS = 8


def uci_sources(name: str) -> dict[str, str]:
    """Return the paths of the raw files of a set and their git blob ids.

    Examples
    --------
    >>> len(uci_sources("energy"))
    44
    """
    folder = f"data/UCI_Datasets/{uci_facts(name).folder}/data"
    text = (resources.files("betanll.datasets") / "uci_sources.csv").read_text("ascii")
    return {
        row["path"]: row["git_blob_sha1"]
        for row in csv.DictReader(text.splitlines())
        if str(PurePosixPath(row["path"]).parent) == folder
    }


def download_uci(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    base_url: str = BASE_URL,
    timeout: float = TIMEOUT,
    progress: Callable[[int, int], None] | None = None,
) -> UCITable:
    """Download a set unless it is there, and load it.

    The raw files are compared with the git blob ids of the authors' repository. After
    a failure or an interruption another call goes on where this one stopped.

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
    if not base_url.startswith(("http://", "https://")):
        raise DataError(f"the address of a mirror starts with http, got {base_url!r}")
    sources = uci_sources(name)
    raw = folder / "raw" / name
    check_writable(raw)
    _fetch_all(sources, raw, base_url.rstrip("/"), timeout, progress)
    convert_uci(name, raw, folder)
    table = load_uci(name, folder)
    shutil.rmtree(raw)
    with contextlib.suppress(OSError):  # other sets are still on their way
        raw.parent.rmdir()
    return table


def _fetch_all(
    sources: dict[str, str],
    raw: Path,
    base_url: str,
    timeout: float,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Fetch all raw files, several at a time; the first failure ends them all."""
    stop, lock = threading.Event(), threading.Lock()

    def report(n_files: int, n_bytes: int) -> None:
        if progress is not None:
            with lock:
                progress(n_files, n_bytes)

    def one(source: str, blob: str) -> None:
        fetch(
            f"{base_url}/{source}",
            raw / PurePosixPath(source).name,
            blob,
            timeout=timeout,
            stop=stop,
            received=lambda n_bytes: report(0, n_bytes),
        )
        report(1, 0)

    pool = ThreadPoolExecutor(_N_CONNECTIONS)
    futures = [pool.submit(one, *item) for item in sources.items()]
    try:
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
    except BaseException:  # Ctrl-C does not wait for a silent server
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    stop.set()
    pool.shutdown(cancel_futures=True)
    for future in done:
        future.result()
