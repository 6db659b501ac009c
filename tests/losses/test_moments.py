import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from betanll.losses import gaussian_nll, moment_matching, squared_error

_random = np.random.default_rng(1)
MEAN = _random.normal(size=(16, 3))
STD = 10 ** _random.uniform(-2, 1, size=(16, 3))
TARGET = _random.normal(size=(16, 3))


def test_values_worked_out_by_hand():
    mean, std, target = np.array([1.0, 1.0]), np.array([0.5, 4.0]), np.array([3.0, 0.0])
    assert_array_equal(squared_error(mean, target), [4.0, 1.0])
    # 4 + (2 - 0.5)^2 and 1 + (1 - 4)^2
    assert_array_equal(moment_matching(mean, std, target), [6.25, 10.0])


def test_squared_error_gradients(derivatives):
    _, (by_mean, by_target) = derivatives(squared_error, MEAN, TARGET)
    assert_array_equal(by_mean, 2 * (MEAN - TARGET))
    assert_array_equal(by_target, 2 * (TARGET - MEAN))


def test_moment_matching_gradients(derivatives):
    _, (by_mean, by_std, _) = derivatives(moment_matching, MEAN, STD, TARGET)
    # The mean sees the squared error alone: the second term holds it fixed.
    assert_array_equal(by_mean, 2 * (MEAN - TARGET))
    assert_allclose(by_std, 2 * (STD - np.abs(TARGET - MEAN)), rtol=1e-14)


def test_moment_matching_gradients_at_zero_residual(derivatives):
    # The root of the squared residual would have an infinite derivative here.
    _, (by_mean, by_std, by_target) = derivatives(moment_matching, MEAN, STD, MEAN)
    assert_array_equal(by_mean, np.zeros_like(MEAN))
    assert_array_equal(by_std, 2 * STD)
    assert_array_equal(by_target, np.zeros_like(MEAN))


@pytest.mark.parametrize("std", [0.3, 1.0, 4.0])
def test_moment_matching_underestimates_gaussian_noise(std):
    # The loss is quadratic in the predicted std, so three points give its minimum.
    residual = np.random.default_rng(2).normal(scale=std, size=2_000_000)

    def expected_loss(predicted):
        return moment_matching(np.zeros_like(residual), predicted, residual).mean()

    at_zero, at_one, at_two = (expected_loss(point * std) for point in (0, 1, 2))
    curvature = at_zero - 2 * at_one + at_two
    minimiser = std * (1 - (at_two - at_zero) / (2 * curvature))
    # The standard error of the mean of |r| is 4.3e-4 std; three of them.
    expected = math.sqrt(2 / math.pi) * std
    assert minimiser == pytest.approx(expected, abs=1.3e-3 * std)


def test_moment_matching_costs_likelihood():
    # A variance 2 / pi of the true one costs 0.0596 nats, the mean being perfect.
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    weights = weights / weights.sum()
    minimiser = scipy.stats.norm.expect(np.abs)
    cost = weights @ (
        gaussian_nll(0.0, minimiser**2, nodes) - gaussian_nll(0.0, 1.0, nodes)
    )
    assert minimiser == pytest.approx(math.sqrt(2 / math.pi), rel=1e-8)
    assert cost == pytest.approx(0.5 * (math.log(2 / math.pi) + math.pi / 2 - 1))
    assert cost == pytest.approx(0.0596, abs=5e-5)


@given(shift=st.floats(-100, 100), scale=st.floats(0.01, 100))
def test_shift_and_scale_laws(shift, scale):
    moved = MEAN * scale + shift, STD * scale, TARGET * scale + shift
    assert_allclose(
        moment_matching(*moved),
        scale**2 * moment_matching(MEAN, STD, TARGET),
        rtol=1e-6,
    )
