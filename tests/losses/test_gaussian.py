"""Oracles of the NLL and the beta-NLL: scipy, PyTorch and closed-form derivatives."""

import math

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from betanll.losses import (
    beta_nll,
    faithful_nll,
    gaussian_nll,
    natural_gaussian_nll,
    squared_error,
)

BETAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)

# Residuals up to about ten and variances over six decades, around one.
_random = np.random.default_rng(0)
MEAN = _random.normal(scale=2.0, size=(16, 3))
VARIANCE = 10 ** _random.uniform(-3, 3, size=(16, 3))
TARGET = _random.normal(scale=3.0, size=(16, 3))
RESIDUAL = TARGET - MEAN


def beta_gradients(mean, variance, target, beta_mean, beta_variance):
    """The gradients of methods.md 2.3 and 2.4 by mean and variance."""
    square = (target - mean) ** 2
    return (
        (mean - target) / variance ** (1 - beta_mean),
        (variance - square) / (2 * variance ** (2 - beta_variance)),
    )


# Values


def test_values_worked_out_by_hand():
    # log 4 = 2 log 2, and 3 squared over 4 is 2.25.
    arguments = np.array([1.0]), np.array([4.0]), np.array([4.0])
    nll = math.log(2) + 1.125
    assert_allclose(gaussian_nll(*arguments), [nll], rtol=1e-15)
    assert_allclose(beta_nll(*arguments, beta=0.5), [2 * nll], rtol=1e-15)
    assert_allclose(beta_nll(*arguments, beta=1), [4 * nll], rtol=1e-15)
    assert_allclose(beta_nll(*arguments, beta=2), [16 * nll], rtol=1e-15)
    assert_allclose(faithful_nll(*arguments), [4.5 + nll], rtol=1e-15)
    # The natural parameters of N(1, 4) are 1/4 and -1/8.
    natural = np.array([0.25]), np.array([-0.125]), np.array([4.0])
    assert_allclose(natural_gaussian_nll(*natural), [nll], rtol=1e-15)


def test_full_nll_is_the_negative_log_density():
    density = scipy.stats.norm.logpdf(TARGET, MEAN, np.sqrt(VARIANCE))
    nll = gaussian_nll(MEAN, VARIANCE, TARGET, full=True)
    assert_allclose(nll, -density, rtol=1e-14)
    nll = gaussian_nll(MEAN, VARIANCE, TARGET)
    assert_allclose(nll + HALF_LOG_2PI, -density, rtol=1e-14)


@pytest.mark.torch
@pytest.mark.parametrize("full", [False, True])
def test_beta_zero_is_the_nll_of_torch(full):
    torch = pytest.importorskip("torch")
    mean, variance, target = map(torch.tensor, (MEAN, VARIANCE, TARGET))
    theirs = torch.nn.GaussianNLLLoss(full=full, eps=0, reduction="none")
    expected = theirs(mean, target, variance)
    for ours in (
        gaussian_nll(mean, variance, target, full=full),
        beta_nll(mean, variance, target, beta=0, full=full),
    ):
        assert torch.equal(ours, expected)
    # Their "mean" divides by samples times outputs: it is not the sum over outputs.
    mean_reduced = torch.nn.GaussianNLLLoss(full=full, eps=0)(mean, target, variance)
    per_sample = gaussian_nll(mean, variance, target, full=full).sum(-1).mean()
    assert per_sample.item() == pytest.approx(3 * mean_reduced.item(), rel=1e-14)


@pytest.mark.parametrize("beta", BETAS)
def test_beta_nll_is_the_weighted_nll(beta):
    for full in (False, True):
        nll = gaussian_nll(MEAN, VARIANCE, TARGET, full=full)
        weighted = beta_nll(MEAN, VARIANCE, TARGET, beta=beta, full=full)
        assert_allclose(weighted, VARIANCE**beta * nll, rtol=5e-15)


def test_beta_is_one_half_unless_told():
    default = beta_nll(MEAN, VARIANCE, TARGET)
    assert_array_equal(default, beta_nll(MEAN, VARIANCE, TARGET, beta=0.5))


