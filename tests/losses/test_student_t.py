import math

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from betanll.losses import gaussian_nll, student_t_nll

_random = np.random.default_rng(3)
MEAN = _random.normal(size=(16, 3))
SHAPE = 1 + 10 ** _random.uniform(-3, 2, size=(16, 3))
RATE = 10 ** _random.uniform(-4, 3, size=(16, 3))
TARGET = _random.normal(scale=3.0, size=(16, 3))
RESIDUAL = TARGET - MEAN


def test_values_worked_out_by_hand():
    one = np.ones(1)
    # Gamma(1) = 1, Gamma(3/2) = sqrt(pi) / 2; the rest is log(2 pi) / 2 at r = 0 ...
    at_mean = -math.log(math.sqrt(math.pi) / 2) + 0.5 * math.log(2 * math.pi)
    assert_allclose(student_t_nll(one, one, one, one), [at_mean], rtol=1e-15)
    # ... and r = 2 adds 3/2 log 3.
    assert_allclose(
        student_t_nll(one, one, one, 3 * one), [at_mean + 1.5 * math.log(3)], rtol=1e-15
    )
    # The ceiling of VBEM at zero residual: a posterior of Gamma(4.5, 0.05).
    ceiling = -student_t_nll(0 * one, 4.5 * one, 0.05 * one, 0 * one)
    assert_allclose(ceiling, [1.3032], atol=5e-5)


def test_density_is_that_of_scipy():
    density = scipy.stats.t.logpdf(TARGET, 2 * SHAPE, MEAN, np.sqrt(RATE / SHAPE))
    loss = student_t_nll(MEAN, SHAPE, RATE, TARGET)
    # The difference of two log-gammas near 500 loses two digits.
    assert_allclose(loss, -density, rtol=0, atol=2e-13)
    few = SHAPE < 10
    assert_allclose(loss[few], -density[few], rtol=0, atol=2e-14)


@pytest.mark.parametrize(
    ("shape", "rate", "residual"), [(1.2, 0.3, 0.0), (3.0, 2.0, 1.5), (8.0, 0.5, -0.7)]
)
def test_density_is_a_gaussian_with_the_precision_integrated_out(shape, rate, residual):
    gamma = scipy.stats.gamma(shape, scale=1 / rate)

    def integrand(precision):
        std = 1 / math.sqrt(precision)
        return scipy.stats.norm.pdf(residual, scale=std) * gamma.pdf(precision)

    integral, _ = scipy.integrate.quad(
        integrand, 0, gamma.isf(1e-18), epsabs=0, epsrel=1e-12, limit=200
    )
    loss = student_t_nll(0.0, shape, rate, np.array([residual]))
    assert_allclose(np.exp(-loss), [integral], rtol=1e-9)


@pytest.mark.parametrize(("shape", "rate"), [(3.0, 2.0), (6.5, 0.1)])
def test_variance_is_rate_over_shape_minus_one(shape, rate):
    # With the substitution y = tan(u) the integral over the line becomes finite.
    def integrand(u):
        y = math.tan(u)
        density = np.exp(-student_t_nll(0.0, shape, rate, np.array([y])))
        return y**2 * density[0] / math.cos(u) ** 2

    variance, _ = scipy.integrate.quad(
        integrand, -math.pi / 2, math.pi / 2, epsabs=1e-12, limit=200
    )
    assert variance == pytest.approx(rate / (shape - 1), rel=1e-8)


def test_log_likelihood_in_other_units():
    # The shape stays, the rate takes the square of the scale.
    scale, shift = np.array([0.1, 3.0, 250.0]), np.array([-2.0, 0.5, 1e3])
    whitened = -student_t_nll(MEAN, SHAPE, RATE, TARGET)
    original = -student_t_nll(
        scale * MEAN + shift, SHAPE, scale**2 * RATE, scale * TARGET + shift
    )
    assert_allclose(original, whitened - np.log(scale), rtol=0, atol=1e-9)


def test_gradients(derivatives):
    digamma = scipy.special.digamma
    _, (by_mean, by_shape, by_rate, by_target) = derivatives(
        student_t_nll, MEAN, SHAPE, RATE, TARGET
    )
    denominator = RATE + 0.5 * RESIDUAL**2
    expected = -(SHAPE + 0.5) * RESIDUAL / denominator
    assert_allclose(by_mean, expected, rtol=1e-12)
    assert_allclose(by_target, -expected, rtol=1e-12)
    expected = (
        digamma(SHAPE) - digamma(SHAPE + 0.5) + np.log1p(RESIDUAL**2 / (2 * RATE))
    )
    assert_allclose(by_shape, expected, rtol=1e-10, atol=1e-13)
    expected = 0.5 / RATE - (SHAPE + 0.5) * RESIDUAL**2 / (2 * RATE * denominator)
    assert_allclose(by_rate, expected, rtol=1e-10, atol=1e-12)


def test_large_shape_is_a_gaussian():
    variance = RATE
    error = np.abs(
        student_t_nll(MEAN, np.full_like(MEAN, 1e6), 1e6 * variance, TARGET)
        - gaussian_nll(MEAN, variance, TARGET, full=True)
    )
    # The next term of the expansion is of the order (z^4 + 1) / shape.
    assert np.all(error < 1e-6 * (2 + (RESIDUAL**2 / variance) ** 2))


# The ranges that the Student-t head can reach, in single precision.


def vectors(low, high):
    return arrays(float, (16, 3), elements=st.floats(low, high))


shapes = vectors(-3, math.log10(999)).map(lambda exponent: 1 + 10**exponent)
rates = vectors(-11, math.log10(999_000)).map(lambda exponent: 10**exponent)


@settings(max_examples=15)
@given(mean=vectors(-1e3, 1e3), shape=shapes, rate=rates, residual=vectors(-1e6, 1e6))
@example(
    mean=np.zeros((16, 3)),
    shape=np.tile([[1.001], [1000.0]], (8, 3)),
    rate=np.tile([1e-11, 1.0, 999_000.0], (16, 1)),
    residual=np.repeat([0.0, 1.0, 1e6, -1e6], 4)[:, None] * np.ones(3),
)
def test_loss_and_gradients_are_finite(derivatives, mean, shape, rate, residual):
    values, gradients = derivatives(
        student_t_nll, mean, shape, rate, mean + residual, dtype="float32"
    )
    assert values.dtype == np.float32
    assert np.isfinite(values).all()
    assert np.isfinite(gradients).all()


@settings(max_examples=15)
@given(shape=shapes, rate=rates, residual=vectors(-30, 30))
def test_single_precision_is_accurate(derivatives, shape, rate, residual):
    shape, rate, residual = (
        np.float32(array).astype(float) for array in (shape, rate, residual)
    )
    zero = np.zeros((16, 3))
    single, _ = derivatives(student_t_nll, zero, shape, rate, residual, dtype="float32")
    double = student_t_nll(zero, shape, rate, residual)
    assert_allclose(single, double, rtol=1e-5, atol=1e-5)
