"""Spreads that fit the residuals, and intervals that hold whatever the model."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from betanll.distributions import Mixture, Normal, StudentT
from betanll.estimators._calibration import (
    conformal_factors,
    conformal_scores,
    residuals_of,
    spread_factor,
    student_t_fit,
    with_spread,
    with_tails,
)
from betanll.metrics import log_likelihood, mean_squared_z
from betanll.model_selection import HeldOutResiduals

COVERAGES = [0.01, 0.3, 0.5, 0.8, 0.9, 0.97]


@pytest.fixture(scope="module")
def held_out():
    """50 rows: 10 to calibrate with, 40 to train on as everywhere else."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (50, 2))
    return X, np.sin(3 * X) @ [1.0, -2.0] + 0.3 * rng.normal(size=50)


def calibration_rows(n, seed=0):
    """The rows that ``fit`` sets aside: the first fifth of its permutation."""
    return np.random.RandomState(seed).permutation(n)[: round(0.2 * n)]


# One factor on the spread


def test_spread_factor_is_the_root_mean_square_of_z():
    predictive = Normal([[0.0, 1.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 2.0]])
    target = np.array([[3.0, 5.0], [2.0, np.nan]])
    # z is 3 and 1 for the first target, 2 for the second.
    expected = [math.sqrt(5), 2.0]
    found = spread_factor(residuals_of(predictive, target))
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    weights = np.array([[1.0], [3.0]])
    expected = [math.sqrt((9 + 3) / 4), 2.0]
    found = spread_factor(residuals_of(predictive, target, weights))
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_spread_factor_of_a_target_without_values_is_one():
    predictive = Normal(np.zeros((3, 2)), np.ones((3, 2)))
    target = np.column_stack([np.full(3, 2.0), np.full(3, np.nan)])
    unseen = residuals_of(predictive, target)
    np.testing.assert_array_equal(spread_factor(unseen), [2.0, 1.0])


def test_spread_stays_positive_for_perfect_predictions():
    predictive = Normal(np.zeros((3, 1)), np.ones((3, 1)))
    factor = spread_factor(residuals_of(predictive, np.zeros((3, 1))))
    assert 0 < factor < 1e-3
    assert np.all(with_spread(predictive, factor).std > 0)


@pytest.mark.parametrize("kind", ["normal", "student-t", "mixture"])
def test_with_spread_scales_the_std_and_leaves_the_mean(kind):
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=(2, 30, 2)), rng.uniform(0.5, 2, (2, 30, 2))
    predictive = {
        "normal": Normal(mean[0], std[0]),
        "student-t": StudentT(np.full((30, 2), 5.0), mean[0], std[0]),
        "mixture": Mixture([Normal(mean[0], std[0]), Normal(mean[1], std[1])]),
    }[kind]
    factor = np.array([0.25, 3.0])
    stretched = with_spread(predictive, factor)
    np.testing.assert_allclose(stretched.mean, predictive.mean, rtol=0, atol=1e-14)
    np.testing.assert_allclose(stretched.std, factor * predictive.std, rtol=1e-13)
    # The gain in likelihood of a point is (z2 - 1 - log z2) / 2, z2 the mean square.
    if kind == "normal":
        target = predictive.mean + factor * predictive.std * rng.normal(size=(30, 2))
        factor = spread_factor(residuals_of(predictive, target))
        gain = log_likelihood(with_spread(predictive, factor), target)
        gain -= log_likelihood(predictive, target)
        expected = np.sum(factor**2 - 1 - np.log(factor**2)) / 2
        assert gain == pytest.approx(expected, rel=1e-10)


# Tails


def drawn(df, std, n=20_000, seed=0):
    """Residuals of a Student t with a given standard deviation."""
    z = np.random.default_rng(seed).standard_t(df, (n, 1))
    return HeldOutResiduals(std * z * math.sqrt((df - 2) / df), np.ones((n, 1)))


