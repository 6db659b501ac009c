"""Targets learnt as logarithms or logits: densities, intervals, saving, refusals."""

import warnings

import numpy as np
import pandas as pd
import pytest

from betanll import HeteroscedasticRegressor
from betanll.distributions import Identity, Log, Logit, Transformed
from betanll.estimators import _transform_pilot, from_state, to_state
from betanll.estimators._transform_pilot import may_gain

ROWS = np.random.default_rng(9).normal(size=(17, 2))


@pytest.fixture(scope="module")
def prices(table):
    """40 rows of two inputs and prices, whose logarithm is the usual target."""
    return table[0], np.exp(table[1])


@pytest.fixture(scope="module")
def logged(regressor, prices):
    """An ensemble of the logarithm; do not change it."""
    return regressor(
        target_transform="log", refit=False, n_members=3, calibration="scale"
    ).fit(*prices)


def test_none_leaves_every_bit_as_it_was(regressor, prices, bits):
    for changes in ({}, {"calibration": "conformal"}, {"refit": False, "n_members": 2}):
        plain = regressor(**changes).fit(*prices)
        for given in (None, [None], "none"):
            model = regressor(**changes, target_transform=given).fit(*prices)
            assert bits(model.members_) == bits(plain.members_)
            found = model.predict(ROWS, return_std=True, return_interval=0.8)
            expected = plain.predict(ROWS, return_std=True, return_interval=0.8)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
            assert model.target_transform_ == (Identity(),)
    # What "auto" does not touch is fitted from the same random numbers, too.
    X, y = prices
    plain, auto = (
        regressor(target_transform=given).fit(X, -y) for given in (None, "auto")
    )
    assert bits(auto.members_) == bits(plain.members_)


def test_the_network_is_that_of_the_logarithms(regressor, prices, logged, bits):
    X, y = prices
    model = regressor(refit=False, n_members=3, calibration="scale").fit(X, np.log(y))
    assert bits(model.members_) == bits(logged.members_)
    predictive, of_log = logged.predict_dist(ROWS), model.predict_dist(ROWS)
    assert isinstance(predictive, Transformed)
    levels = [0.05, 0.5, 0.9]
    expected = np.exp(of_log.quantile(levels))
    np.testing.assert_allclose(logged.predict_quantiles(ROWS, levels), expected)
    bounds = np.exp(model.predict_interval(ROWS, 0.8))
    np.testing.assert_allclose(logged.predict_interval(ROWS, 0.8), bounds)
    # Change of variables: the density of y is that of log y divided by y.
    density = model.log_likelihood(X, np.log(y)) - np.mean(np.log(y))
    assert logged.log_likelihood(X, y) == pytest.approx(density, rel=1e-12)
    draws = logged.sample(ROWS, 50_000, random_state=0)
    mean, std = logged.predict(ROWS, return_std=True)
    error = 6 * std / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < error)


def test_parts_of_the_variance_are_in_the_unit_of_the_target(logged):
    noise, disagreement = logged.predict_parts(ROWS)
    np.testing.assert_allclose(noise + disagreement, logged.predict_var(ROWS))
    assert np.all(disagreement > 0)
    # The law of total variance, member by member.
    members = logged.predict_dist(ROWS).members
    means = np.array([member.mean for member in members.components])
    np.testing.assert_allclose(disagreement, means.var(axis=0), rtol=1e-9)


def test_predictions_never_leave_the_support(regressor, prices):
    X, y = prices
    far = 50 * ROWS
    for calibration in ("scale", "conformal", None):
        model = regressor(target_transform="log", calibration=calibration).fit(X, y)
        assert np.all(model.predict_interval(far, 0.999) >= 0)
        assert np.all(model.predict_quantiles(far, [0, 1e-6]) >= 0)
        assert np.all(model.sample(far, 100, random_state=0) >= 0)
    share = y / (y.max() + 1)
    model = regressor(target_transform="logit", calibration="conformal").fit(X, share)
    bounds = model.predict_interval(far, 0.99)
    assert bounds.min() >= 0
    assert bounds.max() <= 1
    mean = model.predict(X)
    assert np.all((mean > 0) & (mean < 1))


def test_conformal_scores_are_those_of_logarithms(regressor, prices):
    X, y = prices
    model = regressor(target_transform="log", calibration="conformal").fit(X, y)
    of_log = regressor(calibration="conformal").fit(X, np.log(y))
    expected = np.exp(of_log.predict_interval(ROWS, 0.7))
    np.testing.assert_allclose(model.predict_interval(ROWS, 0.7), expected)
    levels = [0.2, 0.5, 0.8]
    expected = np.exp(of_log.predict_quantiles(ROWS, levels))
    np.testing.assert_allclose(model.predict_quantiles(ROWS, levels), expected)
    model.conformalize(X, y)
    of_log.conformalize(X, np.log(y))
    np.testing.assert_allclose(model.conformal_scores_, of_log.conformal_scores_)
    # A value that was thought impossible is as far off as can be.
    model.conformalize(X[:3], [-1.0, 0.0, 1.0])
    assert list(np.isinf(model.conformal_scores_[0])) == [False, True, True]


