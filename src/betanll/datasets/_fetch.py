"""One file from the net: continued where it broke off, and checked byte for byte.

By ``urllib``: pooch starts a broken download over and cannot check git blob ids.
"""

from __future__ import annotations

import http.client
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from betanll._version import __version__
from betanll.datasets._directory import DataError

#: Seconds for which a server may be silent.
TIMEOUT = 30.0
#: Seconds before the second attempt; doubled for each further one.
FIRST_WAIT = 1.0
N_ATTEMPTS = 4
_BLOCK = 1 << 16


class Stopped(Exception):
    """Somebody else's download failed, or the user has had enough."""


class _Broken(Exception):
    """The net failed; what has arrived is worth keeping."""


class _NothingLeft(Exception):
    """The file on the server does not go on after the part that is here."""


def fetch(
    url: str,
    path: Path,
    is_right: Callable[[Path], bool],
    *,
    timeout: float,
    stop: threading.Event,
    received: Callable[[int], None],
) -> None:
    """Download `url` to `path` unless what is there `is_right`.

    `path` exists only when it is complete and right. What has arrived so far is in
    ``<path>.part``, from which this and later calls continue. The server may go silent
    for `timeout` seconds; `received` is called with numbers of bytes; once `stop` is
    set, :class:`Stopped` is raised.
    """
    if path.is_file() and is_right(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    reason = ""
    for attempt in range(N_ATTEMPTS):
        if attempt:
            stop.wait(FIRST_WAIT * 2 ** (attempt - 1))
        if stop.is_set():
            raise Stopped
        try:
            _continue(url, part, timeout, stop, received)
        except _Broken as error:
            reason = str(error)
            continue
        if is_right(part):
            part.replace(path)
            return
        part.unlink()
        reason = "what arrives is not the published file"
    raise DataError(
        f"{url} cannot be downloaded: {reason}, {N_ATTEMPTS} times in a row; run the "
        f"command again to continue"
    )


def _continue(
    url: str,
    part: Path,
    timeout: float,
    stop: threading.Event,
    received: Callable[[int], None],
) -> None:
    """Append to `part` what it lacks, or start it over if the server insists."""
    n_present = part.stat().st_size if part.is_file() else 0
    try:
        response = _opened(url, n_present, timeout)
    except _NothingLeft:  # `part` is complete, or longer than the file
        return
    with response, part.open("ab" if response.status == 206 else "wb") as file:
        for block in _blocks(response):
            file.write(block)
            received(len(block))
            if stop.is_set():
                raise Stopped


def _opened(url: str, start: int, timeout: float) -> http.client.HTTPResponse:
    """Ask for the file from byte `start` on."""
    headers = {"User-Agent": f"betanll/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and start:
            raise _NothingLeft from None
        if error.code < 500 and error.code not in (408, 429):
            raise DataError(
                f"{url} cannot be downloaded: {error.code} {error.reason}"
            ) from None
        raise _Broken(f"the server says {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(_words(error)) from None
    assert isinstance(response, http.client.HTTPResponse)
    return response


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body as it arrives, and notice its early end."""
    # urllib leaves it at a short body when it is read in blocks.
    missing = int(response.headers.get("Content-Length", 0))
    while True:
        try:
            block = response.read1(_BLOCK)
        except (OSError, http.client.HTTPException) as error:
            raise _Broken(_words(error)) from None
        if not block:
            break
        missing -= len(block)
        yield block
    if missing > 0:
        raise _Broken("the connection ends early")


def _words(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return "the server does not answer"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror.lower()
    return str(reason) or type(reason).__name__
