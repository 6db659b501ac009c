"""Results as text, with checksums that notice changed bits."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from typing import Any, NamedTuple

from betanll.sweeps._task import Task

Rows = list[dict[str, Any]]

#: Levels of nesting in a result row: more could exhaust the stack of a reader.
_MAX_DEPTH = 20


class StoreError(ValueError):
    """A file that is not a store or an export, or one that is damaged."""


class Record(NamedTuple):
    """A result as it is stored."""

    task: str
    rows: str
    seconds: float
    checksum: str

    @classmethod
    def of(cls, task: Task, rows: Rows, seconds: float) -> Record:
        """Describe a result; raise an error if it could not be read back."""
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"seconds must be a duration, got {seconds}")
        texts = task.to_json(), rows_to_json(rows)
        return cls(*texts, float(seconds), checksum(*texts, repr(float(seconds))))

    def read(self) -> tuple[Task, Rows]:
        """Return task and rows; raise a ``ValueError`` if anything has changed."""
        if not isinstance(self.seconds, float):
            raise ValueError("its duration is not a number")
        verify(self.checksum, self.task, self.rows, repr(self.seconds))
        return Task.from_json(self.task), rows_from_json(self.rows)


def checksum(*texts: str) -> str:
    """Return a hash of some texts and of where each of them ends."""
    whole = json.dumps(texts, ensure_ascii=False).encode()
    return hashlib.sha256(whole).hexdigest()


def verify(found: object, *texts: str) -> None:
    """Raise a ``ValueError`` unless `found` is the checksum of these texts."""
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("it is not text")
    try:
        expected = checksum(*texts)
    except UnicodeEncodeError:
        raise ValueError("it is not UTF-8") from None
    if found != expected:
        raise ValueError("its checksum does not match")


def rows_to_json(rows: Any) -> str:
    """Return result rows as JSON, which must be plain and not too deep."""
    _check_rows(rows)
    return json.dumps(rows)


def rows_from_json(text: str) -> Rows:
    """Return the rows of :func:`rows_to_json`; else raise a ``ValueError``."""
    try:
        rows = json.loads(text)
        _check_rows(rows)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return rows


def _check_rows(rows: Any) -> None:
    if not isinstance(rows, list):
        raise TypeError(f"the result is not a list of rows: {_short(rows)}")
    for row in rows:
        if not isinstance(row, dict):
            raise TypeError(f"a result row is not a dictionary: {_short(row)}")
        _check_plain(row, _MAX_DEPTH)


def _check_plain(value: Any, depth: int) -> None:
    """Raise an error unless every number is a float or fits into one, and so on."""
    if depth == 0:
        raise ValueError(f"a result row is nested more than {_MAX_DEPTH} times")
    if isinstance(value, dict):
        for name, part in value.items():
            if not isinstance(name, str):
                raise TypeError(f"a name in a result row is not text: {_short(name)}")
            _check_plain(name, depth - 1)
            _check_plain(part, depth - 1)
    elif isinstance(value, list | tuple):
        for part in value:
            _check_plain(part, depth - 1)
    elif isinstance(value, str):
        value.encode()  # half a character of another encoding cannot be written
    elif isinstance(value, int):
        if abs(value) > sys.float_info.max:
            raise ValueError("a number in a result row is larger than any float")
    elif value is not None and not isinstance(value, float):
        raise TypeError(f"{type(value).__name__} is not JSON: {_short(value)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
