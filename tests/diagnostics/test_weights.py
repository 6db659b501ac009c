"""Effective sampling probabilities and sample fractions."""

import numpy as np
import pytest
from scipy import stats

from betanll.diagnostics import (
    effective_sample_fraction,
    effective_sampling_probabilities,
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
