"""Addresses on the web, and redirects that stay there."""

from __future__ import annotations

import http.client
import io
import urllib.parse
import urllib.request
from typing import IO, Any

from betanll.sentences import shortened
from betanll_paper.datasets.directory import DataError


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
        _ = parts.port  # raises an error if it is not a number of a port
    except ValueError:
        return False
    return parts.scheme in schemes and bool(host)


class WebRedirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects to http and https, and from https only to https.

    By itself ``urllib`` also follows redirects to ftp.
    """

    def http_error_302(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
    ) -> Any:
        fp.close()
        schemes = ("https",) if req.type == "https" else ("http", "https")
        target = headers.get("Location") or headers.get("URI") or ""
        try:
            address = urllib.parse.urljoin(req.full_url, target)
        except ValueError:
            address = ""
        if not is_web_address(address, schemes):
            kind = "an https" if len(schemes) == 1 else "a valid http or https"
            raise DataError(
                f"{req.full_url} cannot be downloaded: it redirects to "
                f"{shortened(repr(target))}, not {kind} address"
            )
        # urllib would read the body of the redirect to its end, if it has one.
        return super().http_error_302(req, io.BytesIO(), code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302
