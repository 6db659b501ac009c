"""What a fit predicts: units, one distribution for all, and ensembles."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from betanll import HeteroscedasticRegressor, preprocessing
from betanll.distributions import Mixture, Normal
from betanll.model_selection import LEARNING_RATES

ROWS = np.random.default_rng(9).normal(size=(17, 2))


# What it is for


def test_mean_noise_and_intervals_are_found():
    # The noise is 0.5 on the left and 3 on the right of a sine of height 10.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1000, 1))
    noise = np.where(X[:, 0] < 0, 0.5, 3.0)
    y = 200 + 10 * np.sin(3 * X[:, 0]) + noise * rng.normal(size=1000)
    model = HeteroscedasticRegressor(
        preset="paper", max_updates=2000, random_state=0
    ).fit(X, y)
    x = np.linspace(-0.9, 0.9, 50)[:, None]
    mean, std = model.predict(x, return_std=True)
    truth, spread = 200 + 10 * np.sin(3 * x[:, 0]), np.where(x[:, 0] < 0, 0.5, 3.0)
    is_clear = np.abs(x[:, 0]) > 0.2
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.8
    assert np.all(np.abs(np.log(std / spread))[is_clear] < 0.5)
    assert model.score(X, y) == r2_score(y, model.predict(X)) > 0.9
    # A constant of the right spread would reach the entropy of N(0, 1.75^2) at best.
    assert model.log_likelihood(X, y) > -1.9
    assert model.best_learning_rate_ in LEARNING_RATES
    assert model.beta_ == 0.5


# Units


def test_a_power_of_two_as_unit_gives_the_same_bits(regressor, table, fitted):
    X, y = table
    mean, std = fitted.predict(ROWS, return_std=True)
    for factor in (2.0**-100, 2.0**100):
        model = regressor().fit(X, factor * y)
        found = model.predict(ROWS, return_std=True)
        np.testing.assert_array_equal(found, (factor * mean, factor * std))
        np.testing.assert_array_equal(model.predict_var(ROWS), (factor * std) ** 2)
        np.testing.assert_array_equal(
            model.predict_interval(ROWS), factor * fitted.predict_interval(ROWS)
        )
        lost = fitted.log_likelihood(X, y) - model.log_likelihood(X, factor * y)
        assert lost == pytest.approx(np.log(factor), abs=1e-10)
    units = np.array([2.0**60, 2.0**-60])
    model = regressor().fit(X * units, y)
    np.testing.assert_array_equal(model.predict(ROWS * units, True), (mean, std))


@pytest.mark.parametrize(
    ("factor", "shift"), [(1e-30, 0.0), (1e30, 0.0), (1.0, 1e4), (1e30, -1e31)]
)
def test_any_unit_and_origin_give_the_same_fit(regressor, table, fitted, factor, shift):
    X, y = table
    model = regressor().fit(X, factor * y + shift)
    assert model.n_iter_ == fitted.n_iter_
    mean, std = model.predict(X, return_std=True)
    expected_mean, expected_std = fitted.predict(X, return_std=True)
    # Whitened data differs in the last bits; 200 updates let that grow a little.
    np.testing.assert_allclose((mean - shift) / factor, expected_mean, atol=1e-3)
    np.testing.assert_allclose(std / factor, expected_std, rtol=1e-3)
    lost = fitted.log_likelihood(X, y) - model.log_likelihood(X, factor * y + shift)
    assert lost == pytest.approx(np.log(factor), abs=1e-2)


def test_predictions_are_the_network_between_the_two_whitenings(fitted, table):
    # By hand, in double precision: relu(W x + b), softplus for the variance.
    X, _ = table
    hidden, head = fitted.members_[0]
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    features = np.maximum(z @ hidden["weight"].T + hidden["bias"].T, 0)
    raw = features @ head["weight"].T + head["bias"].T
    variance = np.logaddexp(0, raw[:, 1] + np.log(np.expm1(1 - 1e-8))) + 1e-8
    y = table[1]
    mean, std = fitted.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y.mean() + y.std() * raw[:, 0], rtol=1e-5)
    np.testing.assert_allclose(std, y.std() * np.sqrt(variance), rtol=1e-5)


def test_prediction_does_not_depend_on_how_many_rows_are_asked_for(fitted, monkeypatch):
    mean, std = fitted.predict(ROWS, return_std=True)
    monkeypatch.setattr(preprocessing, "_CHUNK", 5)
    np.testing.assert_allclose(fitted.predict(ROWS), mean, rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(ROWS[3:4], True)[1], std[3:4], rtol=1e-6)


# Members of the predict family


def test_all_predictions_come_from_one_distribution(fitted, table):
    X, y = table
    predictive = fitted.predict_dist(X)
    assert isinstance(predictive, Normal)
    assert predictive.shape == (40,)
    mean, std = fitted.predict(X, return_std=True)
    np.testing.assert_array_equal(fitted.predict(X), mean)
    np.testing.assert_array_equal(predictive.mean, mean)
    np.testing.assert_array_equal(predictive.std, std)
    np.testing.assert_array_equal(fitted.predict_var(X), std**2)
    np.testing.assert_array_equal(
        fitted.predict_interval(X, 0.7), predictive.interval(0.7)
    )
    np.testing.assert_array_equal(
        fitted.predict_interval(X), fitted.predict_interval(X, coverage=0.9)
    )
    levels = [0.1, 0.5]
    np.testing.assert_array_equal(
        fitted.predict_quantiles(X, levels), predictive.quantile(levels)
    )
    samples = fitted.sample(X, 5, random_state=1)
    np.testing.assert_array_equal(samples, predictive.sample(5, rng=1))
    log_prob = predictive.log_prob(y).mean()
    assert fitted.log_likelihood(X, y) == pytest.approx(log_prob, rel=1e-14)
    aleatoric, epistemic = fitted.predict_parts(X)
    np.testing.assert_array_equal(aleatoric, std**2)
    np.testing.assert_array_equal(epistemic, 0)


# Ensembles


def test_an_ensemble_of_one_is_the_single_model(
    same_bits, bits, regressor, table, fitted
):
    alone = regressor(n_members=1).fit(*table)
    assert bits(alone.members_) == bits(fitted.members_)
    assert same_bits(alone, fitted)


def test_the_first_member_is_the_single_model(bits, ensemble, fitted):
    assert bits(ensemble.members_[:1]) == bits(fitted.members_)
    assert ensemble.n_iter_ == fitted.n_iter_
    assert ensemble.search_results_ == fitted.search_results_
    # The others are different networks.
    assert len({member[0]["weight"].tobytes() for member in ensemble.members_}) == 3


def test_the_first_member_is_the_single_model_with_a_calibration_too(bits, regressor):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    alone, several = (
        regressor(n_members=n, calibration="scale").fit(X, y) for n in (1, 2)
    )
    assert bits(several.members_[:1]) == bits(alone.members_)


def test_ensemble_moments_are_those_of_the_mixture(ensemble):
    predictive = ensemble.predict_dist(ROWS)
    assert isinstance(predictive, Mixture)
    means = np.array([part.mean for part in predictive.components])
    variances = np.array([part.variance for part in predictive.components])
    assert means.shape == (3, 17)
    mean, std = ensemble.predict(ROWS, return_std=True)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-13)
    # E[v + m^2] - E[m]^2, the second moment of the mixture.
    variance = np.mean(variances + means**2, axis=0) - means.mean(axis=0) ** 2
    np.testing.assert_allclose(std**2, variance, rtol=1e-8)
    aleatoric, epistemic = ensemble.predict_parts(ROWS)
    np.testing.assert_allclose(aleatoric, variances.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(epistemic, means.var(axis=0, ddof=0), rtol=1e-10)
    np.testing.assert_array_equal(ensemble.predict_var(ROWS), aleatoric + epistemic)
    assert np.all(epistemic > 0)
    # Averaged standard deviations are smaller, always.
    assert np.all(std > np.sqrt(variances).mean(axis=0) * (1 + 1e-6))


def test_ensemble_density_is_the_mean_of_densities(ensemble, table):
    X, y = table
    parts = ensemble.predict_dist(X).components
    densities = np.mean([np.exp(part.log_prob(y)) for part in parts], axis=0)
    expected = np.log(densities).mean()
    assert ensemble.log_likelihood(X, y) == pytest.approx(expected, rel=1e-10)


def test_equal_members_do_not_disagree(untrained):
    model = untrained(n_members=2, n_outputs=2)
    model.members_[1] = model.members_[0]
    alone = untrained(n_members=2, n_outputs=2)
    alone.members_ = model.members_[:1]
    np.testing.assert_array_equal(model.predict_parts(ROWS).epistemic, 0)
    np.testing.assert_allclose(
        model.predict(ROWS, True), alone.predict(ROWS, True), rtol=1e-14
    )
