"""The image sets from where they are published."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path

from betanll.files import check_writable
from betanll_paper.datasets.directory import (
    DataError,
    data_directory,
    remove_if_empty,
)
from betanll_paper.datasets.fetch import TIMEOUT
from betanll_paper.datasets.fetch_all import Source, fetch_all
from betanll_paper.datasets.idx import read_idx
from betanll_paper.datasets.images import (
    ImageSet,
    image_facts,
    image_files,
    load_images,
)
from betanll_paper.datasets.images_facts import IdxFile


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
    the server. After a failure or an interruption another call fetches only what is
    missing.

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
        sources.append(Source(f"{file.name}.gz", path, is_right, file.max_bytes))
    try:
        fetch_all(base_url or facts.url, sources, timeout=timeout, progress=progress)
    finally:
        remove_if_empty(folder / name)
    return load_images(name, folder)


def _is_published(file: IdxFile, path: Path) -> bool:
    try:
        read_idx(path, file.shape, file.md5)
    except (OSError, ValueError):
        return False
    return True
