"""The errors about a file."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from betanll.columns import TableError


def fault(path: Path, complaint: str) -> TableError:
    """Return the error about a file, by its name."""
    return TableError(f"{path.name}: {complaint}")


def closest(name: str, known: Sequence[str]) -> str:
    """Return a hint at the known name that is most like a wrong one."""
    found = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
