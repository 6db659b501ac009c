"""The prior a few targets at a time is the prior of all targets at once."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from betanll import losses
from betanll.objectives import XVAMP, _expected_prior
from betanll.objectives._expected_prior import (
    MAX_GROUP,
    _log_values,
    expected_log_prior,
    group_size,
)
from betanll.objectives._mixture_prior import mean_log_prior

N_TARGETS, N_SAMPLES, N_COMPONENTS, N = 6, 5, 13, 11


@pytest.fixture
def arguments(getkey):
    def positive(*size):
        return jax.random.uniform(getkey(), size, minval=1.1, maxval=4)

    return (
        positive(N_TARGETS, N),
        positive(N_TARGETS, N),
        jax.random.normal(getkey(), (N_COMPONENTS, N_TARGETS, N)),
        positive(N_TARGETS, N_COMPONENTS),
        positive(N_TARGETS, N_COMPONENTS),
    )


def at_once(size, key, shape, rate, logits, prior_shape, prior_rate):
    """Automatic differentiation of the whole, on the random numbers of the groups."""
    log_values = [
        _log_values(
            N_SAMPLES,
            jax.random.fold_in(key, i),
            shape[i * size : (i + 1) * size],
            rate[i * size : (i + 1) * size],
        )
        for i in range(N_TARGETS // size)
    ]
    return mean_log_prior(
        jnp.concatenate(log_values),
        jax.nn.log_softmax(logits, axis=0).swapaxes(0, 1),
        prior_shape,
        prior_rate,
    )


@pytest.mark.parametrize("size", [1, 2, 3])
def test_groups_have_the_value_and_gradients_of_the_whole(
    size, arguments, monkeypatch, getkey, compiled
):
    key, cotangent = getkey(), jax.random.normal(getkey(), (N_TARGETS, N))
    monkeypatch.setattr(_expected_prior, "MAX_GROUP", size * N_COMPONENTS * N)

    def grouped(*arguments):
        return expected_log_prior(*arguments, n_samples=N_SAMPLES, key=key)

    def whole(*arguments):
        return at_once(size, key, *arguments)

    @partial(compiled, static_argnums=0)
    def value_and_gradients(function, *arguments):
        value, pullback = jax.vjp(function, *arguments)
        return value, *pullback(cotangent)

    for ours, theirs in zip(
        value_and_gradients(grouped, *arguments),
        value_and_gradients(whole, *arguments),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_the_smallest_values_are_normal_numbers(getkey):
    # Below them a processor may round to zero, and the logarithm is infinite.
    rate = jnp.full((1, 3), np.finfo(np.float32).max)
    values = jnp.exp(_log_values(50, getkey(), jnp.full((1, 3), 1.001), rate))
    assert values.shape == (1, 50, 3)
    tiny = np.finfo(np.float32).tiny
    assert tiny <= float(values.min()) < 2 * tiny


def test_groups_are_the_largest_that_divide_the_targets():
    assert group_size(1, MAX_GROUP * 10) == 1
    assert group_size(3, 144 * 256) == 3  # the tables of the paper: all at once
    assert group_size(784, 144 * 256) == 2
    assert group_size(784, 100 * 256) == 4
    assert group_size(13, 144 * 256) == 1


@pytest.mark.parametrize("is_grouped", [False, True])
def test_the_bound_estimates_the_same(is_grouped, monkeypatch, getkey, compiled):
    # 4000 independent estimates of one KL, in one group or in two: their means agree
    # within four standard errors.
    if is_grouped:
        monkeypatch.setattr(_expected_prior, "MAX_GROUP", 1)
    size = (2, 2000)
    parameters = (
        jnp.zeros(size),
        jnp.full(size, 2.0),
        jnp.full(size, 1.5),
        jnp.zeros((1, *size)),
    )
    prior = jnp.full((2, 1), 3.0), jnp.full((2, 1), 0.5)
    bound = compiled(XVAMP().negative_elbo)(
        parameters, jnp.zeros(size), *prior, key=getkey()
    )
    exact = losses.gamma_kl(2.0, 1.5, 3.0, 0.5)
    exact -= losses.expected_gaussian_log_prob(0.0, 2.0, 1.5, 0.0)
    standard_error = float(jnp.std(bound)) / np.sqrt(bound.size)
    assert float(jnp.mean(bound)) == pytest.approx(float(exact), abs=4 * standard_error)
