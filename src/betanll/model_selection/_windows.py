"""The validation windows of an ensemble: which rows each member leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from betanll.typing import Rows

#: Fewer rows than these say less than more rows that only one member has not seen.
_MIN_PAIRED = 50


class Window(NamedTuple):
    """Consecutive rows of the ring of all rows."""

    first: int
    n: int


def windows(
    n_members: int, n: int, n_validation: int, starts: Rows | None = None
) -> list[Window]:
    """Return a validation window for each member.

    Windows are evenly spaced and wrap around, if each then begins before the middle of
    the one before. With fewer members they begin in the middle, so that two members
    have not seen the same rows, as long as enough rows can be had in that way.

    With `starts`, the places where blocks of rows begin, evenly spaced windows begin
    and end at the nearest of them, and hold a block at least and half of the rows at
    most.
    """
    if starts is None:
        firsts = [window_start(m, n_members, n, n_validation) for m in range(n_members)]
        return [Window(first, n_validation) for first in firsts]
    ends = np.append(starts, n)
    # Beyond the end the ring begins again.
    cuts = np.unique(np.concatenate([ends, ends + n]))
    found = []
    for wanted in (m * n // n_members for m in range(n_members)):
        first = int(cuts[np.argmin(np.abs(cuts - wanted))])
        last = int(cuts[np.argmin(np.abs(cuts - (wanted + n_validation)))])
        if last <= first:
            last = int(cuts[np.searchsorted(cuts, first, side="right")])
        if 2 * (last - first) > n:
            first, last = last, first + n
        found.append(Window(first % n, last - first))
    return found


def window_start(member: int, n_members: int, n: int, n_validation: int) -> int:
    """Return where the validation window of a member starts, without blocks."""
    if n_members * n_validation < 2 * n and _can_pair(n_members, n, n_validation):
        return member * -(-n_validation // 2)
    return member * n // n_members


def are_paired(parts: Sequence[Window], n: int) -> bool:
    """Return whether an ensemble is judged by rows that two members have not seen."""
    n_validation = round(sum(part.n for part in parts) / len(parts))
    if not _can_pair(len(parts), n, n_validation):
        return False
    # Of few blocks, neighbours may have none in common.
    neighbours = zip(parts, [*parts[1:], parts[0]], strict=True)
    return any(len(shared_rows(one, two, n)) for one, two in neighbours)


def _can_pair(n_members: int, n: int, n_validation: int) -> bool:
    return (
        n_members * n_validation >= 2 * n
        or (n_members - 1) * (n_validation // 2) >= _MIN_PAIRED
    )


def shared_rows(one: Window, two: Window, n: int) -> range:
    """Return the places in the first window whose rows the second begins with."""
    later = (two.first - one.first) % n
    return range(later, max(later, min(one.n, later + two.n)))
