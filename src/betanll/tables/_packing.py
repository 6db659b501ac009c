"""Packed files: found by their first bytes, unpacked as a stream."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from betanll.columns import TableError
from betanll.tables._errors import fault

#: First bytes of packed files, and the suffixes of their names.
_STARTS = {
    "gzip": re.compile(rb"\x1f\x8b\x08"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "Zstandard": re.compile(rb"\x28\xb5\x2f\xfd"),
    "zip": re.compile(rb"PK(\x03\x04|\x05\x06)"),
}
SUFFIXES = {
    ".gz": "gzip",
    ".bz2": "bzip2",
    ".xz": "xz",
    ".zst": "Zstandard",
    ".zip": "zip",
}
#: A file may grow to so many bytes, and beyond them to so many times its own size.
MAX_BYTES, MAX_RATIO = 2**30, 200


def packing_of(start: bytes) -> str | None:
    """Return how a file with these first bytes is packed, None if it is not.

    Examples
    --------
    >>> packing_of(gzip.compress(b"a,b")), packing_of(b"a,b")
    ('gzip', None)
    """
    for packing, pattern in _STARTS.items():
        if pattern.match(start):
            return packing
    return None


@contextlib.contextmanager
def unpacked(
    raw: BinaryIO, packing: str, path: Path, member: str | None
) -> Iterator[BinaryIO]:
    """Yield what a packed file contains, as a stream that is never held as a whole."""
    limit = max_unpacked(raw)
    with contextlib.ExitStack() as stack:
        if packing == "zip":
            archive = stack.enter_context(opened_zip(raw, path))
            assert member is not None
            stream: Any = stack.enter_context(_opened_member(archive, member, path))
        else:
            stream = stack.enter_context(_UNPACK[packing](raw, path))
        guarded = _Guarded(stream, packing, path, limit)
        yield stack.enter_context(io.BufferedReader(guarded, 2**16))


def max_unpacked(raw: BinaryIO) -> int:
    """Return how many bytes a packed file may contain."""
    size = raw.seek(0, io.SEEK_END)
    raw.seek(0)
    return max(MAX_BYTES, MAX_RATIO * size)


def too_large(path: Path) -> TableError:
    return fault(
        path,
        f"unpacks to more than {MAX_RATIO} times its size, as no table does: if you "
        "trust it, unpack it first",
    )


class _Guarded(io.RawIOBase):
    """A stream whose faults are sentences, and that ends before it fills the memory."""

    def __init__(self, stream: Any, packing: str, path: Path, limit: int) -> None:
        self._stream, self._packing, self._path = stream, packing, path
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except EOFError:
            raise fault(self._path, "the compressed file is cut off") from None
        except MemoryError:
            raise
        # Each library has errors of its own.
        except Exception as error:
            if "Truncated" in str(error):
                raise fault(self._path, "the compressed file is cut off") from None
            raise fault(
                self._path, f"the compressed file is broken ({self._packing})"
            ) from None
        self._left -= len(data)
        if self._left < 0:
            raise too_large(self._path)
        buffer[: len(data)] = data
        return len(data)


def _gzip(raw: BinaryIO, path: Path) -> Any:
    return gzip.GzipFile(fileobj=raw)


def _bzip2(raw: BinaryIO, path: Path) -> Any:
    return bz2.BZ2File(raw)


def _xz(raw: BinaryIO, path: Path) -> Any:
    return lzma.LZMAFile(raw)


def _zstandard(raw: BinaryIO, path: Path) -> Any:
    if sys.version_info >= (3, 14):
        with contextlib.suppress(ImportError):
            from compression import zstd

            return zstd.ZstdFile(raw)
    try:
        import pyarrow
    except ImportError:
        raise fault(
            path,
            "Zstandard files need Python 3.14 or pyarrow: install betanll[parquet]",
        ) from None
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, "r"), "zstd")


_UNPACK = {"gzip": _gzip, "bzip2": _bzip2, "xz": _xz, "Zstandard": _zstandard}


@contextlib.contextmanager
def opened_zip(raw: BinaryIO, path: Path) -> Iterator[zipfile.ZipFile]:
    """Yield the archive, or raise if its list of members cannot be read."""
    try:
        archive = zipfile.ZipFile(raw)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        raise fault(path, "the zip archive is broken or cut off") from None
    with archive:
        yield archive


def _opened_member(archive: zipfile.ZipFile, member: str, path: Path) -> BinaryIO:
    info = archive.getinfo(member)
    if info.flag_bits & 0x1:
        raise fault(path, f"{member!r} is encrypted: unpack it with its password first")
    try:
        return cast(BinaryIO, archive.open(info))
    except (NotImplementedError, RuntimeError):
        raise fault(
            path, f"{member!r} is packed in a way that cannot be read: unpack it first"
        ) from None
    except (OSError, zipfile.BadZipFile):
        raise fault(path, "the zip archive is broken or cut off") from None