def test_several_targets_with_weights_and_gaps(regressor, prices):
    X, y = prices
    targets = np.column_stack([y, -y, 1 / (1 + y)])
    targets[3, 0] = targets[5, 2] = np.nan
    given = ["log", None, Logit()]
    model = regressor(
        target_transform=given, refit=False, n_members=2, calibration="scale"
    ).fit(X, targets, sample_weight=np.linspace(0.5, 2, 40))
    assert model.target_transform_ == (Log(), Identity(), Logit())
    mean, std, interval = model.predict(X, return_std=True, return_interval=0.9)
    assert mean.shape == std.shape == (40, 3)
    assert np.all(interval[:, 0, 0] > 0)
    assert np.all(interval[:, 0, 1] < 0)
    assert np.all((interval[:, :, 2] > 0) & (interval[:, :, 2] < 1))
    assert np.isfinite(model.log_likelihood(X, np.nan_to_num(targets, nan=0.5)))
    assert np.all(np.isfinite(model.predict_parts(X)))
    assert model.score(X, np.nan_to_num(targets, nan=0.5)) < 1
    assert model.predict_dist(X).crps(targets).shape == (40, 3)
    assert list(model.predict_frame(X))[4] == "y1_mean"


@pytest.mark.parametrize(
    "given", ["log", "log1p", "logit:0:1000", Log(-2.0), [Log(-3.0)], "auto"]
)
def test_saved_models_predict_the_same_bits(regressor, prices, same_bits, given):
    X, y = prices
    model = regressor(target_transform=given).fit(X, pd.DataFrame({"price": y}))
    loaded = from_state(HeteroscedasticRegressor, *to_state(model))
    assert same_bits(model, loaded)
    assert loaded.target_transform_ == model.target_transform_
    expected = tuple(given) if isinstance(given, list) else given
    assert loaded.target_transform == expected
    assert list(loaded.predict_frame(ROWS)) == list(model.predict_frame(ROWS))


def test_models_of_earlier_versions_have_no_transform(regressor, prices, same_bits):
    model = regressor().fit(*prices)
    configuration, arrays = to_state(model)
    del configuration["target_transforms"], configuration["target_names"]
    del configuration["parameters"]["target_transform"]
    loaded = from_state(HeteroscedasticRegressor, configuration, arrays)
    assert same_bits(model, loaded)
    assert loaded.target_transform_ == (Identity(),)


# "auto"


def skewed(n=600, seed=1):
    """Return a target that spans orders of magnitude: the logarithm is far better."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.exp(3 * X[:, 0] + 0.8 * rng.normal(size=n))


def test_auto_finds_the_logarithm_and_leaves_other_targets_alone(regressor):
    X, y = skewed()
    model = regressor(preset="fast", target_transform="auto", max_updates=2000).fit(
        X, np.column_stack([y, np.log(y), -y])
    )
    assert model.target_transform_ == (Log(), Identity(), Identity())
    assert model.df_ is None


def test_auto_believes_the_pilot_more_than_the_skew(regressor, monkeypatch):
    X, y = skewed()
    y = np.random.default_rng(1).uniform(1e-6, 1, len(y))
    model = regressor(preset="fast", target_transform="auto", max_updates=200)
    # It is not skewed, so no pilot is needed.
    assert not may_gain(y)
    monkeypatch.setattr(_transform_pilot, "may_gain", lambda column: True)
    assert model.fit(X, y).target_transform_ == (Identity(),)


def test_auto_does_the_same_for_each_objective(regressor):
    X, y = skewed()
    for objective in ("nll", "mse"):
        model = regressor(
            preset="fast",
            target_transform="auto",
            objective=objective,
            max_updates=2000,
        ).fit(X, y)
        assert model.target_transform_ == (Log(),)
    # The exponential of a Student t has no mean.
    for changes in ({"objective": "student-t"}, {"calibration": "student-t"}):
        model = regressor(
            preset="fast", target_transform="auto", max_updates=300, **changes
        )
        assert model.fit(X, y).target_transform_ == (Identity(),)


def test_the_default_preset_is_calibrated_without_tails():
    X, y = skewed()
    model = HeteroscedasticRegressor(
        preset="fast", target_transform="log", random_state=0, max_updates=500
    ).fit(X, y)
    assert model.df_ is None
    assert model.spread_ != 1
    assert np.all(np.isfinite(model.predict(X, return_std=True)))


# Refusals


@pytest.mark.parametrize(
    ("changes", "y", "message"),
    [
        (
            {},
            [0.0, 1.0],
            'above 0 alone, but 20 of 40 .* such as 0: zeros need "log1p"',
        ),
        ({}, [-3.0, 1.0], "above 0 alone, but 20 of 40 values of the target.* -3$"),
        ({"target_transform": "logit"}, [0.5, 1.0], "between 0 and 1 alone"),
        ({"target_transform": ["log", "log"]}, [1.0, 2.0], "2 entries for 1 target"),
        ({"calibration": "student-t"}, [1.0, 2.0], "no mean: choose"),
        ({"objective": "student-t"}, [1.0, 2.0], "no mean: choose"),
        ({"target_transform": "cube"}, [1.0, 2.0], "unknown transform 'cube'"),
        ({"target_transform": 3}, [1.0, 2.0], "target_transform must be None"),
        ({"target_transform": "logit:1"}, [1.0, 2.0], "low must be below high"),
    ],
)
def test_what_cannot_be_is_refused(regressor, table, changes, y, message):
    model = regressor(**{"target_transform": "log", **changes})
    with pytest.raises(ValueError, match=message):
        model.fit(table[0], np.tile(y, 20))


def test_export_to_torch_is_refused(logged):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="target_transform=None"):
        logged.to_torch()


def test_no_warning_is_raised_for_values_beyond_the_support(logged, prices):
    X, y = prices
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert logged.log_likelihood(X, -y) == -np.inf
        assert np.all(logged.predict_dist(X).cdf(-y) == 0)
