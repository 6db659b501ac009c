"""Which rows each member of an ensemble leaves out."""

import numpy as np
import pytest

from betanll.model_selection._windows import are_paired, windows


@pytest.mark.parametrize("n_members", [1, 2, 5, 10])
@pytest.mark.parametrize("sizes", [[1, 99], [10, 90], [34, 33, 33], [10] * 10])
def test_windows_hold_whole_blocks_and_half_of_the_rows_at_most(n_members, sizes):
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    code = np.repeat(np.arange(len(sizes)), sizes)
    for first, n in windows(n_members, 100, 20, starts):
        inside = code[(first + np.arange(n)) % 100]
        outside = code[(first + n + np.arange(100 - n)) % 100]
        assert not np.intersect1d(inside, outside).size
        assert 0 < n <= 50


def test_windows_without_blocks_are_evenly_spaced():
    assert windows(2, 100, 20) == [(0, 20), (50, 20)]
    assert windows(10, 100, 20)[3] == (30, 20)
    each_alone = np.arange(100)
    assert windows(10, 100, 20, each_alone) == windows(10, 100, 20)


def test_members_are_paired_only_where_windows_meet():
    assert are_paired(windows(10, 1000, 200), 1000)
    apart = windows(2, 1000, 200, np.array([0, 500]))
    assert not are_paired(apart, 1000)
