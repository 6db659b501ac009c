"""Download one file over http or https, with a limit on its size."""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import requests

from betanll import __version__
from betanll.sentences import shortened

NOT_PUBLISHED = "what arrives is not the published file"

_BLOCK = 1 << 13
_MAX_REDIRECTS = 10
_HEADERS = {"User-Agent": f"betanll/{__version__}", "Accept-Encoding": "identity"}


class FailedError(ValueError):
    """An attempt failed. pooch tries again after a ``ValueError``."""


class RefusedError(Exception):
    """The server gives an answer that another attempt would not change."""


class StoppedError(Exception):
    """Another download failed, or the user pressed Ctrl-C."""


class _Session(requests.Session):
    """Leaves redirects to :class:`Downloader`.

    requests reads the body of a redirect to its end, also if it does not follow it.
    """

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class Downloader(NamedTuple):
    """Downloads a file for pooch, whose own downloader takes files of any size."""

    #: More bytes than this cannot be the published file.
    max_bytes: int
    #: Whether a file on the disk is the published one.
    is_right: Callable[[Path], bool]
    #: Seconds for which the server may be silent.
    timeout: float
    #: Once set, :class:`StoppedError` is raised.
    stop: threading.Event
    #: Called with numbers of bytes.
    received: Callable[[int], None]

    def __call__(self, url: str, output_file: str, pooch: object = None) -> None:
        path = Path(output_file)
        path.unlink()  # only its owner may read a file that pooch makes
        try:
            with self._opened(url) as response:
                self._write(response, path)
        except requests.RequestException as error:
            raise FailedError(_words(error)) from None
        if not self.is_right(path):
            raise FailedError(NOT_PUBLISHED)

    def _opened(self, url: str) -> requests.Response:
        if self.stop.is_set():
            raise StoppedError
        for _ in range(_MAX_REDIRECTS):
            with _Session() as session:
                response = session.get(
                    url, headers=_HEADERS, timeout=self.timeout, stream=True
                )
            if not response.is_redirect:
                break
            response.close()
            url = redirected(url, response.headers["Location"])
        if response.status_code == 200:
            return response
        response.close()
        words = shortened(f"{response.status_code} {response.reason}")
        if response.status_code >= 500 or response.status_code in (408, 429):
            raise FailedError(f"the server says {words}")
        raise RefusedError(words)

    def _write(self, response: requests.Response, path: Path) -> None:
        length = response.headers.get("Content-Length", "")
        n_bytes = 0
        with path.open("xb") as file:
            self._check(int(length) if length.isdecimal() else 0)
            for block in response.iter_content(_BLOCK):
                n_bytes += len(block)
                self._check(n_bytes)
                file.write(block)
                self.received(len(block))
                if self.stop.is_set():
                    raise StoppedError

    def _check(self, n_bytes: int) -> None:
        if n_bytes > self.max_bytes:
            raise FailedError(
                f"the server sends more than the {self.max_bytes} bytes that can be "
                "right"
            )


def redirected(url: str, location: str) -> str:
    """Return where a redirect leads: to the web, and from https only to https.

    Examples
    --------
    >>> redirected("https://example.org/a/b", "c")
    'https://example.org/a/c'
    """
    is_secure = urllib.parse.urlsplit(url).scheme == "https"
    try:
        address = urllib.parse.urljoin(url, location)
    except ValueError:
        address = ""
    if not is_web_address(address, ("https",) if is_secure else ("http", "https")):
        kind = "an https" if is_secure else "a valid http or https"
        where = shortened(repr(location))
        raise RefusedError(f"it redirects to {where}, not {kind} address")
    return address


def is_web_address(address: str, schemes: tuple[str, ...] = ("http", "https")) -> bool:
    """Whether an address is valid and has one of these schemes.

    Examples
    --------
    >>> is_web_address("https://example.org/file"), is_web_address("file:///etc/passwd")
    (True, False)
    """
    try:
        parts = urllib.parse.urlsplit(address)
        host = (parts.hostname or "").encode("idna")
        _ = parts.port  # raises an error if it is not the number of a port
    except ValueError:
        return False
    return parts.scheme in schemes and bool(host)


def _words(error: BaseException) -> str:
    """Return why a request failed, without what requests and urllib3 wrap around it."""
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection ends early"
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    if isinstance(error, TimeoutError):
        return "the server does not answer"
    if isinstance(error, OSError) and error.strerror:
        return shortened(error.strerror.lower())
    return shortened(str(error)) or type(error).__name__