def test_beta_may_differ_between_outputs():
    beta = np.array([0.0, 0.5, 1.0])
    together = beta_nll(MEAN, VARIANCE, TARGET, beta=beta)
    for output, exponent in enumerate(beta):
        columns = (array[:, output] for array in (MEAN, VARIANCE, TARGET))
        assert_allclose(
            together[:, output], beta_nll(*columns, beta=exponent), rtol=1e-15
        )


def test_log_likelihood_in_other_units():
    # The log-density of s y + m is that of y, less log s.
    scale, shift = np.array([0.1, 3.0, 250.0]), np.array([-2.0, 0.5, 1e3])
    whitened = -gaussian_nll(MEAN, VARIANCE, TARGET, full=True)
    original = -gaussian_nll(
        scale * MEAN + shift, scale**2 * VARIANCE, scale * TARGET + shift, full=True
    )
    assert_allclose(original, whitened - np.log(scale), rtol=0, atol=1e-9)


# Gradients of the NLL and the beta-NLL


@pytest.mark.parametrize("beta", BETAS)
def test_beta_nll_gradients(derivatives, beta):
    expected = beta_gradients(MEAN, VARIANCE, TARGET, beta, beta)
    for full in (False, True):
        _, (by_mean, by_variance, by_target) = derivatives(
            lambda m, v, y, full=full: beta_nll(m, v, y, beta=beta, full=full),
            MEAN,
            VARIANCE,
            TARGET,
        )
        assert_allclose(by_mean, expected[0], rtol=1e-14)
        assert_allclose(by_variance, expected[1], rtol=1e-12)
        assert_allclose(by_target, -expected[0], rtol=1e-14)


def test_gaussian_nll_gradients(derivatives):
    _, gradients = derivatives(gaussian_nll, MEAN, VARIANCE, TARGET)
    assert_allclose(gradients[0], (MEAN - TARGET) / VARIANCE, rtol=1e-15)
    assert_allclose(
        gradients[1], (VARIANCE - RESIDUAL**2) / (2 * VARIANCE**2), rtol=1e-12
    )


@pytest.mark.parametrize("beta", [0.25, 0.5, 1.0, 2.0])
def test_the_weight_carries_no_gradient(derivatives, beta):
    def without_stop_gradient(mean, variance, target):
        return variance**beta * gaussian_nll(mean, variance, target)

    # The formula of methods.md 2.3 describes the mistake ...
    mistaken = (
        0.5
        * VARIANCE ** (beta - 1)
        * (1 + beta * np.log(VARIANCE) + (beta - 1) * RESIDUAL**2 / VARIANCE)
    )
    _, gradients = derivatives(without_stop_gradient, MEAN, VARIANCE, TARGET)
    assert_allclose(gradients[1], mistaken, rtol=1e-12, atol=1e-12)
    # ... and the loss does not make it, at any point.
    _, gradients = derivatives(
        lambda m, v, y: beta_nll(m, v, y, beta=beta), MEAN, VARIANCE, TARGET
    )
    assert np.all(np.abs(gradients[1] / mistaken - 1) > 1e-3)


def test_beta_one_gives_the_mean_the_gradient_of_the_squared_error(derivatives):
    _, beta_nll_gradients = derivatives(
        lambda m, v, y: beta_nll(m, v, y, beta=1), MEAN, VARIANCE, TARGET
    )
    _, squared_gradients = derivatives(
        lambda m, y: 0.5 * squared_error(m, y), MEAN, TARGET
    )
    # v / v is computed as exp(log v) / v, hence not exactly one.
    assert_allclose(beta_nll_gradients[0], squared_gradients[0], rtol=5e-15)


@pytest.mark.parametrize("beta", BETAS)
def test_every_beta_has_the_same_stationary_point(derivatives, beta):
    # All samples share one mean and one variance: those of the sample.
    mean = np.broadcast_to(TARGET.mean(axis=0), TARGET.shape).copy()
    variance = np.broadcast_to(TARGET.var(axis=0), TARGET.shape).copy()
    _, gradients = derivatives(
        lambda m, v, y: beta_nll(m, v, y, beta=beta), mean, variance, TARGET
    )
    assert_allclose(gradients[0].sum(axis=0), 0, atol=1e-12)
    assert_allclose(gradients[1].sum(axis=0), 0, atol=1e-12)


