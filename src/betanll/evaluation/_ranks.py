"""Ranks that methods share if they do not differ significantly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import stats

from betanll.typing import Array

#: Significance level of the two-sided t test of a mean difference.
_LEVEL = 0.05


def ranks_with_ties(losses: Mapping[str, Array]) -> dict[str, int]:
    """Rank methods by their mean loss on the same rows, the smallest first.

    The best method ties with all methods that do not differ from it by a paired t test
    at 5%. The best of the rest leads the next group, whose rank counts the methods
    before it.

    Parameters
    ----------
    losses : mapping of str to array of shape (n,)
        Loss of each row, in the same order for all methods.

    Examples
    --------
    >>> rows = np.linspace(0, 1, 100)
    >>> noise = 0.1 * np.where(np.arange(100) % 2, 1, -1)
    >>> ranks_with_ties({"a": rows, "b": rows + noise, "c": rows + 1})
    {'a': 1, 'b': 1, 'c': 3}
    """
    # Equal means are sorted by name: the order of the mapping must not matter.
    order = sorted(losses, key=lambda name: (float(np.mean(losses[name])), name))
    ranks: dict[str, int] = {}
    while len(ranks) < len(order):
        rest = [name for name in order if name not in ranks]
        rank, leader = len(ranks) + 1, rest[0]
        for name in rest:
            if not differs(losses[leader], losses[name]):
                ranks[name] = rank
    return {name: ranks[name] for name in losses}


def differs(first: Array, second: Array) -> bool:
    """Return whether two losses on the same rows have different means."""
    if np.array_equal(first, second, equal_nan=True):
        return False
    if len(first) < 2:
        return True
    with np.errstate(invalid="ignore"):  # an infinite loss on both sides
        difference = np.asarray(second) - np.asarray(first)
        error = np.std(difference, ddof=1) / np.sqrt(len(difference))
        critical = stats.t.ppf(1 - _LEVEL / 2, len(difference) - 1)
        return not abs(np.mean(difference)) <= critical * error
