"""Text files: how their characters are written, and where the table begins."""

from __future__ import annotations

import codecs
import contextlib
import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from betanll.sentences import shortened, shown
from betanll.tables._errors import fault
from betanll.tables._options import ReadOptions
from betanll.tables._source import Source

SAMPLE_BYTES = 2**18
_BLOCK_BYTES = 2**20
#: Longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WINDOWS = "cp1252"
#: Bytes that mean nothing in Windows-1252, or do not occur in text.
_NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d\0-\x08\x0e-\x1f\x7f]")
_COMMENT = "#"


@dataclass(frozen=True)
class Text:
    """A text and the lines to skip before its table."""

    source: Source
    encoding: str
    n_skipped: int = 0

    @contextlib.contextmanager
    def opened(self) -> Iterator[io.TextIOWrapper]:
        """Yield the text from where the table begins."""
        with (
            decoding(self.source.path, self.encoding),
            self.source.opened() as binary,
            io.TextIOWrapper(binary, encoding=self.encoding, newline="") as handle,
        ):
            _skip(handle, self.n_skipped)
            yield handle


class FoundText(NamedTuple):
    """A text with its beginning.

    `sample` begins with the table, and `is_whole` tells whether it is all of it.
    `comments` are the lines before it that begin with ``#``.
    """

    text: Text
    sample: str
    is_whole: bool
    comments: list[str]
    notes: list[str]


def find_text(
    source: Source, options: ReadOptions, *, has_comments: bool = True
) -> FoundText:
    """Find the encoding of a text and the beginning of its table."""
    path = source.path
    with source.opened() as handle:
        data = handle.read(SAMPLE_BYTES)
        is_whole = not handle.read(1)
    encoding = options.encoding_for(path)
    notes: list[str] = []
    if encoding is None:
        encoding, notes = _encoding_of(source, data, is_whole)
    with decoding(path, encoding):
        # The last character may be cut.
        sample = codecs.getincrementaldecoder(encoding)().decode(data, is_whole)
    if "\0" in sample:
        raise fault(path, "the file is not text")
    lines = io.StringIO(sample, newline="")
    _skip(lines, options.skip_rows)
    n_skipped, comments = options.skip_rows, []
    start = lines.tell()
    for i, line in enumerate(lines if has_comments else (), options.skip_rows + 1):
        if line.startswith(_COMMENT):
            comments.append(line)
            n_skipped = i
        elif line.strip():
            break
    lines.seek(start)
    _skip(lines, n_skipped - options.skip_rows)
    sample = lines.read()
    if not sample.strip():
        complaint = "the file is empty"
        if not is_whole:
            complaint = "no table begins in the first 256 KiB"
        elif n_skipped:
            what = "line" if n_skipped == 1 else f"{n_skipped} lines"
            complaint = f"nothing follows the skipped {what}"
        raise fault(path, complaint)
    return FoundText(
        Text(source, encoding, n_skipped), sample, is_whole, comments, notes
    )


def _skip(handle: TextIO, n: int) -> None:
    for _ in range(n):
        if not handle.readline():
            return


def comment_note(comments: list[str]) -> str:
    first = shown(comments[0].strip())
    if len(comments) == 1:
        return f"the comment {first} before the table is skipped."
    return f"{len(comments)} comments before the table are skipped, first {first}."


def _encoding_of(source: Source, data: bytes, is_whole: bool) -> tuple[str, list[str]]:
    """Return the encoding of a text, and what to say about it."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding, []
    if b"\0" in data:
        complaint = "the file is not text"
        for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
            if 4 * data[first::2].count(0) > len(data):
                complaint = (
                    "the file seems to be UTF-16 without a byte order mark: say so "
                    f"with --encoding {name}"
                )
        raise fault(source.path, complaint)
    if is_whole:
        foreign = _first_foreign(io.BytesIO(data), source.path)
    else:
        with source.opened() as handle:
            foreign = _first_foreign(handle, source.path)
    if foreign is None:
        return "utf-8-sig", []
    note = (
        f"the text is not UTF-8 and is read as Windows-1252, as in {shown(foreign)}; "
        "if that is wrong, name its encoding with --encoding."
    )
    return _WINDOWS, [shortened(note)]


def _first_foreign(handle: BinaryIO, path: Path) -> str | None:
    """Return the first word that is not UTF-8, read as Windows-1252; None without.

    A text that has proper characters of UTF-8 before is damaged instead.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    n_lines, is_plain, word = 1, True, None
    for block in itertools.chain(iter(lambda: handle.read(_BLOCK_BYTES), b""), [b""]):
        if word is not None:
            _check_windows(block, path)
            continue
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            i = error.start
            before = error.object[:i]
            n_lines += before.count(b"\n")
            if not (is_plain and before.isascii()):
                raise fault(
                    path,
                    f"the text is UTF-8, but not in line {n_lines}: repair it, or name "
                    "its encoding with --encoding",
                ) from None
            _check_windows(error.object, path)
            word = _word_at(error.object, i)
            continue
        is_plain = is_plain and text.isascii()
        n_lines += block.count(b"\n")
    return word


def _check_windows(block: bytes, path: Path) -> None:
    if _NOT_WINDOWS.search(block):
        raise fault(
            path,
            "is not text in UTF-8 or Windows-1252; if it is text, name its encoding "
            "with --encoding",
        )


def _word_at(data: bytes, i: int) -> str:
    """Return the cell around a byte."""
    before = re.split(rb'[\s,;|"]', data[max(0, i - 20) : i])[-1]
    after = re.split(rb'[\s,;|"]', data[i : i + 20])[0]
    return (before + after).decode(_WINDOWS)


@contextlib.contextmanager
def decoding(path: Path, encoding: str) -> Iterator[None]:
    """Turn errors of decoding into a sentence."""
    try:
        yield
    except UnicodeError:
        name = "UTF-8" if encoding == "utf-8-sig" else encoding
        raise fault(
            path, f"the text is not {name}: name its encoding with --encoding"
        ) from None