@pytest.mark.parametrize("std", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("df", [4.0, 12.0])
def test_student_t_fit_finds_spread_and_tails(df, std):
    (found_std,), (found_df,) = student_t_fit(drawn(df, std))
    assert found_df == pytest.approx(df, rel=0.15)
    assert found_std == pytest.approx(std, rel=0.05)


def test_student_t_fit_is_the_maximum_of_the_likelihood():
    unseen = drawn(6.0, 1.3, n=2000)
    z = unseen.residuals[:, 0]
    (std,), (df,) = student_t_fit(unseen)
    fitted = stats.t.logpdf(z, df, scale=std * math.sqrt((df - 2) / df)).sum()
    best_df, _, best_scale = stats.t.fit(z, floc=0)
    # The prior is worth one row of two thousand.
    assert fitted == pytest.approx(
        stats.t.logpdf(z, best_df, 0, best_scale).sum(), abs=0.1
    )


def test_gaussian_residuals_have_light_tails():
    z = np.random.default_rng(1).normal(size=(20_000, 1))
    (std,), (df,) = student_t_fit(HeldOutResiduals(2 * z, np.ones_like(z)))
    assert df > 50
    assert std == pytest.approx(2, rel=0.02)


def test_weights_count_as_repetitions_whatever_their_unit():
    unseen = drawn(5.0, 1.0, n=3000)
    counts = np.random.default_rng(2).integers(0, 3, (3000, 1))
    repeated = np.repeat(unseen.residuals, counts[:, 0], axis=0)
    expected = student_t_fit(HeldOutResiduals(repeated, np.ones_like(repeated)))
    found = student_t_fit(HeldOutResiduals(unseen.residuals, 1e-3 * counts))
    np.testing.assert_allclose(found, expected, rtol=0.02)


def test_student_t_fit_of_nothing_and_of_perfect_predictions():
    residuals = np.column_stack([np.zeros(5), np.ones(5)])
    weights = np.column_stack([np.ones(5), np.zeros(5)])
    std, df = student_t_fit(HeldOutResiduals(residuals, weights))
    assert np.all((std > 0) & (df > 2) & np.isfinite(std) & np.isfinite(df))
    assert std[0] < 1e-3
    assert std[1] == pytest.approx(1, rel=1e-3)


def test_with_tails_keeps_the_mean_and_scales_the_std():
    mixture = Mixture(
        [
            Normal([[0.0], [1.0]], [[1.0], [2.0]]),
            Normal.from_variance([[4.0], [1.0]], [[1.0], [9.0]]),
        ]
    )
    found = with_tails(mixture, np.array([1.5]), np.array([5.0]))
    assert isinstance(found, StudentT)
    np.testing.assert_allclose(found.mean, mixture.mean, rtol=1e-15)
    np.testing.assert_allclose(found.std, 1.5 * mixture.std, rtol=1e-14)
    assert np.all(found.df == 5)


def test_scale_calibration_gives_mean_square_z_of_one_on_its_rows(regressor, held_out):
    X, y = held_out
    rows = calibration_rows(50)
    plain = regressor(calibration="conformal").fit(X, y)
    scaled = regressor(calibration="scale").fit(X, y)
    assert mean_squared_z(scaled.predict_dist(X[rows]), y[rows]) == pytest.approx(1)
    others = np.setdiff1d(np.arange(50), rows)
    assert abs(mean_squared_z(scaled.predict_dist(X[others]), y[others]) - 1) > 1e-3
    # The same training but for the factor.
    (mean, std), (plain_mean, plain_std) = (
        model.predict(X, return_std=True) for model in (scaled, plain)
    )
    np.testing.assert_allclose(mean, plain_mean, rtol=0, atol=1e-14)
    np.testing.assert_allclose(std, scaled.spread_ * plain_std, rtol=1e-13)
    np.testing.assert_array_equal(plain.spread_, 1)
    assert scaled.spread_ != 1
    # And the rows set aside had no part in the training.
    changed = y.copy()
    changed[rows] += 100
    again = regressor(calibration="scale").fit(X, changed)
    np.testing.assert_allclose(again.predict(X), mean, rtol=0, atol=1e-10)
    assert again.spread_ > 10 * scaled.spread_


def test_conformal_calibration_sets_its_scores_aside(regressor, held_out):
    X, y = held_out
    rows = calibration_rows(50)
    model = regressor(calibration="conformal").fit(X, y)
    mean, std = model.predict(X[rows], return_std=True)
    (scores,) = model.conformal_scores_
    np.testing.assert_allclose(scores, np.sort(np.abs(y[rows] - mean) / std))
    # With 10 scores, k = ceil(11 * 0.8) = 9.
    mean, std = model.predict(X, return_std=True)
    expected = np.stack([mean - scores[8] * std, mean + scores[8] * std], axis=1)
    np.testing.assert_allclose(model.predict_interval(X, coverage=0.8), expected)
    # Density, mean and spread stay what they were.
    assert isinstance(model.predict_dist(X), Normal)
    np.testing.assert_array_equal(model.predict_dist(X).std, std)


def test_calibration_needs_rows_to_train_on_as_well(regressor, held_out):
    X, y = held_out
    for calibration in ("scale", "conformal"):
        with pytest.raises(ValueError, match=r"calibration needs more .*n_samples = 3"):
            regressor(calibration=calibration).fit(X[:3], y[:3])


# Conformal factors


def test_factor_is_the_kth_smallest_score():
    scores = np.arange(1.0, 11.0)
    for coverage, k in [(0.05, 1), (0.5, 6), (0.8, 9), (0.9, 10), (10 / 11, 10)]:
        assert conformal_factors([scores], coverage) == k
        assert math.ceil(11 * coverage) == k
    assert conformal_factors([scores], 0.95) == np.inf
    assert conformal_factors([np.empty(0)], 0.5) == np.inf
    # (9 + 1) * 0.7 is a whole number but for rounding, k = 7.
    for n, coverage, k in [(9, 0.7, 7), (99, 0.55, 55), (999, 0.29, 290)]:
        assert conformal_factors([np.arange(1.0, n + 1)], coverage) == k


def test_factors_of_several_targets_and_numbers_of_scores():
    scores = [np.arange(1.0, 10.0), np.array([5.0]), np.empty(0)]
    np.testing.assert_array_equal(conformal_factors(scores, 0.5), [5, 5, np.inf])


def test_coverage_is_k_over_n_plus_one():
    # n = 50, coverage 0.9: k = 46, and 46 / 51 = 0.902 of new points are inside, also
    # for a model that is wrong and data with heavy tails. 4000 data sets of 100 new
    # points; given the data the coverage has a Beta(46, 5) distribution of std 0.041,
    # so that the mean has a standard error of 0.0008. One score less gives 0.882.
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(4000):
        x, noise = rng.normal(size=(150, 1)), rng.standard_t(2, (150, 1))
        y = x**2 + noise
        model = Normal(5 - x, 0.1 + np.abs(x))
        scores = conformal_scores(model[:50], y[:50])
        half_width = conformal_factors(scores, 0.9) * model.std[50:]
        covered.append(np.mean(np.abs(y[50:] - model.mean[50:]) <= half_width))
    assert np.mean(covered) == pytest.approx(46 / 51, abs=0.0033)


# Intervals of the estimator


@pytest.fixture(scope="module")
def bad_model(untrained):
    """Random weights, three targets; it knows nothing of any data."""
    return untrained(n_outputs=3, hidden_sizes=(8,), seed=3)


def new_rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    noise = rng.standard_t(3, (n, 3)) * [0.01, 1.0, 100.0]
    return X, X[:, :1] * [1.0, 10.0, -50.0] + noise


def test_conformal_intervals_cover_whatever_the_model(bad_model):
    model = bad_model.conformalize(*new_rows(400, seed=0))
    X, y = new_rows(4000, seed=1)
    for coverage in (0.5, 0.9):
        low, high = np.moveaxis(model.predict_interval(X, coverage), 1, 0)
        found = np.mean((low <= y) & (y <= high), axis=0)
        # Four standard errors of the calibration and of the test rows.
        error = 4 * np.sqrt(coverage * (1 - coverage) * (1 / 400 + 1 / 4000))
        np.testing.assert_allclose(found, coverage, rtol=0, atol=error)
    # Without calibration that is far off.
    model.conformal_scores_ = None
    low, high = np.moveaxis(model.predict_interval(X, 0.9), 1, 0)
    found = np.mean((low <= y) & (y <= high), axis=0)
    assert np.all(np.abs(found - 0.9) > 0.06)


def test_conformal_intervals_follow_the_formula(bad_model):
    X_cal, y_cal = new_rows(30, seed=0)
    mean, std = bad_model.predict(X_cal, return_std=True)
    scores = np.sort(np.abs(y_cal - mean) / std, axis=0)
    model = bad_model.conformalize(X_cal, y_cal)
    X, _ = new_rows(20, seed=1)
    mean, std = model.predict(X, return_std=True)
    for coverage in COVERAGES[:-1]:
        factor = scores[math.ceil(31 * coverage) - 1]
        expected = np.stack([mean - factor * std, mean + factor * std], axis=1)
        found = model.predict_interval(X, coverage)
        assert found.shape == (20, 2, 3)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    # ceil(31 * 0.97) = 31 scores there are not.
    found = model.predict_interval(X, 0.97)
    np.testing.assert_array_equal(found[:, 0], -np.inf)
    np.testing.assert_array_equal(found[:, 1], np.inf)


@pytest.mark.parametrize("is_conformal", [False, True])
def test_intervals_are_quantiles_and_grow_with_the_coverage(bad_model, is_conformal):
    if is_conformal:
        bad_model.conformalize(*new_rows(30, seed=0))
    else:
        bad_model.conformal_scores_ = None
    X, _ = new_rows(20, seed=1)
    intervals = [bad_model.predict_interval(X, coverage) for coverage in COVERAGES]
    for coverage, interval in zip(COVERAGES, intervals, strict=True):
        ends = bad_model.predict_quantiles(X, [(1 - coverage) / 2, (1 + coverage) / 2])
        np.testing.assert_allclose(np.moveaxis(ends, 2, 1), interval, rtol=1e-12)
    for inner, outer in itertools.pairwise(intervals):
        assert np.all(outer[:, 0] <= inner[:, 0])
        assert np.all(inner[:, 1] <= outer[:, 1])
    median = bad_model.predict_quantiles(X, 0.5)
    np.testing.assert_allclose(median, bad_model.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(bad_model.predict_quantiles(X, 0), -np.inf)
    np.testing.assert_array_equal(bad_model.predict_quantiles(X, 1), np.inf)
    quantiles = bad_model.predict_quantiles(X, [0.1, 0.2, 0.5, 0.7, 0.9])
    assert quantiles.shape == (20, 3, 5)
    assert np.all(np.diff(quantiles, axis=-1) >= 0)


def test_missing_targets_calibrate_each_target_by_its_own_rows(bad_model):
    X_cal, y_cal = new_rows(30, seed=0)
    complete = bad_model.conformalize(X_cal, y_cal).conformal_scores_
    y_cal[:10, 1] = np.nan
    y_cal[:, 2] = np.nan
    scores = bad_model.conformalize(X_cal, y_cal).conformal_scores_
    np.testing.assert_array_equal(scores[0], complete[0])
    alone = bad_model.conformalize(X_cal[10:], y_cal[10:]).conformal_scores_
    np.testing.assert_allclose(scores[1], alone[1], rtol=1e-5)
    assert [len(column) for column in scores] == [30, 20, 0]
    # A target that was never seen has no promise to make.
    interval = bad_model.predict_interval(X_cal, 0.5)
    assert np.all(np.isfinite(interval[:, :, :2]))
    assert np.all(np.isinf(interval[:, :, 2]))


def test_vectors_stay_vectors_after_conformalize(untrained):
    model = untrained(is_vector=True)
    X, y = new_rows(30, seed=0)
    assert model.conformalize(X, y[:, 0]) is model
    assert model.predict_interval(X).shape == (30, 2)
    assert model.predict_quantiles(X, 0.3).shape == (30,)
    assert model.predict_quantiles(X, [0.3, 0.6]).shape == (30, 2)
    column = model.predict_interval(X)
    np.testing.assert_array_equal(
        model.conformalize(X, y[:, :1]).predict_interval(X), column
    )
    with pytest.raises(ValueError, match="30 rows and 1 targets"):
        model.conformalize(X, y)
    with pytest.raises(ValueError, match="30 rows and 1 targets"):
        model.conformalize(X, y[:20, 0])


def test_conformalize_works_after_any_fit(regressor, held_out):
    X, y = held_out
    for changes in ({"calibration": "scale"}, {"objective": "mse"}, {"n_members": 2}):
        n = 50 if "calibration" in changes else 40
        model = regressor(**changes).fit(X[:n], y[:n]).conformalize(X, y)
        low, high = model.predict_interval(X, 0.8).T
        # On the rows themselves k = ceil(51 * 0.8) = 41 of 50 are inside by definition.
        assert np.sum((low - 1e-9 <= y) & (y <= high + 1e-9)) == 41
        # A new fit begins anew.
        assert model.fit(X[:n], y[:n]).conformal_scores_ is None


@pytest.mark.parametrize("is_conformal", [False, True])
def test_levels_and_coverages_are_checked(untrained, is_conformal):
    model = untrained(n_scores=20 if is_conformal else None)
    X = np.zeros((3, 2))
    for coverage in (0.0, 1.0, -0.5, 90, np.nan):
        with pytest.raises(ValueError, match=r"coverage must lie in \(0, 1\)"):
            model.predict_interval(X, coverage)
    for alpha in (-0.1, 1.1, [0.5, np.nan], [[0.5]]):
        with pytest.raises(ValueError, match=r"alpha|level"):
            model.predict_quantiles(X, alpha)
