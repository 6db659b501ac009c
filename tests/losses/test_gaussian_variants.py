"""Oracles of the faithful loss, the one of natural parameters, and the CRPS."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

from betanll.losses import (
    crps,
    crps_gaussian,
    faithful_nll,
    gaussian_nll,
    natural_gaussian_nll,
)

# Residuals up to about ten and variances over six decades, around one.
_random = np.random.default_rng(0)
MEAN = _random.normal(scale=2.0, size=(16, 3))
VARIANCE = 10 ** _random.uniform(-3, 3, size=(16, 3))
TARGET = _random.normal(scale=3.0, size=(16, 3))
RESIDUAL = TARGET - MEAN


# Faithful


def test_faithful_gradients(derivatives):
    std = np.sqrt(VARIANCE)
    _, (by_mean, by_std, _) = derivatives(
        lambda m, s, y: faithful_nll(m, s * s, y), MEAN, std, TARGET
    )
    assert_array_equal(by_mean, MEAN - TARGET)
    assert_allclose(by_std, 1 / std - RESIDUAL**2 / std**3, rtol=1e-12)


# Natural parameters

ETA1, ETA2 = MEAN / VARIANCE, -0.5 / VARIANCE


def test_natural_parameters_give_the_same_nll():
    for full in (False, True):
        natural = natural_gaussian_nll(ETA1, ETA2, TARGET, full=full)
        nll = gaussian_nll(MEAN, VARIANCE, TARGET, full=full)
        assert_allclose(natural, nll, rtol=1e-13)
    # The textbook sum, of which the implementation is the completed square.
    textbook = -(
        ETA1 * TARGET + ETA2 * TARGET**2 + ETA1**2 / (4 * ETA2) + np.log(-2 * ETA2) / 2
    )
    assert_allclose(natural_gaussian_nll(ETA1, ETA2, TARGET), textbook, rtol=1e-11)


def test_natural_parameter_gradients(derivatives):
    _, gradients = derivatives(natural_gaussian_nll, ETA1, ETA2, TARGET)
    assert_allclose(gradients[0], MEAN - TARGET, rtol=1e-13)
    expected = MEAN**2 + VARIANCE - TARGET**2
    assert_allclose(gradients[1], expected, rtol=1e-12, atol=1e-12)


def _jax_hessian(function, point):
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.hessian(function))(jnp.asarray(point)))


def _torch_hessian(function, point):
    import torch

    hessian = torch.autograd.functional.hessian(function, torch.tensor(point))
    return hessian.numpy()


@pytest.mark.parametrize(
    "hessian_of",
    [_jax_hessian, pytest.param(_torch_hessian, marks=pytest.mark.torch)],
    ids=["jax", "torch"],
)
@pytest.mark.parametrize(("mean", "variance"), [(0.7, 2.5), (-3.0, 0.04), (0.0, 1.0)])
def test_natural_parameter_hessian_is_a_covariance(hessian_of, mean, variance):
    point = np.array([mean / variance, -0.5 / variance])
    hessian = hessian_of(lambda eta: natural_gaussian_nll(eta[0], eta[1], 1.3), point)
    closed_form = [
        [variance, 2 * mean * variance],
        [2 * mean * variance, 4 * mean**2 * variance + 2 * variance**2],
    ]
    assert_allclose(hessian, closed_form, rtol=1e-12, atol=1e-12)
    # The covariance of y and y^2, by quadrature that is exact for polynomials.
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    y = mean + math.sqrt(variance) * nodes
    covariance = np.cov(np.stack([y, y**2]), aweights=weights, ddof=0)
    assert_allclose(hessian, covariance, rtol=1e-11, atol=1e-12)
    assert np.all(np.linalg.eigvalsh(hessian) > 0)


# Continuous ranked probability score


def test_crps_is_short_for_crps_gaussian():
    assert crps is crps_gaussian


@pytest.mark.parametrize(
    ("mean", "std", "target"),
    [(0.0, 1.0, 0.0), (1.0, 0.5, 1.7), (-2.0, 3.0, 4.0), (0.3, 0.1, -0.9)],
)
def test_crps_is_the_integral_it_closes(mean, std, target):
    # Between the distribution function and the step at the target.
    normal = scipy.stats.norm(mean, std)
    below, _ = scipy.integrate.quad(
        lambda t: normal.cdf(t) ** 2, mean - 40 * std, target, epsabs=1e-12, limit=200
    )
    above, _ = scipy.integrate.quad(
        lambda t: normal.sf(t) ** 2, target, mean + 40 * std, epsabs=1e-12, limit=200
    )
    score = crps(np.array([mean]), np.array([std**2]), np.array([target]))
    assert_allclose(score, [below + above], rtol=0, atol=1e-10)


def test_crps_at_the_mean():
    expected = np.sqrt(VARIANCE) * (math.sqrt(2) - 1) / math.sqrt(math.pi)
    assert_allclose(crps(MEAN, VARIANCE, MEAN), expected, rtol=1e-14)


def test_crps_gradients(derivatives):
    std = np.sqrt(VARIANCE)
    z = RESIDUAL / std
    _, (by_mean, by_std, _) = derivatives(
        lambda m, s, y: crps(m, s * s, y), MEAN, std, TARGET
    )
    normal = scipy.stats.norm
    assert_allclose(by_mean, 1 - 2 * normal.cdf(z), rtol=0, atol=1e-14)
    expected = 2 * normal.pdf(z) - 1 / math.sqrt(math.pi)
    assert_allclose(by_std, expected, rtol=0, atol=1e-14)


def test_crps_gradients_far_from_the_mean(derivatives):
    # A hundred to a hundred million standard deviations, in single precision.
    variance = np.full((16, 3), 1e-4)
    target = np.tile([[1.0], [-1e2], [1e4], [-1e6]], (4, 3))
    _, (by_mean, by_variance, _) = derivatives(
        crps, np.zeros((16, 3)), variance, target, dtype="float32"
    )
    assert_array_equal(by_mean, -np.sign(target))
    expected = -0.5 / np.sqrt(math.pi * variance)
    assert_allclose(by_variance, expected, rtol=1e-6)


@pytest.mark.parametrize("std", [0.2, 1.0, 5.0])
def test_crps_is_minimised_by_the_true_std(std):
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    weights = weights / weights.sum()

    def expected_score(log_std):
        variance = np.full_like(nodes, math.exp(2 * log_std))
        return weights @ crps(np.zeros_like(nodes), variance, std * nodes)

    found = scipy.optimize.minimize_scalar(
        expected_score, bracket=(math.log(std) - 1, math.log(std) + 1), tol=1e-10
    )
    # A minimum is found to the root of the precision of the function.
    assert math.exp(found.x) == pytest.approx(std, rel=1e-6)
