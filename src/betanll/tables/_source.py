"""Where the bytes of a table come from: a file, a member of an archive, a stream."""

from __future__ import annotations

import contextlib
import io
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, cast

from betanll.sentences import listed
from betanll.tables._errors import fault
from betanll.tables._packing import SUFFIXES, opened_zip, packing_of, unpacked

#: Stands for the standard input.
STDIN = "-"
_STDIN_NAME = Path("standard input")
#: First bytes that tell a format.
START_BYTES = 512
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
#: Of members of an archive that are tables; a text may also be a description.
_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx")
_TEXTS = (".txt",)


class Held:
    """A file without a name, which is gone when it is not used any more."""

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115

    def __del__(self) -> None:
        self.file.close()


@dataclass(frozen=True)
class Source:
    """Bytes that can be read from the start as often as needed.

    Attributes
    ----------
    path : Path
        Of the file, as messages call it.
    packing : str or None
        How the bytes are packed.
    member : str or None
        The table in a zip archive.
    held : Held or None
        What came from the standard input.
    """

    path: Path
    packing: str | None = None
    member: str | None = None
    held: Held | None = None

    @property
    def table_name(self) -> str:
        """The name without what it says about packing, in lower case."""
        if self.member is not None:
            return PurePosixPath(self.member).name.lower()
        name = self.path.name.lower() if self.held is None else ""
        suffix = Path(name).suffix
        return name.removesuffix(suffix) if suffix in SUFFIXES else name

    @contextlib.contextmanager
    def opened_raw(self) -> Iterator[BinaryIO]:
        """Yield the bytes of the file."""
        if self.held is not None:
            yield cast(BinaryIO, io.BufferedReader(_View(self.held.file)))
            return
        try:
            handle = self.path.open("rb")
        except PermissionError:
            raise fault(self.path, "permission denied") from None
        with handle:
            yield handle

    @contextlib.contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Yield the bytes of the table, unpacked."""
        with self.opened_raw() as raw:
            if self.packing is None:
                yield raw
            else:
                with unpacked(raw, self.packing, self.path, self.member) as stream:
                    yield stream

    def start(self) -> bytes:
        """Return the first bytes of the table."""
        with self.opened() as stream:
            return stream.read(START_BYTES)


def source_of(path: Path) -> Source:
    """Look at a file, or hold the standard input, and find how it is packed."""
    if str(path) == STDIN:
        source = Source(_STDIN_NAME, held=_held_stdin())
    else:
        _check_file(path)
        source = Source(path)
    packing = packing_of(source.start())
    if packing == "zip":
        with source.opened_raw() as raw, opened_zip(raw, source.path) as archive:
            names = archive.namelist()
        if _is_office(names):
            return source
        return Source(
            source.path, packing, _table_among(names, source.path), source.held
        )
    return Source(source.path, packing, None, source.held)


def _is_office(names: list[str]) -> bool:
    """Tell whether members are the parts of one document."""
    return "[Content_Types].xml" in names or "mimetype" in names


def _table_among(names: list[str], path: Path) -> str:
    """Return the only table in an archive."""
    files = [
        name
        for name in names
        if not name.endswith("/")
        and not name.startswith("__MACOSX/")
        and not PurePosixPath(name).name.startswith(".")
    ]
    if not files:
        raise fault(path, "the zip archive is empty")
    if len(files) == 1:
        return files[0]
    for suffixes in (_TABLES, _TEXTS):
        tables = [name for name in files if _unpacked_suffix(name) in suffixes]
        if len(tables) == 1:
            return tables[0]
        if tables:
            break
    raise fault(
        path,
        f"the zip archive must contain one table, but it contains {listed(files)}: "
        "unpack it first",
    )


def _unpacked_suffix(name: str) -> str:
    return PurePosixPath(name.lower()).suffix


class _View(io.RawIOBase):
    """A file with a position of its own, so that it can be opened several times."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._place = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._place
        elif whence == io.SEEK_END:
            offset += self._file.seek(0, io.SEEK_END)
        self._place = offset
        return offset

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._place)
        data = self._file.read(len(buffer))
        self._place += len(data)
        buffer[: len(data)] = data
        return len(data)


def _held_stdin() -> Held:
    """Return what can be read from the standard input."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise fault(_STDIN_NAME, "is closed")
    held = Held()
    shutil.copyfileobj(stream, held.file)
    return held


def _check_file(path: Path) -> None:
    """Refuse whatever cannot be read from start to end as often as needed."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise fault(
            path, f"there is no such file in {path.absolute().parent}"
        ) from None
    except OSError as error:
        raise fault(path, f"cannot be opened: {error.strerror}") from None
    except ValueError as error:
        raise fault(path, f"cannot be the name of a file: {error}") from None
    if stat.S_ISDIR(mode):
        raise fault(path, "is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise fault(
            path,
            f"is {_KINDS.get(stat.S_IFMT(mode), 'a special file')}, not a file: "
            "write the table to a file first",
        )
