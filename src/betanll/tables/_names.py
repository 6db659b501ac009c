"""Names of columns: each one a column, whatever the header says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from betanll.sentences import listed, shortened, shown


class Names(NamedTuple):
    """Distinct names, those of columns without one, and what to say about them."""

    columns: tuple[str, ...]
    nameless: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def numbered(n: int) -> Names:
    """Return the names of columns without header."""
    return Names(tuple(f"column_{i}" for i in range(1, n + 1)))


def unique_names(header: Sequence[str]) -> Names:
    """Return a name of its own for every column.

    The same header gives the same names, in training and in prediction.

    Examples
    --------
    >>> unique_names(["x", "", "x"]).columns
    ('x', 'column_2', 'x.2')
    """
    taken = {name for name in header if name}
    seen: set[str] = set()
    places: defaultdict[str, list[int]] = defaultdict(list)
    columns: list[str] = []
    for i, name in enumerate(header, 1):
        unique = name or f"column_{i}"
        if name in seen or (not name and unique in taken):
            base, k = unique, 2
            while (unique := f"{base}.{k}") in taken:
                k += 1
        taken.add(unique)
        seen.update({name} - {""})
        places[name].append(i)
        columns.append(unique)
    nameless = tuple(columns[i - 1] for i in places.pop("", []))
    notes = [
        f"the name {shown(name)} is shared by {len(where)} columns, which are called "
        f"{listed(columns[i - 1] for i in where)}."
        for name, where in places.items()
        if len(where) > 1
    ]
    return Names(tuple(columns), nameless, tuple(map(shortened, notes)))
