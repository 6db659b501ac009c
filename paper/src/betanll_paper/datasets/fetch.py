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

from betanll import __version__
from betanll.sentences import shortened
from betanll_paper.datasets.directory import DataError
from betanll_paper.datasets.web import WebRedirects

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


class _TooLarge(Exception):
    """More arrives than the file can contain."""


class _NothingLeft(Exception):
    """The file on the server does not go on after the part that is here."""


def fetch(
    url: str,
    path: Path,
    is_right: Callable[[Path], bool],
    max_bytes: int,
    *,
    timeout: float,
    stop: threading.Event,
    received: Callable[[int], None],
) -> None:
    """Download `url` to `path` unless what is there `is_right`.

    `path` exists only when it is complete and right. What has arrived so far is in its
    :func:`part_of`, from which this and later calls continue; what is wrong or has more
    than `max_bytes` is deleted. The server may go silent for `timeout` seconds;
    `received` is called with numbers of bytes; once `stop` is set, :class:`Stopped` is
    raised.
    """
    part = part_of(path)
    if path.is_file() and is_right(path):
        part.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    reason = ""
    for attempt in range(N_ATTEMPTS):
        if attempt:
            stop.wait(FIRST_WAIT * 2 ** (attempt - 1))
        if stop.is_set():
            raise Stopped
        try:
            _continue(url, part, max_bytes, timeout, stop, received)
        except _Broken as error:
            reason = str(error)
            continue
        except _TooLarge:
            reason = (
                f"the server sends more than the {max_bytes} bytes that can be right"
            )
        else:
            if is_right(part):
                part.replace(path)
                return
            reason = "what arrives is not the published file"
        part.unlink(missing_ok=True)
    raise DataError(
        f"{url} cannot be downloaded: {reason}, {N_ATTEMPTS} times in a row; run the "
        f"command again to continue"
    )


def part_of(path: Path) -> Path:
    """Return where a file is kept until it is complete."""
    return path.with_name(f"{path.name}.part")


def _continue(
    url: str,
    part: Path,
    max_bytes: int,
    timeout: float,
    stop: threading.Event,
    received: Callable[[int], None],
) -> None:
    """Append to `part` what it lacks, or start it over if the server insists."""
    n_present = part.stat().st_size if part.is_file() else 0
    if n_present > max_bytes:
        n_present = 0
    try:
        response = _opened(url, n_present, timeout)
    except _NothingLeft:  # `part` is complete, or longer than the file
        return
    is_continued = n_present > 0 and response.status == 206
    n_left = max_bytes - n_present if is_continued else max_bytes
    with response, part.open("ab" if is_continued else "wb") as file:
        if (response.length or 0) > n_left:
            raise _TooLarge
        for block in _blocks(response):
            n_left -= len(block)
            if n_left < 0:
                raise _TooLarge
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
        opener = urllib.request.build_opener(WebRedirects)
        response = opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and start:
            raise _NothingLeft from None
        if error.code < 500 and error.code not in (408, 429):
            words = shortened(f"{error.code} {error.reason}")
            raise DataError(f"{url} cannot be downloaded: {words}") from None
        words = shortened(f"the server says {error.code} {error.reason}")
        raise _Broken(words) from None
    except (OSError, http.client.HTTPException) as error:
        raise _Broken(_words(error)) from None
    assert isinstance(response, http.client.HTTPResponse)
    return response


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the body as it arrives, and notice its early end."""
    # urllib leaves it at a short body when it is read in blocks.
    missing = response.length or 0
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
    return shortened(str(reason)) or type(reason).__name__
