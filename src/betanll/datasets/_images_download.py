"""The image sets from where they are published."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path

from betanll._files import check_writable
from betanll.datasets._directory import DataError, data_directory
from betanll.datasets._fetch import TIMEOUT
from betanll.datasets._fetch_all import Source, fetch_all
from betanll.datasets._idx import read_idx
from betanll.datasets._images import ImageSet, image_facts, image_files, load_images
from betanll.datasets._images_facts import IdxFile


def download_images(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    base_url: str | None = None,
    timeout: float = TIMEOUT,
    progress: Callable[[int, int], None] | None = None,
) -> ImageSet:
    """Download what is missing of an image set, and load it.

    What the files contain is compared with checksums; how they are compressed is up to
    the server. After a failure or an interruption another call goes on where this one
    stopped.

    Parameters
    ----------
    name : str
        One of ``IMAGE_NAMES``.
    data_dir : path, optional
        Folder of the data, see :func:`data_directory`.
    base_url : str, optional
        Address of another folder with the four files.
    timeout : float, default=30
        Seconds for which the server may be silent before the next attempt.
    progress : callable, optional
        Called with a number of files that are complete and of bytes that have arrived
        since the last call, one of them zero.

    Returns
    -------
    ImageSet

    Examples
    --------
    >>> mnist = download_images("mnist")  # doctest: +SKIP
    """
    facts = image_facts(name)
    folder = data_directory(data_dir)
    with contextlib.suppress(DataError):
        return load_images(name, folder)
    check_writable(folder / name)
    sources = []
    for file, path in image_files(name, folder).items():
        is_right = functools.partial(_is_published, file)
        if path.is_file() and not is_right(path):
            path = path.with_name(f"{file.name}.gz")
        sources.append(Source(f"{file.name}.gz", path, is_right))
    fetch_all(base_url or facts.url, sources, timeout=timeout, progress=progress)
    return load_images(name, folder)


def _is_published(file: IdxFile, path: Path) -> bool:
    try:
        read_idx(path, file.shape, file.md5)
    except (OSError, ValueError):
        return False
    return True
