"""Sentences that quote what a file contains."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

#: Longest message about a file: a hostile file must not fill the screen.
MAX_LENGTH = 300
#: Longest cell or line and most names that a sentence quotes.
MAX_SHOWN, MAX_NAMES = 40, 20
_GAP = " ... "


def shortened(text: str) -> str:
    """Return text on one line of at most `MAX_LENGTH` printable characters.

    The middle is cut out: a sentence begins with where the fault is and ends with what
    to do about it.

    Examples
    --------
    >>> shortened("column 'a' is\\nempty")
    "column 'a' is empty"
    >>> len(shortened("x" * 1000))
    300
    """
    if len(text) > 4 * MAX_LENGTH:
        text = text[: 2 * MAX_LENGTH] + text[-2 * MAX_LENGTH :]
    text = "".join(map(_printable, text.strip()))
    if len(text) <= MAX_LENGTH:
        return text
    half = (MAX_LENGTH - len(_GAP)) // 2
    return text[: MAX_LENGTH - len(_GAP) - half] + _GAP + text[-half:]


def _printable(character: str) -> str:
    if character.isspace():
        return " "
    # File names that are not text contain such surrogates, which can be printed.
    is_fine = character.isprintable() or "\udc80" <= character <= "\udcff"
    return character if is_fine else repr(character)[1:-1]


def shown(cell: Any) -> str:
    """Return a cell as it appears in a sentence: text in quotes, and shortened."""
    try:
        text = str(cell)
    except ValueError:  # Python refuses to spell out thousands of digits
        return "a huge number"
    text = text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
    return repr(text) if isinstance(cell, str) else text


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, or the first of very many."""
    quoted = [repr(name) for name in names]
    if len(quoted) > MAX_NAMES:
        more = len(quoted) - MAX_NAMES
        return f"{', '.join(quoted[:MAX_NAMES])} and {more} more"
    return ", ".join(quoted)


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, align: str = ""
) -> str:
    """Return a table of Markdown, whose cells are Markdown themselves.

    :class:`betanll.reports.Table` is for cells that are plain text.

    Parameters
    ----------
    head : sequence of str
    rows : iterable of sequences of str
    align : str, optional
        A letter for each column, "l" or "r"; by default all are left.

    Examples
    --------
    >>> print(markdown_table(["loss", "CRPS"], [["`nll`", "0.6"]], align="lr"))
    | loss | CRPS |
    |---|--:|
    | `nll` | 0.6 |
    """
    align = align or "l" * len(head)
    rule = "|".join("--:" if letter == "r" else "---" for letter in align)
    cells = ([cell.replace("|", r"\|") for cell in row] for row in (head, *rows))
    first, *rest = (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join([first, f"|{rule}|", *rest])


def option(flag: str, name: str) -> str:
    """Return a command-line option that can be pasted into a shell."""
    return f"{flag} {shlex.quote(name)}"
