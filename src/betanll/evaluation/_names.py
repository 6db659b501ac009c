"""Names of columns in reports and diagnoses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def column_names(table: Any, given: Sequence[str] | None, letter: str) -> list[str]:
    """Return the names of columns: those given, those of a data frame, or made up.

    Examples
    --------
    >>> column_names(np.zeros((5, 2)), None, "x")
    ['x0', 'x1']
    """
    columns = getattr(table, "columns", None)
    n = np.shape(table)[1] if np.ndim(table) == 2 else 1
    if given is None:
        return (
            [f"{letter}{i}" for i in range(n)]
            if columns is None
            else [*map(str, columns)]
        )
    if len(given) != n:
        raise ValueError(f"{len(given)} names were given for {n} columns")
    return [str(name) for name in given]
