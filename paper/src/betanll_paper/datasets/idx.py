"""The idx format of MNIST: a header and the bytes of an array, perhaps in gzip."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

_GZIP = b"\x1f\x8b"
#: Code of unsigned bytes in the third byte of a file.
_UNSIGNED_BYTE = 8


def read_idx(
    path: Path, shape: tuple[int, ...], md5: str | None = None
) -> npt.NDArray[np.uint8]:
    """Read an array of unsigned bytes whose shape is known.

    The first bytes show whether the file is compressed, because browsers unpack files
    without renaming them. At most the size of the array is unpacked.

    Parameters
    ----------
    path : Path
    shape : tuple of int
    md5 : str, optional
        Checksum of the uncompressed content.

    Raises
    ------
    ValueError
        If the content is not the expected array; the message is part of a sentence.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "idx"
    >>> _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3]) + b"abc")
    >>> read_idx(path, (3,))
    array([97, 98, 99], dtype=uint8)
    """
    with path.open("rb") as file:
        is_packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        try:
            if not is_packed:
                return _read(file, shape, md5)
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _read(unpacked, shape, md5)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise ValueError("it cannot be decompressed to its end") from None


def _read(
    file: io.BufferedIOBase, shape: tuple[int, ...], md5: str | None
) -> npt.NDArray[np.uint8]:
    header = file.read(4 + 4 * len(shape))
    if header[:4] != bytes([0, 0, _UNSIGNED_BYTE, len(shape)]):
        raise ValueError(f"it is not an idx file of bytes with {len(shape)} dimensions")
    if len(header) < 4 + 4 * len(shape):
        raise ValueError("it ends in its header")
    announced = tuple(np.frombuffer(header, ">u4", offset=4).tolist())
    if announced != shape:
        raise ValueError(f"its shape is {_text(announced)} instead of {_text(shape)}")
    content = np.empty(math.prod(shape), np.uint8)
    n_read = file.readinto(content.data)
    if n_read < content.size:
        raise ValueError(f"it ends after {n_read} of {content.size} values")
    if file.read(1):
        raise ValueError(f"it has more than its {content.size} values")
    digest = hashlib.md5(header, usedforsecurity=False)
    digest.update(content.data)
    if md5 is not None and digest.hexdigest() != md5:
        raise ValueError("its values are not the published ones")
    return content.reshape(shape)


def _text(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
