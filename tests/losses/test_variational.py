import math

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from betanll.losses import (
    expected_gaussian_log_prob,
    gamma_entropy,
    gamma_kl,
    gamma_mixture_log_prob,
    standard_normal_kl,
    student_t_nll,
)

_random = np.random.default_rng(4)
MEAN = _random.normal(size=(16, 3))
SHAPE = 1 + 10 ** _random.uniform(-3, 1.5, size=(16, 3))
RATE = 10 ** _random.uniform(-3, 2, size=(16, 3))
PRIOR_SHAPE = 10 ** _random.uniform(-1, 1, size=(16, 3))
PRIOR_RATE = 10 ** _random.uniform(-1, 1, size=(16, 3))
TARGET = _random.normal(scale=2.0, size=(16, 3))

# PyTorch knows the trigamma function, which derivatives by the shape contain, to eight
# digits even in double precision.
TRIGAMMA_ERROR = 1e-7

positive = st.floats(0.05, 50)


# Expected log-density


def test_expected_log_prob_worked_out_by_hand():
    # digamma(2) = 1 - gamma; with rate 1 and residual 3 the quadratic term is 18.
    expected = 0.5 * (1 - np.euler_gamma - math.log(2 * math.pi) - 18)
    two, one = np.array([2.0]), np.array([1.0])
    assert_allclose(
        expected_gaussian_log_prob(one, two, one, 4 * one), [expected], rtol=1e-14
    )


@pytest.mark.parametrize(
    ("shape", "rate", "residual"),
    [(1.5, 0.5, 0.3), (4.0, 2.0, -1.0), (20.0, 0.1, 0.05)],
)
def test_expected_log_prob_is_an_expectation(shape, rate, residual):
    samples = np.random.default_rng(5).gamma(shape, 1 / rate, size=200_000)
    log_prob = scipy.stats.norm.logpdf(residual, scale=1 / np.sqrt(samples))
    standard_error = log_prob.std() / math.sqrt(len(samples))
    expectation = expected_gaussian_log_prob(0.0, shape, rate, np.array([residual]))
    assert abs(log_prob.mean() - expectation[0]) < 3 * standard_error


@given(shape=positive, rate=positive, residual=st.floats(-20, 20))
def test_expected_log_prob_never_exceeds_the_marginal(shape, rate, residual):
    target = np.array([residual])
    expectation = expected_gaussian_log_prob(0.0, shape, rate, target)
    assert expectation <= -student_t_nll(0.0, shape, rate, target)


def test_expected_log_prob_gradients(derivatives):
    residual = TARGET - MEAN
    _, (by_mean, by_shape, by_rate, _) = derivatives(
        expected_gaussian_log_prob, MEAN, SHAPE, RATE, TARGET
    )
    assert_allclose(by_mean, SHAPE / RATE * residual, rtol=1e-13)
    trigamma = scipy.special.polygamma(1, SHAPE)
    expected = 0.5 * (trigamma - residual**2 / RATE)
    assert_allclose(by_shape, expected, rtol=TRIGAMMA_ERROR)
    expected = 0.5 * (-1 / RATE + SHAPE / RATE**2 * residual**2)
    assert_allclose(by_rate, expected, rtol=1e-10, atol=1e-12)


# Entropy and divergence


