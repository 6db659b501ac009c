"""Regions that a small tree finds."""

import numpy as np
import pytest

from betanll.evaluation._regions import find_regions

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(500, 3))
NAMES = ["age", "weight", "height"]


def test_the_planted_region_is_found():
    is_hard = (X[:, 1] > 0.6) & (X[:, 2] <= 0.5)
    ours = np.where(is_hard, 4.0, 0.01)
    first, *_ = find_regions(X, NAMES, ours, np.full(500, 0.01))
    assert first.description.startswith("weight > 0.")
    assert "height <= 0." in first.description
    assert first.n_rows == is_hard.sum()
    assert first.gain_share == pytest.approx(1)
    np.testing.assert_allclose([first.rmse, first.challenger_rmse], [2.0, 0.1])


def test_an_interval_is_written_as_one():
    ours = np.where((X[:, 0] > 0.3) & (X[:, 0] <= 0.5), 1.0, 0.0)
    first, *_ = find_regions(X, NAMES, ours, np.zeros(500))
    assert first.description.startswith("0.3")
    assert "< age <= 0.5" in first.description or "< age <= 0.49" in first.description


def test_without_a_gain_there_is_no_region():
    assert find_regions(X, NAMES, np.ones(500), np.ones(500)) == []
    assert find_regions(X[:4], NAMES, np.ones(4), np.zeros(4)) == []


def test_rows_without_target_do_not_count():
    ours = np.where(X[:, 1] > 0.6, 4.0, 0.0)
    ours[::2] = np.nan
    first, *_ = find_regions(X, NAMES, ours, np.zeros(500))
    assert first.n_rows == np.sum(X[1::2, 1] > 0.6)
