"""Training and test rows: at random, the latest rows, or groups never seen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from benchmarks.real_tables._columns import as_stamps
from benchmarks.real_tables._tables import RealTable

Rows = npt.NDArray[np.intp]

#: Splits 0 to 4 make the report; 5 to 9 of report tables are spare.
N_SPLITS = 10
TEST_SHARE = 0.2
#: The first tested row of split 0 by time comes after half of the rows; the blocks of
#: the five splits follow each other.
_FIRST_TESTED, _BLOCK = 0.5, 0.1
_N_BLOCKS = 5


def split_rows(
    table: RealTable, frame: pd.DataFrame, kind: str, split: int
) -> tuple[Rows, Rows]:
    """Return positions of training and test rows, both in ascending order.

    - ``random``: a fifth of the rows is the test part.
    - ``time``: the test part is a tenth of the rows, the training part all that is
      earlier. Split 0 tests the sixth tenth, split 4 the last. Rows of one time stay
      together; rows without a time take no part.
    - ``group``: groups are drawn until they have a fifth of the rows. Rows without a
      group are training rows.
    """
    if kind not in table.split_kinds:
        raise ValueError(f"{table.name} has no splits by {kind}")
    if not 0 <= split < n_splits(kind):
        raise ValueError(f"there are {n_splits(kind)} splits by {kind}, got {split}")
    if kind == "time":
        return _by_time([as_stamps(frame[name]) for name in table.time], split)
    is_test = np.zeros(len(frame), dtype=bool)
    rng = np.random.default_rng(split)
    if kind == "random":
        is_test[rng.permutation(len(frame))[: round(TEST_SHARE * len(frame))]] = True
    else:
        codes = pd.factorize(frame[table.group])[0]
        sizes = np.bincount(codes[codes >= 0])
        order = rng.permutation(len(sizes))
        before = np.cumsum(sizes[order]) - sizes[order]
        is_test = np.isin(codes, order[before < TEST_SHARE * len(frame)])
        if is_test.all():
            raise ValueError(f"{table.name} has too few groups")
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def n_splits(kind: str) -> int:
    """Return how many splits of a kind there are."""
    return _N_BLOCKS if kind == "time" else N_SPLITS


def _by_time(keys: list[npt.NDArray[np.float64]], split: int) -> tuple[Rows, Rows]:
    times = np.stack(keys)
    rows = np.flatnonzero(~np.isnan(times).any(axis=0))
    # Ranks of distinct times, which compare several columns at once.
    _, ranks = np.unique(times[:, rows], axis=1, return_inverse=True)
    ranks = ranks.reshape(-1)
    begin, end = (
        _FIRST_TESTED + _BLOCK * split,
        _FIRST_TESTED + _BLOCK * (split + 1),
    )
    ordered = np.sort(ranks)
    first = ordered[min(round(begin * len(rows)), len(rows) - 1)]
    last = ordered[min(round(end * len(rows)), len(rows)) - 1]
    if first == 0:
        raise ValueError("there are too few times")
    is_test = (ranks >= first) & (ranks <= max(first, last))
    return rows[ranks < first], rows[is_test]
