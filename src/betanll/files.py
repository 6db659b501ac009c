"""Atomic writes of files and folders."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path


@contextlib.contextmanager
def written_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path` that replaces it on success."""
    with _made(path.parent):
        temporary = path.with_name(f"{_hidden(path.stem)}{path.suffix}")
        try:
            temporary.touch(exist_ok=False)
            yield temporary
            _sync(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


@contextlib.contextmanager
def folder_written_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path` that is renamed to `path` on success.

    At most an empty folder may exist at `path`. Write files into the temporary folder
    with :func:`write_synced`.
    """
    with _made(path.parent):
        temporary = path.with_name(_hidden(path.name))
        try:
            temporary.mkdir()
            yield temporary
            sync_folder(temporary)
            temporary.replace(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        sync_folder(path.parent)


@contextlib.contextmanager
def set_aside(path: Path) -> Iterator[None]:
    """Hide a file while what it describes is replaced.

    On success the file is gone, on failure it is back. A kill meanwhile leaves it under
    a hidden name: nobody takes it for the description of what has taken the place.
    """
    hidden = path.with_name(f"{_hidden(path.stem)}{path.suffix}")
    is_there = path.exists()
    if is_there:
        path.replace(hidden)
    try:
        yield
    except BaseException:
        if is_there:
            hidden.replace(path)
        raise
    hidden.unlink(missing_ok=True)


def write_files(
    folder: str | os.PathLike[str], contents: Mapping[str, bytes]
) -> list[Path]:
    """Write files by their names into a folder, each of them whole; return the paths.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (path,) = write_files(folder, {"a.txt": b"hello"})
    ...     path.name, path.read_bytes()
    ('a.txt', b'hello')
    """
    paths = []
    for name, content in contents.items():
        path = Path(folder) / name
        with written_atomically(path) as temporary:
            temporary.write_bytes(content)
        paths.append(path)
    return paths


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and return when it is on the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Return when the names of the files in `folder` are on the disk."""
    if os.name == "nt":  # folders cannot be opened there
        return
    try:
        _sync(folder, os.O_RDONLY)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot do it
            raise


def check_writable(folder: Path) -> None:
    """Raise an ``OSError`` if files cannot be put into `folder`, which need not exist.

    Call this before starting the work whose result goes there.
    """
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        raise NotADirectoryError(f"{existing} is not a folder")
    if not os.access(existing, os.W_OK):
        raise PermissionError(f"{existing} is not writable")


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Create `folder` and its parents; on failure, remove the created ones."""
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for part in missing:
            with contextlib.suppress(OSError):  # another process put a file there
                part.rmdir()
        raise


def _hidden(name: str) -> str:
    # Chosen here and not by `tempfile`: it is known before the file exists, so that an
    # interruption leaves nothing, and what is made under it follows the umask. File
    # names end at 255 bytes.
    return f".{name[:50]}-{secrets.token_hex(8)}"


def _sync(path: Path, flags: int = os.O_RDWR) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cache_folder(name: str) -> Path:
    """Return our folder of that name in the user's cache; it need not exist."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "betanll" / name
