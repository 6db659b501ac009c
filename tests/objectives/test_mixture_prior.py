import jax
import jax.numpy as jnp
import numpy as np

from betanll import losses
from betanll.objectives._mixture_prior import mean_log_prior

N_TARGETS, N_SAMPLES, N_COMPONENTS, N = 2, 5, 7, 11


def by_definition(log_values, log_weights, shape, rate):
    log_prob = losses.gamma_mixture_log_prob(
        jnp.exp(log_values),
        jnp.swapaxes(log_weights, 0, 1)[:, :, None],
        shape.T[:, :, None, None],
        rate.T[:, :, None, None],
    )
    return jnp.mean(log_prob, axis=1)


def test_value_and_gradients_are_those_of_the_definition(getkey, compiled):
    arguments = (
        jax.random.normal(getkey(), (N_TARGETS, N_SAMPLES, N)),
        jax.nn.log_softmax(
            jax.random.normal(getkey(), (N_TARGETS, N_COMPONENTS, N)), axis=1
        ),
        jax.random.uniform(getkey(), (N_TARGETS, N_COMPONENTS), minval=0.1, maxval=4),
        jax.random.uniform(getkey(), (N_TARGETS, N_COMPONENTS), minval=0.1, maxval=4),
    )
    cotangent = jax.random.normal(getkey(), (N_TARGETS, N))

    def value_and_gradients(function, *arguments):
        value, pullback = jax.vjp(function, *arguments)
        return value, pullback(cotangent)

    (value, gradients), (expected, expected_gradients) = (
        compiled(value_and_gradients, static_argnums=0)(function, *arguments)
        for function in (mean_log_prior, by_definition)
    )
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for ours, theirs in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_far_values_stay_finite():
    # Every component underflows here if the largest is not taken out first.
    log_values = jnp.log(jnp.array([1e-30, 1e5])).reshape(1, 2, 1)
    arguments = (log_values, jnp.zeros((1, 1, 1)), jnp.full((1, 1), 3.0))
    value, slopes = jax.value_and_grad(
        lambda *a: jnp.sum(mean_log_prior(*a)), argnums=(0, 1, 2, 3)
    )(*arguments, jnp.full((1, 1), 2.0))
    assert jnp.isfinite(value)
    assert all(jnp.all(jnp.isfinite(slope)) for slope in slopes)
