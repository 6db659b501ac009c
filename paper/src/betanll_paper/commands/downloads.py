"""The sets of ``betanll data download`` by name, whether tables or images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from betanll_paper import datasets
from betanll_paper.datasets import IMAGE_NAMES, UCI_NAMES, DataError
from betanll_paper.datasets.directory import unknown_set
from betanll_paper.datasets.images import image_facts
from betanll_paper.datasets.uci_download import BASE_URL, uci_sources


def expand(names: Sequence[str]) -> list[str]:
    """Return each name once; ``uci``, or none, stands for all UCI sets."""
    known = (*UCI_NAMES, *IMAGE_NAMES)
    expanded: list[str] = []
    for name in names or ("uci",):
        if name not in (*known, "uci"):
            raise unknown_set("data set", name, known)
        expanded += UCI_NAMES if name == "uci" else [name]
    return list(dict.fromkeys(expanded))


def is_here(name: str, folder: Path) -> bool:
    """Whether a set can be loaded."""
    try:
        if name in IMAGE_NAMES:
            datasets.load_images(name, folder)
        else:
            datasets.load_uci(name, folder)
    except DataError:
        return False
    return True


def count_files(name: str) -> int:
    """Return how many files the servers have of a set."""
    if name in IMAGE_NAMES:
        return len(image_facts(name).files)
    return len(uci_sources(name))


def download_set(
    name: str,
    folder: Path,
    *,
    base_url: str | None,
    timeout: float,
    progress: Callable[[int, int], None],
) -> str:
    """Download a set and return in words how large it is."""
    if name in IMAGE_NAMES:
        # A mirror has a folder for each set, since their files have the same names.
        url = f"{base_url.rstrip('/')}/{name}" if base_url else None
        images = datasets.download_images(
            name, folder, base_url=url, timeout=timeout, progress=progress
        )
        n_train, n_test = len(images.train_images), len(images.test_images)
        return f"{n_train} training images, {n_test} test images"
    url = base_url or BASE_URL
    table = datasets.download_uci(
        name, folder, base_url=url, timeout=timeout, progress=progress
    )
    return f"{len(table.x)} rows, {table.n_splits} splits"
