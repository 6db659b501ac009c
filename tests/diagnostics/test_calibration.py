"""PIT values and calibration curves."""

import numpy as np
import pytest
from scipy import stats

from betanll.diagnostics import calibration_curve, calibration_error, pit
from betanll.distributions import Mixture, Normal, StudentT
from betanll.metrics import interval_coverage


def standard_normal(n):
    return Normal(np.zeros(n), np.ones(n))


def test_pit_is_the_cdf():
    target = np.array([[-1.0, 0.0], [2.0, np.nan]])
    values = pit(Normal(np.zeros((2, 2)), np.ones((2, 2))), target)
    np.testing.assert_allclose(values, stats.norm.cdf(target), rtol=1e-15)


def test_pit_of_true_samples_is_uniform():
    # 2000 samples of each; the p-values are those of these fixed seeds.
    rng = np.random.default_rng(0)
    normal = Normal(rng.normal(size=2000), rng.uniform(0.1, 3, 2000))
    student = StudentT(np.full(2000, 3.0), normal.mean, normal.std)
    for predictive in (normal, student, Mixture([normal, student.affine(2.0, 5.0)])):
        values = pit(predictive, predictive.sample(1, rng=1)[0])
        assert stats.kstest(values, "uniform").pvalue > 0.01


def test_curve_by_hand():
    # PIT values 0.5, 0.6, 0.1 and 0.95 need the levels 0, 0.2, 0.8 and 0.9.
    target = stats.norm.ppf([0.5, 0.6, 0.1, 0.95])
    levels, fractions = calibration_curve(
        standard_normal(4), target, [0.0, 0.1, 0.5, 0.85, 1.0]
    )
    np.testing.assert_array_equal(levels, [0.0, 0.1, 0.5, 0.85, 1.0])
    np.testing.assert_array_equal(fractions, [0.25, 0.25, 0.5, 0.75, 1.0])
    error = calibration_error(standard_normal(4), target, [0.1, 0.5, 0.85])
    np.testing.assert_allclose(error, (0.15 + 0.0 + 0.1) / 3, rtol=1e-14)


def test_curve_is_the_coverage_of_central_intervals():
    rng = np.random.default_rng(2)
    normal = Normal(rng.normal(size=(50, 2)), rng.uniform(0.5, 2, (50, 2)))
    student = StudentT(np.full((50, 2), 3.0), normal.mean, normal.std)
    target = rng.normal(size=(50, 2))
    target[::9, 0] = np.nan
    for predictive in (normal, student, Mixture([normal, student])):
        levels, fractions = calibration_curve(predictive, target)
        expected = [interval_coverage(predictive.interval(c), target) for c in levels]
        np.testing.assert_array_equal(fractions, expected)


def test_default_levels():
    levels, _ = calibration_curve(standard_normal(1), [0.0])
    np.testing.assert_allclose(levels, np.linspace(0.05, 0.95, 19), rtol=1e-15)


def test_calibration_error_of_perfect_and_of_overconfident_predictions():
    target = stats.norm.ppf((np.arange(10000) + 0.5) / 10000)
    assert calibration_error(standard_normal(10000), target) < 1e-4
    narrow = Normal(np.zeros(10000), np.full(10000, 1e-9))
    assert abs(calibration_error(narrow, target) - 0.5) < 1e-6
    levels, fractions = calibration_curve(narrow, target)
    assert np.all(fractions < levels)


def test_unknown_predictions_give_nan():
    normal = Normal([np.nan, 0.0], [1.0, 1.0])
    assert np.isnan(calibration_error(normal, [0.0, 0.0]))
    assert calibration_error(normal, [np.nan, 0.0], [1.0]) == 0


def test_wrong_arguments_raise():
    normal = standard_normal(3)
    with pytest.raises(ValueError, match="shape of the distribution"):
        pit(normal, 0.0)
    with pytest.raises(ValueError, match="infinite entries"):
        pit(normal, [0.0, 1.0, np.inf])
    with pytest.raises(ValueError, match="no observed target"):
        calibration_curve(normal, np.full(3, np.nan))
    for levels in (0.5, [[0.5]], []):
        with pytest.raises(ValueError, match="must be a sequence"):
            calibration_curve(normal, np.zeros(3), levels)
    for levels in ([-0.1], [90], [np.nan]):
        with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
            calibration_curve(normal, np.zeros(3), levels)
