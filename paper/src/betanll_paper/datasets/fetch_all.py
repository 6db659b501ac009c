"""Several files at a time from the net."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from betanll.sentences import shortened
from betanll_paper.datasets.directory import DataError
from betanll_paper.datasets.fetch import fetch, part_of
from betanll_paper.datasets.web import is_web_address

# Most of a set are forty small files, for each of which the server takes its time.
_N_CONNECTIONS = 8


class Source(NamedTuple):
    """A file on the net, and where it belongs on the disk."""

    #: What follows the address of the server and a slash.
    name: str
    path: Path
    #: Whether a file on the disk is the published one.
    is_right: Callable[[Path], bool]
    #: More bytes than this cannot be the published file.
    max_bytes: int


def fetch_all(
    base_url: str,
    sources: Iterable[Source],
    *,
    timeout: float,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Fetch the files that are not there yet; the first failure ends them all.

    `progress` is called with a number of files that are complete and of bytes that have
    arrived since the last call, one of them zero. Complete files stay after a failure
    or Ctrl-C; incomplete ones stay after a failure of the net alone.
    """
    if not is_web_address(base_url):
        raise DataError(
            "the mirror must be an address that starts with http:// or https://, got "
            f"{shortened(repr(base_url))}"
        )
    base_url = base_url.rstrip("/")
    stop, interrupted, lock = threading.Event(), threading.Event(), threading.Lock()

    def report(n_files: int, n_bytes: int) -> None:
        if progress is not None:
            with lock:
                progress(n_files, n_bytes)

    def one(source: Source) -> None:
        try:
            fetch(
                f"{base_url}/{source.name}",
                source.path,
                source.is_right,
                source.max_bytes,
                timeout=timeout,
                stop=stop,
                received=lambda n_bytes: report(0, n_bytes),
            )
        finally:
            if interrupted.is_set():
                part_of(source.path).unlink(missing_ok=True)
        report(1, 0)

    pool = ThreadPoolExecutor(_N_CONNECTIONS)
    futures = [pool.submit(one, source) for source in sources]
    try:
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
    except BaseException:  # Ctrl-C does not wait for a silent server
        interrupted.set()
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    stop.set()
    pool.shutdown(cancel_futures=True)
    for future in done:
        future.result()
