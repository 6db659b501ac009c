"""Effective sampling probabilities and sample fractions."""

import numpy as np
import pytest
from scipy import stats

from betanll.diagnostics import (
    beta_tradeoff,
    effective_sample_fraction,
    effective_sampling_probabilities,
    log_variance_spread,
    oracle_sampling_probabilities,
    starved_fraction,
)


def test_probabilities_by_hand():
    variance = [1.0, 4.0, 16.0]
    for beta, weights in ((0.0, [16, 4, 1]), (0.5, [4, 2, 1]), (1.0, [1, 1, 1])):
        expected = np.array(weights) / np.sum(weights)
        actual = effective_sampling_probabilities(variance, beta)
        np.testing.assert_allclose(actual, expected, rtol=1e-14)


def test_the_gradient_of_the_nll_is_an_expectation_under_them():
    # grad NLL = Z E_p[mean - target] with Z = mean(1 / variance).
    rng = np.random.default_rng(0)
    variance, residual = np.exp(rng.normal(size=100)), rng.normal(size=100)
    probabilities = effective_sampling_probabilities(variance, 0.0)
    actual = np.mean(1 / variance) * np.sum(probabilities * residual)
    np.testing.assert_allclose(actual, np.mean(residual / variance), rtol=1e-12)


def test_outputs_are_normalised_by_themselves():
    rng = np.random.default_rng(1)
    variance = np.exp(rng.normal(size=(30, 3)))
    probabilities = effective_sampling_probabilities(variance, 0.3)
    np.testing.assert_allclose(probabilities.sum(axis=0), 1, rtol=1e-14)
    columns = [effective_sampling_probabilities(v, 0.3) for v in variance.T]
    np.testing.assert_allclose(probabilities.T, columns, rtol=1e-14)
    fractions = [effective_sample_fraction(v, 0.3) for v in variance.T]
    actual = effective_sample_fraction(variance, 0.3)
    np.testing.assert_allclose(actual, np.mean(fractions), rtol=1e-14)


def test_the_unit_does_not_matter():
    rng = np.random.default_rng(2)
    variance = np.exp(rng.normal(size=(30, 2)))
    expected = effective_sample_fraction(variance, 0.5)
    actual = effective_sample_fraction(variance * [1e-8, 1e6], 0.5)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_fraction_by_hand_and_its_bounds():
    assert effective_sample_fraction([1.0, 4.0], 0.0) == pytest.approx(1.25**2 / 2.125)
    np.testing.assert_allclose(effective_sample_fraction([2.0] * 5, 0.0), 1)
    # One sample takes all.
    actual = effective_sample_fraction([1e-300, 1.0, 1e300, 1.0], 0.0)
    np.testing.assert_allclose(actual, 0.25, rtol=1e-15)


@pytest.mark.parametrize("tau", [0.3, 0.8])
@pytest.mark.parametrize("beta", [0.0, 0.25, 0.5, 1.0, 1.5])
def test_fraction_of_log_normal_variances(tau, beta):
    # An even sample of the log-normal; the cut tails cost less than 1e-3.
    z = stats.norm.ppf((np.arange(200000) + 0.5) / 200000)
    actual = effective_sample_fraction(np.exp(tau * z), beta)
    np.testing.assert_allclose(actual, np.exp(-(((1 - beta) * tau) ** 2)), rtol=1e-3)


def test_extreme_variances_neither_overflow_nor_vanish():
    variance = np.array([1e-300, 1e-290, 1e300])
    for beta in (-1.0, 0.0, 2.0):
        probabilities = effective_sampling_probabilities(variance, beta)
        np.testing.assert_allclose(probabilities.sum(), 1, rtol=1e-14)
    expected = [1 - 1e-5, 1e-5]
    actual = effective_sampling_probabilities(variance, 0.5)[:2]
    np.testing.assert_allclose(actual, expected, rtol=2e-5)
    assert effective_sample_fraction(variance, 1.0) == pytest.approx(1)


