"""Interval and quantile metrics: hand-made numbers and the identities between them."""

import numpy as np
import pytest

from betanll.distributions import Normal, StudentT
from betanll.metrics import (
    crps,
    interval_coverage,
    interval_score,
    interval_width,
    pinball_loss,
)


def two_outputs(seed=0):
    rng = np.random.default_rng(seed)
    student = StudentT(
        np.full((30, 2), 4.0), rng.normal(size=(30, 2)), np.ones((30, 2))
    )
    return student, 3 * rng.normal(size=(30, 2))


def test_coverage_counts_closed_intervals():
    interval = [[0.0, 1.0]] * 4
    assert interval_coverage(interval, [0.0, 1.0, -1e-9, 1 + 1e-9]) == 0.5
    assert interval_coverage(interval, [0.5, np.nan, np.nan, 2.0]) == 0.5
    # A point is a closed interval too.
    assert interval_coverage([[1.0, 1.0]], [1.0]) == 1


def test_coverage_of_several_outputs():
    interval = np.array([[[0.0, 10.0], [1.0, 20.0]], [[0.0, 10.0], [1.0, 20.0]]])
    assert interval_coverage(interval, [[0.5, 5.0], [0.5, 15.0]]) == 0.75


def test_infinite_bounds_cover_and_nan_bounds_give_nan():
    interval = [[-np.inf, np.inf], [0.0, np.inf]]
    assert interval_coverage(interval, [1e300, -1.0]) == 0.5
    assert interval_width(interval) == np.inf
    assert interval_score(interval, [0.0, 0.0], 0.5) == np.inf
    unknown = [[np.nan, np.nan], [0.0, 1.0]]
    assert np.isnan(interval_coverage(unknown, [0.5, 0.5]))
    assert interval_coverage(unknown, [np.nan, 0.5]) == 1


def test_width_averages_over_rows_and_outputs():
    interval = np.array([[[0.0, 10.0], [1.0, 20.0]], [[0.0, 10.0], [3.0, 12.0]]])
    assert interval_width(interval) == (1 + 10 + 3 + 2) / 4


def test_interval_score_by_hand():
    interval, target = [[0.0, 2.0]] * 3, [1.0, 3.0, -0.5]
    # Width 2, and 2 / 0.1 times the distances 0, 1 and 0.5.
    expected = 2 + 20 * 1.5 / 3
    np.testing.assert_allclose(interval_score(interval, target, 0.9), expected)


def test_interval_score_is_the_pinball_loss_of_both_ends():
    student, target = two_outputs()
    for coverage in (0.5, 0.9):
        levels = [(1 - coverage) / 2, (1 + coverage) / 2]
        pinball = pinball_loss(student.quantile(levels), target, levels)
        score = interval_score(student.interval(coverage), target, coverage)
        np.testing.assert_allclose(score, 4 / (1 - coverage) * pinball, rtol=1e-12)


def test_the_true_interval_has_the_best_score():
    # An even sample of the true distribution stands for the expectation.
    target = Normal(0.0, 1.0).quantile((np.arange(5000) + 0.5) / 5000)
    scores = []
    for std in (0.8, 0.9, 1.0, 1.1, 1.2):
        interval = Normal(np.zeros(5000), np.full(5000, std)).interval(0.9)
        scores.append(interval_score(interval, target, 0.9))
    assert np.argmin(scores) == 2


def test_pinball_loss_by_hand():
    assert pinball_loss([0.0, 4.0], [2.0, 2.0], 0.75) == (1.5 + 0.5) / 2
    assert pinball_loss([[0.0, 4.0]], [2.0], [0.5, 0.5]) == 1
    # The median's pinball loss is half the absolute error.
    assert pinball_loss([1.0, np.nan], [4.0, np.nan], 0.5) == 1.5


def test_crps_is_twice_the_pinball_loss_over_all_levels():
    student, target = two_outputs()
    levels = (np.arange(2000) + 0.5) / 2000
    pinball = pinball_loss(student.quantile(levels), target, levels)
    # The midpoint rule leaves the far ends of the tails out.
    np.testing.assert_allclose(2 * pinball, crps(student, target), rtol=1e-4)


def test_wrong_shapes_raise():
    with pytest.raises(ValueError, match=r"\(n, 2\) or \(n, 2, d\), got \(2,\)"):
        interval_width([0.0, 1.0])
    with pytest.raises(ValueError, match=r"got \(3, 3\)"):
        interval_width(np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"target has shape \(3, 1\).*for \(3,\)"):
        interval_coverage(np.zeros((3, 2)), np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"quantiles have shape \(3, 1\)"):
        pinball_loss(np.zeros((3, 1)), np.zeros(3), 0.5)
    with pytest.raises(ValueError, match="number or a sequence"):
        pinball_loss(np.zeros((3, 0)), np.zeros(3), [])


def test_wrong_values_raise():
    with pytest.raises(ValueError, match="lower bound exceeds"):
        interval_coverage([[1.0, 0.0]], [0.5])
    for coverage in (0.0, 1.0, 90.0, np.nan):
        with pytest.raises(ValueError, match=r"coverage must lie in \(0, 1\)"):
            interval_score([[0.0, 1.0]], [0.5], coverage)
        with pytest.raises(ValueError, match=r"levels must lie in \(0, 1\)"):
            pinball_loss([0.0], [0.5], coverage)
    with pytest.raises(ValueError, match="infinite entries"):
        interval_coverage([[0.0, 1.0]], [np.inf])
    with pytest.raises(ValueError, match="no observed target"):
        interval_coverage([[0.0, 1.0]], [np.nan])
    with pytest.raises(ValueError, match="no interval"):
        interval_width(np.zeros((0, 2)))
