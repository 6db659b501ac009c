"""The folder of the data, and the error for missing data."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Sequence
from pathlib import Path

from betanll.files import cache_folder


class DataError(ValueError):
    """Data that is missing, damaged or unknown, with one sentence that says why.

    Examples
    --------
    >>> from betanll_paper.datasets import load_uci
    >>> load_uci("boston")
    Traceback (most recent call last):
    ...
    betanll_paper.datasets.directory.DataError: there is no UCI set 'boston'; ...
    """


def data_directory(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the data, for reading and for downloads.

    The folder is `data_dir` if given, else ``$BETANLL_DATA``, else ``betanll/data`` in
    the user's cache (``$XDG_CACHE_HOME`` or ``~/.cache``). It need not exist.

    Examples
    --------
    >>> data_directory("my-data").name
    'my-data'
    """
    named = os.environ.get("BETANLL_DATA") if data_dir is None else os.fspath(data_dir)
    if not named:
        return cache_folder("data")
    try:
        return Path(named).expanduser()
    except RuntimeError:
        raise DataError(f"{named}: the home folder of this user is not known") from None


def remove_if_empty(folder: Path) -> None:
    """Remove a folder unless it contains something."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def unknown_set(kind: str, name: str, known: Sequence[str]) -> DataError:
    """Return the error that names the sets of a kind, first the one that is meant.

    Examples
    --------
    >>> str(unknown_set("image set", "mnits", ["mnist"]))
    "there is no image set 'mnits' (did you mean 'mnist'?); there are mnist"
    """
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return DataError(f"there is no {kind} {name!r}{hint}; there are {', '.join(known)}")