def test_wrong_arguments_raise():
    for variance in ([1.0, 0.0], [-1.0], [np.inf], [np.nan]):
        with pytest.raises(ValueError, match="variance must be positive and finite"):
            effective_sampling_probabilities(variance, 0.5)
    for variance in (1.0, [], np.ones((0, 2))):
        with pytest.raises(ValueError, match="variance has shape"):
            effective_sample_fraction(variance, 0.5)
    for beta in (np.nan, np.inf):
        with pytest.raises(ValueError, match="beta must be finite"):
            effective_sampling_probabilities([1.0], beta)


def test_starved_share_by_hand():
    # Weights 1, 1, 1, 1/100: the mean is 0.7525, a twentieth of it 0.0376.
    assert starved_fraction([1.0, 1.0, 1.0, 100.0], 0.0) == 0.25
    assert starved_fraction([1.0, 1.0, 1.0, 100.0], 0.0, below=0.01) == 0
    assert starved_fraction([1.0, 1.0, 1.0, 100.0], 0.5) == 0
    assert starved_fraction([1.0, 1.0, 1.0, 100.0], 0.5, below=0.2) == 0.25
    # Above 1, samples of small variance are the ones that are ignored.
    assert starved_fraction([1.0, 100.0, 100.0, 100.0], 2.0) == 0.25
    # Outputs by themselves, in any unit.
    variance = np.array([[1.0, 1e9], [1.0, 1e9], [1.0, 1e9], [100.0, 1e9]])
    assert starved_fraction(variance, 0.0) == 0.125
    assert starved_fraction(variance, 1.0) == 0


def test_wrong_thresholds_raise():
    for below in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match=r"below must be in \(0, 1\)"):
            starved_fraction([1.0], 0.0, below=below)


def test_oracle_probabilities_are_those_of_squared_residuals():
    residual = np.array([[1.0, -0.5], [-2.0, 0.0]])
    expected = effective_sampling_probabilities([[1.0, 0.25], [4.0, 1e-8]], beta=0)
    np.testing.assert_allclose(oracle_sampling_probabilities(residual), expected)


@pytest.mark.parametrize("tau", [0.3, 1.0])
@pytest.mark.parametrize("beta", [0.0, 0.25, 0.5, 1.0])
def test_tradeoff_is_that_of_log_normal_variances(tau, beta):
    log_variance = tau * stats.norm.ppf((np.arange(400_000) + 0.5) / 400_000)
    variance = np.exp(log_variance)
    np.testing.assert_allclose(log_variance_spread(variance), tau, rtol=1e-4)
    fraction, efficiency = beta_tradeoff(tau, beta)
    np.testing.assert_allclose(
        effective_sample_fraction(variance, beta), fraction, rtol=2e-3
    )
    # Variance of the weighted mean, relative to weights 1 / variance.
    weight = variance ** (beta - 1)
    of_weighted = np.sum(weight**2 * variance) / np.sum(weight) ** 2
    of_best = 1 / np.sum(1 / variance)
    np.testing.assert_allclose(of_best / of_weighted, efficiency, rtol=2e-3)


def test_tradeoff_is_balanced_in_the_middle():
    for tau in (0.1, 1.0, 3.0):
        fraction, efficiency = beta_tradeoff(tau, 0.5)
        assert fraction == efficiency
        for beta in (0.0, 0.4, 0.6, 1.0):
            assert min(beta_tradeoff(tau, beta)) < fraction


def test_wrong_spreads_raise():
    with pytest.raises(ValueError, match="tau must be finite and not negative"):
        beta_tradeoff(-1.0, 0.5)
    with pytest.raises(ValueError, match="beta must be finite"):
        beta_tradeoff(1.0, float("nan"))
    with pytest.raises(ValueError, match=r"variance has shape \(\)"):
        log_variance_spread(1.0)
