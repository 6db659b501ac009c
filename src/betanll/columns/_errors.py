"""The error of this package, and checks of names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from betanll.sentences import listed, shortened


class TableError(ValueError):
    """A table that cannot be used, with one sentence that says why.

    Examples
    --------
    >>> from betanll.columns import Column
    >>> Column("age", "colour")
    Traceback (most recent call last):
    ...
    betanll.columns._errors.TableError: column 'age' has the unknown kind 'colour'
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(shortened(sentence))


def check_known(names: Iterable[str], columns: Sequence[str]) -> None:
    """Raise for the first name that is no column, with the closest one that is."""
    for name in names:
        if name not in columns:
            close = difflib.get_close_matches(name, columns, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise TableError(
                f"there is no column {name!r}{hint} among {listed(columns)}"
            )


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs for a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
