"""Results as text, with checksums that detect changed bits."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from typing import Any, NamedTuple

from betanll.sweeps._task import Task

Rows = list[dict[str, Any]]

#: Most levels of nesting in a result row: more could exhaust the stack of a reader.
_MAX_DEPTH = 20


class StoreError(ValueError):
    """A file is not a store or an export, or is damaged."""


class Record(NamedTuple):
    """A result as it is stored."""

    task: str
    rows: str
    seconds: float
    checksum: str

    @classmethod
    def of(cls, task: Task, rows: Rows, seconds: float) -> Record:
        """Return a result as a record; raise an error if it could not be read back."""
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
    """Return a hash of texts that also depends on where each text ends."""
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
    """Return result rows as JSON; raise if they are not plain, or nested too deep."""
    _check_rows(rows)
    return json.dumps(rows)


def rows_from_json(text: str) -> Rows:
    """Return the rows that :func:`rows_to_json` wrote, or raise a ``ValueError``."""
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
    """Raise an error unless a value is JSON whose numbers fit into floats."""
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
        value.encode()  # raises for lone surrogates, which cannot be written
    elif isinstance(value, int):
        if abs(value) > sys.float_info.max:
            raise ValueError("a number in a result row is larger than any float")
    elif value is not None and not isinstance(value, float):
        raise TypeError(f"{type(value).__name__} is not JSON: {_short(value)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
