"""Splits that keep blocks of rows together."""

import numpy as np
import pandas as pd
import pytest

from betanll.blocks import RowBlocks, row_blocks, splits_of


def random_blocks(n=200, n_groups=17, seed=0):
    rng = np.random.default_rng(seed)
    return RowBlocks.of_groups(rng.integers(0, n_groups, n))


def assert_parts(blocks, train, held_out):
    assert sorted([*train, *held_out]) == list(range(len(blocks)))
    assert not np.intersect1d(blocks.codes[train], blocks.codes[held_out]).size


def test_no_group_is_on_both_sides():
    blocks = random_blocks()
    parts = [blocks.held_out(0.2, seed) for seed in range(5)]
    for train, held_out in parts:
        assert_parts(blocks, train, held_out)
        assert 20 <= len(held_out) <= 60
    assert len({tuple(held_out) for _, held_out in parts}) > 1


def test_each_group_is_held_out_once():
    blocks = random_blocks()
    folds = blocks.folds(5, seed=0)
    for train, held_out in folds:
        assert_parts(blocks, train, held_out)
    seen = np.concatenate([held_out for _, held_out in folds])
    assert sorted(seen) == list(range(200))
    assert len(RowBlocks.of_groups(list("aabbc")).folds(5)) == 3


def test_held_out_times_are_the_latest():
    times = np.random.default_rng(0).permutation(100)
    blocks = RowBlocks.of_times(times)
    train, held_out = blocks.held_out(0.2)
    assert sorted(times[held_out]) == list(range(80, 100))
    for first, (train, held_out) in zip(
        (17, 33, 50, 67, 83), blocks.folds(5), strict=True
    ):
        assert sorted(times[train]) == list(range(first))
        assert times[held_out].min() == first


def test_rows_of_one_time_stay_together():
    blocks = RowBlocks.of_times(["2020", "2021", "2021", "2021", "2022"])
    for fraction in (0.1, 0.3, 0.5):
        _, held_out = blocks.held_out(fraction)
        assert held_out.tolist() in ([4], [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": ["a", "a"]}, "all rows are of one group, 'a'"),
        ({"times": [3, 3]}, "all rows are of one time, 3"),
        ({"groups": ["a", None]}, "groups has a missing entry in row 1"),
        ({"times": pd.Series(["2020-01-01", None])}, "times has a missing entry in"),
        ({"times": [[1, 2]]}, r"times must have one entry for each row, got \(1, 2\)"),
        ({"groups": [1, 2], "times": [1, 2]}, "by groups or by times: give one"),
    ],
)
def test_useless_labels_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        row_blocks(**arguments)


def test_one_group_is_not_enough_to_train():
    blocks = RowBlocks.of_groups(list("aab"))
    with pytest.raises(ValueError, match="1 group is left for training"):
        blocks[np.array([0, 1])]


def test_independent_rows_are_split_as_scikit_learn_does():
    from sklearn.model_selection import KFold

    expected = list(KFold(3, shuffle=True, random_state=1).split(np.empty((10, 1))))
    for found, same in zip(splits_of(10, None, 3, 1), expected, strict=True):
        np.testing.assert_array_equal(found[0], same[0])
        np.testing.assert_array_equal(found[1], same[1])