def test_natural_gradient_of_the_nll(derivatives):
    # The Fisher matrix is diag(1 / v, 1 / (2 v^2)).
    _, gradients = derivatives(gaussian_nll, MEAN, VARIANCE, TARGET)
    assert_allclose(VARIANCE * gradients[0], MEAN - TARGET, rtol=2e-15)
    expected = VARIANCE - RESIDUAL**2
    assert_allclose(2 * VARIANCE**2 * gradients[1], expected, rtol=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("scale", [0.01, 7.0])
def test_beta_nll_scale_law(derivatives, beta, scale):
    # Targets in a unit 1 / scale as large: the gradient by the whitened outputs grows
    # by scale to the 2 beta.
    def in_units_of(unit):
        return lambda m, v, y: beta_nll(unit * m, unit**2 * v, unit * y, beta=beta)

    _, whitened = derivatives(in_units_of(1.0), MEAN, VARIANCE, TARGET)
    _, scaled = derivatives(in_units_of(scale), MEAN, VARIANCE, TARGET)
    for before, after in zip(whitened, scaled, strict=True):
        assert_allclose(after, scale ** (2 * beta) * before, rtol=1e-11)


# Separate exponents


@pytest.mark.parametrize("beta", BETAS)
def test_equal_separate_exponents_are_the_beta_nll(derivatives, beta):
    for full in (False, True):
        together = derivatives(
            lambda m, v, y, full=full: beta_nll(m, v, y, beta=beta, full=full),
            MEAN,
            VARIANCE,
            TARGET,
        )
        separate = derivatives(
            lambda m, v, y, full=full: beta_nll(
                m, v, y, beta_mean=beta, beta_variance=beta, full=full
            ),
            MEAN,
            VARIANCE,
            TARGET,
        )
        assert_allclose(separate[0], together[0], rtol=1e-14, atol=1e-14)
        assert_allclose(separate[1][0], together[1][0], rtol=1e-14)
        assert_allclose(separate[1][1], together[1][1], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "beta_mean", "beta_variance"),
    [
        ({"beta_mean": 0.25, "beta_variance": 1.5}, 0.25, 1.5),
        ({"beta_mean": 1.0}, 1.0, 0.5),
        ({"beta_variance": 2.0}, 0.5, 2.0),
        ({"beta": 0.75, "beta_variance": 0.0}, 0.75, 0.0),
    ],
)
def test_separate_exponents_gradients(derivatives, options, beta_mean, beta_variance):
    expected = beta_gradients(MEAN, VARIANCE, TARGET, beta_mean, beta_variance)
    _, gradients = derivatives(
        lambda m, v, y: beta_nll(m, v, y, **options), MEAN, VARIANCE, TARGET
    )
    assert_allclose(gradients[0], expected[0], rtol=1e-14)
    assert_allclose(gradients[1], expected[1], rtol=1e-12)


def test_exponents_one_and_two_match_moments(derivatives):
    def moments(mean, variance, target):
        square = (target - mean) * (target - mean)
        return 0.5 * square + 0.25 * (square - variance) * (square - variance)

    _, exponents = derivatives(
        lambda m, v, y: beta_nll(m, v, y, beta_mean=1, beta_variance=2),
        MEAN,
        VARIANCE,
        TARGET,
    )
    # With the residual of the second term frozen: mu - y and (v - r^2) / 2.
    assert_allclose(exponents[0], MEAN - TARGET, rtol=5e-15)
    assert_allclose(exponents[1], 0.5 * (VARIANCE - RESIDUAL**2), rtol=1e-12)
    # Without, the mean also gets -r (r^2 - v); the variance sees no difference.
    _, flowing = derivatives(moments, MEAN, VARIANCE, TARGET)
    extra = -RESIDUAL * (RESIDUAL**2 - VARIANCE)
    assert_allclose(flowing[0] - exponents[0], extra, rtol=1e-11, atol=1e-11)
    assert_allclose(flowing[1], exponents[1], rtol=1e-12)
