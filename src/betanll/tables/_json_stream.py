"""Values of JSON one by one, from texts that need not fit into memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

#: Longest value, in characters, and how many are read at a time.
_MAX_VALUE, _BLOCK = 2**24, 2**16
_SPACE = re.compile(r"[ \t\r\n]*")


class JsonError(ValueError):
    """A value that cannot be used, with the reason."""


def line_values(handle: TextIO) -> Iterator[Any]:
    """Yield the value of each line that is not blank."""
    while line := handle.readline(_MAX_VALUE):
        if len(line) == _MAX_VALUE:
            raise JsonError("the line is too long")
        if line.strip():
            try:
                yield _DECODER.decode(line)
            except json.JSONDecodeError as error:
                raise _not_json(error) from None


def array_values(handle: TextIO) -> Iterator[Any]:
    """Yield the values of an array."""
    text = _Text(handle)
    text.take("[")
    is_first = True
    while text.next() != "]":
        if not is_first:
            text.take(",")
        yield text.take_value()
        is_first = False
    text.take("]")
    if text.next():
        raise JsonError("something follows the array")


class _Text:
    """The part of a text that is being read."""

    def __init__(self, handle: TextIO) -> None:
        self._handle, self._text, self._place = handle, "", 0

    def next(self) -> str:
        """Return the next character that is no space, "" at the end."""
        while True:
            match = _SPACE.match(self._text, self._place)
            assert match is not None
            self._place = match.end()
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._read_more(_BLOCK):
                return ""

    def take(self, character: str) -> None:
        found = self.next()
        if found != character:
            what = repr(found) if found else "the end of the file"
            raise JsonError(f"is not JSON: {character!r} is expected, not {what}")
        self._place += 1

    def take_value(self) -> Any:
        size = _BLOCK
        self.next()
        while True:
            try:
                value, self._place = _DECODER.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                # The value may only be cut.
                if not self._read_more(size):
                    raise _not_json(error) from None
                if len(self._text) > _MAX_VALUE:
                    raise JsonError("is not JSON, or too long") from None
                size *= 2
            else:
                return value

    def _read_more(self, size: int) -> bool:
        block = self._handle.read(size)
        self._text, self._place = self._text[self._place :] + block, 0
        return bool(block)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, in which no name may hide another one."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise JsonError(f"has the name {name[:40]!r} twice")
        found[name] = value
        for text in (name, value):
            if isinstance(text, str) and not text.isascii() and _is_cut(text):
                raise JsonError(f"the text of {name[:40]!r} is not Unicode")
    return found


def _is_cut(text: str) -> bool:
    """Tell whether a text has half a character, as JSON can spell it."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _integer(digits: str) -> int | float:
    # Python refuses to read thousands of digits.
    return int(digits) if len(digits) < 400 else float(digits)


def _not_json(error: json.JSONDecodeError) -> JsonError:
    return JsonError(
        f"is not JSON ({error.msg}): write one record a line, or an array of records"
    )


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)
