"""Columns of many levels: what their levels say about the target, and no more."""

import numpy as np
import pandas as pd
import pytest

from betanll.columns import ColumnEncoder
from betanll.columns._levels import N_FOLDS, TargetStatistics

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def table():
    """Eighty cities of different means and spreads, fifty rows each."""
    city = np.repeat(np.arange(80), 50)
    means, spreads = RNG.normal(size=80), np.exp(0.5 * RNG.normal(size=80))
    y = means[city] + spreads[city] * RNG.normal(size=len(city))
    y = (y - y.mean()) / y.std()
    frame = pd.DataFrame({"city": [f"c{i}" for i in city]})
    return frame, y[:, None], means[city], np.log(spreads)[city]


def test_means_and_spreads_are_found(table):
    frame, y, means, log_spreads = table
    encoder, _ = ColumnEncoder.infer(frame).fit_encode(frame, y)
    assert encoder.encoded_names == ("city: mean", "city: spread", "city: rows")
    mean, spread, rows = encoder.encode(frame).T
    assert np.corrcoef(mean, means)[0, 1] > 0.97
    assert np.corrcoef(spread, log_spreads)[0, 1] > 0.9
    np.testing.assert_allclose(rows, np.log1p(50))


def test_a_row_does_not_see_its_own_target(table):
    frame, y, *_ = table
    encoder = ColumnEncoder.infer(frame)
    _, before = encoder.fit_encode(frame, y, random_state=3)
    changed = y.copy()
    changed[7] += 1
    _, after = encoder.fit_encode(frame, changed, random_state=3)
    # The variances of all rows, which every row shares, change in the fourth digit.
    np.testing.assert_allclose(after[7], before[7], rtol=1e-3, atol=1e-3)
    others = np.flatnonzero(frame.city == frame.city[7])
    assert np.median(after[others, 0] - before[others, 0]) > 0.01


def test_levels_without_effect_have_the_mean_of_all(table):
    frame, y, *_ = table
    shuffled = RNG.permutation(y)
    encoder, _ = ColumnEncoder.infer(frame).fit_encode(frame, shuffled)
    assert np.max(np.abs(encoder.encode(frame)[:, 0])) < 0.15
    assert np.max(np.abs(encoder.encode(frame)[:, 1])) < 0.5


def test_unseen_and_missing_levels(table):
    frame, y, *_ = table
    frame = frame.assign(city=frame.city.where(frame.index % 97 != 0))
    encoder, matrix = ColumnEncoder.infer(frame).fit_encode(frame, y)
    assert encoder.encoded_names[-1] == "city is missing"
    assert matrix[0, -1] == 1
    new = encoder.encode(pd.DataFrame({"city": ["new", None, "c1"]}))
    np.testing.assert_array_equal(new[0], [0, 0, 0, 0])
    np.testing.assert_array_equal(new[1], [0, 0, 0, 1])
    assert new[2, 0] != 0


def test_several_targets_weights_and_missing_targets(table):
    frame, y, *_ = table
    two = np.hstack([y, -y])
    two[:, 1][RNG.random(len(y)) < 0.3] = np.nan
    encoder, matrix = ColumnEncoder.infer(frame).fit_encode(frame, two)
    assert encoder.encoded_names[:2] == (
        "city: mean of target 1",
        "city: mean of target 2",
    )
    assert np.isfinite(matrix).all()
    assert np.corrcoef(matrix[:, 0], matrix[:, 1])[0, 1] < -0.9
    # A weight of two is the row twice.
    codes = np.array([0, 0, 1, 1, 1, 1])
    folds = np.arange(6) % N_FOLDS
    y6 = RNG.normal(size=(6, 1))
    rows = [0, 0, *range(1, 6)]
    twice = TargetStatistics.of_rows(codes[rows], 2, y6[rows], np.ones(7), folds[rows])
    weight = np.array([2.0, 1, 1, 1, 1, 1])
    weighted = TargetStatistics.of_rows(codes, 2, y6, weight, folds)
    np.testing.assert_allclose(weighted.describe(), twice.describe())


def test_statistics_by_hand():
    codes = np.array([0, 0, 0, 1, 1, 1])
    y = np.array([[1.0], [2.0], [3.0], [-1.0], [-2.0], [-3.0]])
    found = TargetStatistics.of_rows(codes, 2, y, np.ones(6), np.arange(6))
    within, between = found.variances()
    # Four degrees of freedom; means of 2 and -2 about 0.
    assert within[0] == pytest.approx((2 + 2) / 4)
    assert between[0] == pytest.approx((6 * 4 - 1) / (6 - 3))
    mean, spread, rows = found.describe()[0]
    trust = 3 * between[0] / (3 * between[0] + 1)
    assert mean == pytest.approx(2 * trust)
    around = sum((value - mean) ** 2 for value in (1, 2, 3))
    assert spread == pytest.approx(0.5 * np.log((around + 10) / 13))
    assert rows == pytest.approx(np.log(4))
    np.testing.assert_array_equal(found.describe()[2], [0, 0, 0])
    # Row 0 alone has fold 0.
    alone = found.describe_out_of_fold()[0, 0]
    assert alone[0] == pytest.approx(2.5 * 2 * between[0] / (2 * between[0] + 1))


def test_fifty_thousand_levels():
    n = 100_000
    frame = pd.DataFrame({"tail": [f"n{i % 50_000}" for i in range(n)]})
    y = RNG.normal(size=(n, 1))
    encoder, matrix = ColumnEncoder.infer(frame).fit_encode(frame, y)
    assert matrix.shape == (n, 3)
    assert len(encoder.columns[0].levels) == 50_000


def test_rows_of_one_block_describe_each_other_never():
    """The level of a group tells nothing about the targets of that group."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(50), 8)
    frame = pd.DataFrame({"level": [f"group {i}" for i in group]})
    targets = rng.normal(size=50)[group][:, None]
    encoder = ColumnEncoder.infer(frame)
    _, blind = encoder.fit_encode(frame, targets)
    _, honest = encoder.fit_encode(frame, targets, blocks=group)
    assert np.corrcoef(blind[:, 0], targets[:, 0])[0, 1] > 0.9
    assert np.all(honest[:, 0] == honest[0, 0])
