"""Whether intervals reach where the target never is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from betanll.reports.page import Finding
from betanll.typing import Array

#: Fewer lower bounds below zero are not worth a note.
_MIN_SHARE = 0.01


def on_negative_bounds(target: Array, interval: Array) -> Iterator[Finding]:
    """Yield a note if lower bounds are negative, but no value of the target is.

    Parameters
    ----------
    target : array of shape (n,)
    interval : array of shape (n, 2)

    Examples
    --------
    >>> prices = np.array([1.0, 2.0, 9.0, 4.0])
    >>> interval = np.array([[-1, 3.0], [0.5, 4], [2, 12], [1, 9]])
    >>> next(on_negative_bounds(prices, interval)).text
    '25% of the lower bounds are negative, although no held-out value is: if none can \
be, try --log.'
    """
    seen = target[~np.isnan(target)]
    share = np.mean(interval[:, 0] < 0)
    if len(np.unique(seen)) <= 2 or share < _MIN_SHARE or seen.min() < 0:
        return
    option = "--log" if seen.min() > 0 else "--target-transform log1p"
    yield Finding(
        "note",
        f"{100 * share:.0f}% of the lower bounds are negative, although no held-out "
        f"value is: if none can be, try {option}.",
    )
