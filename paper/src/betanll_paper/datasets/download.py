"""Several files at a time through pooch, which retries, checks and keeps them."""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from betanll.files import check_writable
from betanll.sentences import shortened
from betanll_paper.datasets.directory import DataError, remove_if_empty

#: Seconds for which a server may be silent.
TIMEOUT = 30.0
N_ATTEMPTS = 4
# Most of a set are forty small files, for each of which the server takes its time.
_N_CONNECTIONS = 8


class RemoteFile(NamedTuple):
    """A file on a server, where it belongs on the disk, and how to recognise it."""

    #: Follows the address of the folder on the server and a slash.
    name: str
    path: Path
    #: More bytes than this cannot be the published file.
    max_bytes: int
    #: As in the registry of pooch, ``"sha256:..."``; None if `is_right` decides.
    checksum: str | None
    #: Whether a file on the disk is the published one.
    is_right: Callable[[Path], bool] = lambda path: True


def download_files(
    base_url: str,
    raw: Path,
    files: Sequence[RemoteFile],
    *,
    timeout: float,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Download the files that are not there yet; the first failure ends them all.

    Files arrive in the folder `raw` and move to their paths when they are complete.
    Complete files stay after a failure or Ctrl-C, incomplete ones do not. `progress` is
    called with a number of files that are complete and of bytes that have arrived since
    the last call, one of them zero.
    """
    # Here, because requests takes as long to load as the rest of the data sets.
    import pooch

    from betanll_paper.datasets import web

    if not web.is_web_address(base_url):
        raise DataError(
            "the mirror must be an address that starts with http:// or https://, got "
            f"{shortened(repr(base_url))}"
        )
    pooch.get_logger().setLevel(logging.WARNING)
    store = pooch.create(
        raw,
        base_url,
        registry={file.name: file.checksum for file in files},
        retry_if_failed=N_ATTEMPTS - 1,
    )
    stop, lock = threading.Event(), threading.Lock()

    def report(n_files: int, n_bytes: int) -> None:
        if progress is not None:
            with lock:
                progress(n_files, n_bytes)

    again = f"{N_ATTEMPTS} times in a row; run the command again to continue"

    def failure(file: RemoteFile, reason: str) -> DataError:
        url = store.get_url(file.name)
        return DataError(f"{url} cannot be downloaded: {reason}")

    def download(file: RemoteFile) -> None:
        is_known = file.checksum is not None
        if is_known or not (file.path.is_file() and file.is_right(file.path)):
            if not is_known:  # pooch would keep whatever is there
                (raw / file.name).unlink(missing_ok=True)
            downloader = web.Downloader(
                file.max_bytes, file.is_right, timeout, stop, lambda n: report(0, n)
            )
            try:
                arrived = store.fetch(file.name, downloader=downloader)
            except web.RefusedError as error:
                raise failure(file, str(error)) from None
            except web.FailedError as error:
                raise failure(file, f"{error}, {again}") from None
            except ValueError:  # of pooch, which compared checksums
                raise failure(file, f"{web.NOT_PUBLISHED}, {again}") from None
            Path(arrived).replace(file.path)
        report(1, 0)

    pool = ThreadPoolExecutor(_N_CONNECTIONS)
    futures = [pool.submit(download, file) for file in files]
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


@contextlib.contextmanager
def raw_folder(data: Path, name: str) -> Iterator[Path]:
    """Yield the folder in which the files of a set arrive; remove it on success."""
    raw = data / "raw" / name
    check_writable(raw)
    try:
        yield raw
        shutil.rmtree(raw, ignore_errors=True)
    finally:
        for folder in (raw, raw.parent):
            remove_if_empty(folder)