def test_entropy_is_that_of_scipy():
    expected = scipy.stats.gamma.entropy(SHAPE, scale=1 / RATE)
    assert_allclose(gamma_entropy(SHAPE, RATE), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.torch
def test_entropy_and_divergence_are_those_of_torch():
    torch = pytest.importorskip("torch")
    posterior = torch.distributions.Gamma(*map(torch.tensor, (SHAPE, RATE)))
    prior = torch.distributions.Gamma(*map(torch.tensor, (PRIOR_SHAPE, PRIOR_RATE)))
    assert_allclose(
        gamma_entropy(SHAPE, RATE), posterior.entropy(), rtol=1e-12, atol=1e-13
    )
    divergence = torch.distributions.kl_divergence(posterior, prior)
    assert_allclose(
        gamma_kl(SHAPE, RATE, PRIOR_SHAPE, PRIOR_RATE), divergence, rtol=1e-12
    )


def test_divergence_worked_out_by_hand():
    # Between exponentials: log(b1 / b0) + b0 / b1 - 1.
    one, half = np.array([1.0]), np.array([0.5])
    expected = math.log(2) + 0.5 - 1
    assert_allclose(gamma_kl(one, one, one, half), [expected], rtol=1e-14)
    # Between equal rates, by digamma(2) = 1 - gamma and Gamma(2) = Gamma(1) = 1.
    assert_allclose(gamma_kl(2 * one, one, one, one), [1 - np.euler_gamma], rtol=1e-14)
    assert_allclose(gamma_kl(SHAPE, RATE, SHAPE, RATE), 0, atol=1e-13)


def test_divergence_is_an_expectation():
    shape, rate, prior_shape, prior_rate = 2.5, 1.5, 1.2, 0.4
    posterior = scipy.stats.gamma(shape, scale=1 / rate)
    prior = scipy.stats.gamma(prior_shape, scale=1 / prior_rate)
    samples = np.random.default_rng(6).gamma(shape, 1 / rate, size=200_000)
    log_ratio = posterior.logpdf(samples) - prior.logpdf(samples)
    standard_error = log_ratio.std() / math.sqrt(len(samples))
    divergence = gamma_kl(shape, rate, prior_shape, np.array([prior_rate]))
    assert abs(log_ratio.mean() - divergence[0]) < 3 * standard_error
    integral, _ = scipy.integrate.quad(
        lambda x: posterior.pdf(x) * (posterior.logpdf(x) - prior.logpdf(x)), 0, np.inf
    )
    assert divergence[0] == pytest.approx(integral, rel=1e-7)


@given(shape=positive, rate=positive, prior_shape=positive, prior_rate=positive)
def test_divergence_is_positive_and_independent_of_the_unit(
    shape, rate, prior_shape, prior_rate
):
    divergence = gamma_kl(shape, np.array([rate]), prior_shape, prior_rate)
    assert divergence >= -1e-9
    rescaled = gamma_kl(shape, np.array([7 * rate]), prior_shape, 7 * prior_rate)
    assert_allclose(rescaled, divergence, rtol=1e-9, atol=1e-9)


def test_bound_is_tight_at_the_exact_posterior():
    # After one residual r the prior Gamma(A, B) becomes Gamma(A + 1/2, B + r^2 / 2),
    # and there the bound is the log-density of the target.
    residual = TARGET - MEAN
    shape, rate = PRIOR_SHAPE + 0.5, PRIOR_RATE + 0.5 * residual**2
    bound = expected_gaussian_log_prob(MEAN, shape, rate, TARGET) - gamma_kl(
        shape, rate, PRIOR_SHAPE, PRIOR_RATE
    )
    evidence = -student_t_nll(MEAN, PRIOR_SHAPE, PRIOR_RATE, TARGET)
    assert_allclose(bound, evidence, rtol=0, atol=1e-12)
    # Anywhere else it is lower.
    elsewhere = expected_gaussian_log_prob(MEAN, SHAPE, RATE, TARGET) - gamma_kl(
        SHAPE, RATE, PRIOR_SHAPE, PRIOR_RATE
    )
    assert np.all(elsewhere < evidence)


def test_divergence_gradients(derivatives):
    _, gradients = derivatives(gamma_kl, SHAPE, RATE, PRIOR_SHAPE, PRIOR_RATE)
    digamma = scipy.special.digamma
    by_prior_shape = -digamma(SHAPE) + digamma(PRIOR_SHAPE) + np.log(RATE / PRIOR_RATE)
    by_prior_rate = SHAPE / RATE - PRIOR_SHAPE / PRIOR_RATE
    by_shape = (SHAPE - PRIOR_SHAPE) * scipy.special.polygamma(1, SHAPE) + (
        PRIOR_RATE - RATE
    ) / RATE
    by_rate = PRIOR_SHAPE / RATE - SHAPE * PRIOR_RATE / RATE**2
    assert_allclose(gradients[0], by_shape, rtol=TRIGAMMA_ERROR)
    assert_allclose(gradients[1], by_rate, rtol=1e-11, atol=1e-12)
    assert_allclose(gradients[2], by_prior_shape, rtol=1e-11, atol=1e-12)
    assert_allclose(gradients[3], by_prior_rate, rtol=1e-11, atol=1e-12)


# Mixtures


def test_identical_components_are_one_component():
    value = 10 ** _random.uniform(-2, 2, size=(5, 3))
    single = scipy.stats.gamma.logpdf(value, 2.5, scale=1 / 0.7)
    for _ in range(3):
        weights = _random.dirichlet(np.ones(7), size=(5, 3)).transpose(2, 0, 1)
        mixture = gamma_mixture_log_prob(
            value, np.log(weights), np.full((7, 1, 1), 2.5), np.full((7, 1, 1), 0.7)
        )
        assert_allclose(mixture, single, rtol=1e-13, atol=1e-13)


def test_mixture_is_the_logarithm_of_the_sum():
    value = 10 ** _random.uniform(-2, 2, size=(20, 5, 3))
    weights = _random.dirichlet(np.ones(4), size=(5, 3)).transpose(2, 0, 1)
    shape = _random.uniform(0.1, 5, size=(4, 1, 1, 3))
    rate = _random.uniform(0.1, 5, size=(4, 1, 1, 3))
    components = scipy.stats.gamma.logpdf(value, shape, scale=1 / rate)
    expected = scipy.special.logsumexp(components, b=weights[:, None], axis=0)
    mixture = gamma_mixture_log_prob(value, np.log(weights[:, None]), shape, rate)
    assert mixture.shape == value.shape
    assert_allclose(mixture, expected, rtol=1e-12, atol=1e-12)


def test_mixture_gradients_are_responsibilities(derivatives):
    value = 10 ** _random.uniform(-1, 1, size=48)
    log_weights = np.log(_random.dirichlet(np.ones(4), size=48).T)
    shape = _random.uniform(0.1, 5, size=(4, 48))
    rate = _random.uniform(0.1, 5, size=(4, 48))
    _, (by_value, by_log_weights, by_shape, by_rate) = derivatives(
        gamma_mixture_log_prob, value, log_weights, shape, rate
    )
    log_terms = log_weights + scipy.stats.gamma.logpdf(value, shape, scale=1 / rate)
    responsibility = scipy.special.softmax(log_terms, axis=0)
    assert_allclose(by_log_weights, responsibility, rtol=1e-11)
    log_derivative = (shape - 1) / value - rate
    assert_allclose(
        by_value, (responsibility * log_derivative).sum(axis=0), rtol=1e-10, atol=1e-12
    )
    by_shape_alone = np.log(rate) - scipy.special.digamma(shape) + np.log(value)
    assert_allclose(by_shape, responsibility * by_shape_alone, rtol=1e-9, atol=1e-12)
    by_rate_alone = shape / rate - value
    assert_allclose(by_rate, responsibility * by_rate_alone, rtol=1e-9, atol=1e-12)


def test_mixture_far_out_is_finite(derivatives):
    # Every component underflows; the largest one must still be found.
    value = np.tile([1e-300, 1e4, 1e5], 16)
    shape = np.array([2.0, 3.0, 4.0, 5.0])[:, None] * np.ones(48)
    rate = np.array([1.0, 2.0, 3.0, 4.0])[:, None] * np.ones(48)
    log_weights = np.full((4, 48), math.log(0.25))
    values, gradients = derivatives(
        gamma_mixture_log_prob, value, log_weights, shape, rate
    )
    # The component with the smallest shape and rate is alone there: x e^-x / 4.
    assert_allclose(values, np.log(value / 4) - value, rtol=1e-14)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


def test_sampled_divergence_from_itself():
    # Posterior and prior both Gamma(2, 1), 20 samples: mean 0, standard deviation 0.18,
    # and about every second estimate is negative.
    n_estimates, n_samples = 20_000, 20
    samples = np.random.default_rng(7).gamma(2.0, size=(n_samples, n_estimates))
    one = np.ones((1, 1, 1))
    log_prior = gamma_mixture_log_prob(samples, 0 * one, 2 * one, one)
    estimates = -gamma_entropy(2.0, 1.0) - log_prior.mean(axis=0)
    spread = estimates.std()
    assert abs(estimates.mean()) < 3 * spread / math.sqrt(n_estimates)
    assert spread == pytest.approx(0.18, abs=0.01)
    assert 0.45 < (estimates < 0).mean() < 0.6


@pytest.mark.parametrize("wrong", ["log_weights", "shape", "rate"])
def test_mixture_components_need_their_own_axis(wrong):
    arrays = dict.fromkeys(("log_weights", "shape", "rate"), np.ones((2, 3)))
    arrays[wrong] = np.ones(3)
    with pytest.raises(ValueError, match=rf"{wrong} .*\(3,\) and \(3,\)"):
        gamma_mixture_log_prob(np.ones(3), **arrays)


# Divergence of a latent variable


@pytest.mark.parametrize(
    ("mean", "variance"), [(0.0, 1.0), (1.0, 4.0), (-2.5, 0.01), (0.3, 900.0)]
)
def test_standard_normal_kl_is_the_integral(mean, variance):
    posterior = scipy.stats.norm(mean, math.sqrt(variance))

    def integrand(z):
        log_ratio = posterior.logpdf(z) - scipy.stats.norm.logpdf(z)
        return posterior.pdf(z) * log_ratio

    reach = 12 * math.sqrt(variance)
    expected, _ = scipy.integrate.quad(
        integrand, mean - reach, mean + reach, points=[mean], epsabs=1e-12
    )
    found = standard_normal_kl(np.array([mean]), np.array([variance]))
    assert_allclose(found, [expected], rtol=1e-9, atol=1e-12)


def test_standard_normal_kl_has_its_minimum_at_the_prior():
    around = standard_normal_kl(
        np.array([0.0, 0.1, -0.1, 0.0, 0.0]), np.array([1.0, 1.0, 1.0, 1.1, 0.9])
    )
    assert around[0] == 0
    assert (around[1:] > 0).all()
