"""The error of this package, and how names and cells appear in its sentences."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

#: Longest cell or line and most names that a sentence quotes.
MAX_SHOWN, MAX_NAMES = 40, 20


class TableError(ValueError):
    """A table that cannot be used, with one sentence that says why.

    Examples
    --------
    >>> from betanll.tables import TableSchema
    >>> TableSchema.from_dict({})
    Traceback (most recent call last):
    ...
    betanll.tables._errors.TableError: the table schema lacks 'features', ...
    """


def shown(cell: Any) -> str:
    """Return a cell as it appears in a sentence: text in quotes, and shortened."""
    text = str(cell)
    text = text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
    return repr(text) if isinstance(cell, str) else text


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, or the first of very many."""
    quoted = [repr(name) for name in names]
    if len(quoted) > MAX_NAMES:
        more = len(quoted) - MAX_NAMES
        return f"{', '.join(quoted[:MAX_NAMES])} and {more} more"
    return ", ".join(quoted)


def option(flag: str, name: str) -> str:
    """Return a command-line option that can be pasted into a shell."""
    return f"{flag} {shlex.quote(name)}"


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
