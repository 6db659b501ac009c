"""Gaussian losses stay finite, and follow laws of shift, scale and order."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from betanll.losses import (
    beta_nll,
    crps,
    faithful_nll,
    gaussian_nll,
    moment_matching,
    natural_gaussian_nll,
)

# Residuals up to about ten and variances over six decades, around one.
_random = np.random.default_rng(0)
MEAN = _random.normal(scale=2.0, size=(16, 3))
VARIANCE = 10 ** _random.uniform(-3, 3, size=(16, 3))
TARGET = _random.normal(scale=3.0, size=(16, 3))


# Properties, in single precision over the whole range of the heads


def vectors(low, high):
    return arrays(float, (16, 3), elements=st.floats(low, high))


means = vectors(-1e3, 1e3)
variances = vectors(-8, 3).map(lambda exponent: 10**exponent)
residuals = vectors(-1e6, 1e6)
exponents = st.floats(0, 2)
corners = {
    "mean": np.zeros((16, 3)),
    "variance": np.tile([1e-8, 1.0, 1e3], (16, 1)),
    "residual": np.tile([[0.0], [1e-6], [1e6], [-1e6]], (4, 3)),
}


@settings(max_examples=15)
@given(mean=means, variance=variances, residual=residuals, beta=exponents)
@example(**corners, beta=0.0)
@example(**corners, beta=2.0)
def test_beta_nll_and_gradients_are_finite(derivatives, mean, variance, residual, beta):
    arguments = mean, variance, mean + residual
    values, gradients = derivatives(
        lambda m, v, y: beta_nll(m, v, y, beta=beta, full=True),
        *arguments,
        dtype="float32",
    )
    assert values.dtype == np.float32
    assert np.isfinite(values).all()
    assert np.isfinite(gradients).all()


@settings(max_examples=15)
@given(
    mean=means,
    variance=variances,
    residual=residuals,
    beta_mean=exponents,
    beta_variance=exponents,
)
@example(**corners, beta_mean=0.0, beta_variance=2.0)
@example(**corners, beta_mean=2.0, beta_variance=0.0)
def test_separate_exponents_and_gradients_are_finite(
    derivatives, mean, variance, residual, beta_mean, beta_variance
):
    arguments = mean, variance, mean + residual
    values, gradients = derivatives(
        lambda m, v, y: beta_nll(
            m, v, y, beta_mean=beta_mean, beta_variance=beta_variance
        ),
        *arguments,
        dtype="float32",
    )
    assert np.isfinite(values).all()
    assert np.isfinite(gradients).all()


@pytest.mark.parametrize(
    "loss", [gaussian_nll, faithful_nll, crps, moment_matching, natural_gaussian_nll]
)
@settings(max_examples=15)
@given(mean=means, variance=variances, residual=residuals)
@example(**corners)
def test_other_losses_and_gradients_are_finite(
    derivatives, loss, mean, variance, residual
):
    first, second = mean, variance
    if loss is natural_gaussian_nll:
        first, second = mean / second, -0.5 / second
    values, gradients = derivatives(
        loss, first, second, mean + residual, dtype="float32"
    )
    assert np.isfinite(values).all()
    assert np.isfinite(gradients).all()


@given(
    mean=vectors(-10, 10),
    variance=vectors(-2, 2).map(lambda exponent: 10**exponent),
    target=vectors(-10, 10),
    beta=exponents,
    shift=st.floats(-100, 100),
    log_scale=st.floats(-3, 3),
)
def test_shift_and_scale_laws(mean, variance, target, beta, shift, log_scale):
    scale = math.exp(log_scale)

    def moved(loss, **options):
        return loss(
            scale * mean + shift, scale**2 * variance, scale * target + shift, **options
        )

    # A change of unit adds log s to the NLL, multiplies the score by s, and for the
    # beta-NLL multiplies the bracket by s^(2 beta).
    nll = gaussian_nll(mean, variance, target)
    assert_allclose(moved(gaussian_nll), nll + log_scale, rtol=1e-6, atol=1e-6)
    score = crps(mean, variance, target)
    assert_allclose(moved(crps), scale * score, rtol=1e-6, atol=1e-9 * scale)
    weight = (scale**2 * variance) ** beta
    weighted = weight * (nll + log_scale)
    actual = moved(beta_nll, beta=beta)
    assert_allclose(actual, weighted, rtol=1e-6, atol=1e-6 * weight.max())


@pytest.mark.parametrize(
    "loss",
    [gaussian_nll, beta_nll, faithful_nll, crps, moment_matching, natural_gaussian_nll],
)
@settings(max_examples=10)
@given(order=st.permutations(range(16)))
def test_permuted_samples_give_permuted_losses(loss, order):
    second = -VARIANCE if loss is natural_gaussian_nll else VARIANCE
    values = loss(MEAN, second, TARGET)
    permuted = loss(MEAN[order], second[order], TARGET[order])
    assert_allclose(permuted, values[order], rtol=1e-15)
