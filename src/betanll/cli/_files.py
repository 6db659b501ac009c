"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that replaces it on success."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(folder: Path) -> None:
    """Raise an ``OSError`` if files cannot be put into `folder`, which need not exist.

    To be called before the work whose result goes there.
    """
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise NotADirectoryError(f"{existing} is not a folder")
    if not os.access(existing, os.W_OK):
        raise PermissionError(f"{existing} is not writable")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
