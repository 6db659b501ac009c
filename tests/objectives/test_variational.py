import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from betanll import losses
from betanll.objectives import VBEM, XVAMP
from betanll.objectives._variational import N_SAMPLES

ONES = jnp.ones((1, 2000))


@pytest.fixture
def kl_estimate(compiled):
    """The sampled KL of Gamma(shape, rate) to the mixture, 2000 independent times."""

    def estimate(logits, prior_shape, prior_rate, *, shape, rate, key):
        shape, rate, zeros = shape * ONES, rate * ONES, 0 * ONES
        parameters = (zeros, shape, rate, logits)
        bound = VBEM().negative_elbo(
            parameters, zeros, prior_shape, prior_rate, key=key
        )
        return bound + losses.expected_gaussian_log_prob(zeros, shape, rate, zeros)

    return compiled(estimate)


def test_kl_of_a_distribution_to_itself(kl_estimate, getkey):
    # Oracle 13: mean 0, standard deviation 0.18 for Gamma(2, 1) and 20 samples,
    # negative about half the time, whatever the weights of equal components.
    logits = jax.random.normal(getkey(), (7, 1, 2000))
    twos = jnp.full((1, 7), 2.0)
    kl = kl_estimate(logits, twos, twos / 2, shape=2.0, rate=1.0, key=getkey())
    assert N_SAMPLES == 20
    assert float(jnp.mean(kl)) == pytest.approx(0, abs=4 * 0.18 / np.sqrt(2000))
    assert float(jnp.std(kl)) == pytest.approx(0.18, abs=0.02)
    assert 0.4 < float(jnp.mean(kl < 0)) < 0.6


def test_kl_to_one_component_is_the_closed_form(kl_estimate, getkey):
    logits = jnp.zeros((1, 1, 2000))
    prior = jnp.full((1, 1), 3.0), jnp.full((1, 1), 0.5)
    kl = kl_estimate(logits, *prior, shape=2.0, rate=1.5, key=getkey())
    exact = losses.gamma_kl(2.0, 1.5, 3.0, 0.5)
    standard_error = float(jnp.std(kl)) / np.sqrt(2000)
    assert float(jnp.mean(kl)) == pytest.approx(float(exact), abs=4 * standard_error)


def test_vbem_saturates_at_the_stated_density():
    # Oracle 32: with zero residual the best grid component is (4, 0.05); its posterior
    # Gamma(4.5, 0.05) has log-density 1.3032.
    grid = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4])
    shapes, rates = np.repeat(grid, 12), np.tile(grid, 12)
    evidence = scipy.stats.t.logpdf(0, 2 * shapes, scale=np.sqrt(rates / shapes))
    best = np.argmax(evidence)
    assert (shapes[best], rates[best]) == (4, 0.05)
    log_density = -losses.student_t_nll(0.0, 4.5, 0.05, 0.0)
    assert float(log_density) == pytest.approx(1.3032, abs=5e-5)


def test_vbem_grid_is_the_full_product(getkey, monkeypatch):
    seen = {}

    def remember(self, parameters, target, prior_shape, prior_rate, *, key):
        pairs = np.vstack([prior_shape, prior_rate]).T.round(4)
        seen["pairs"] = set(map(tuple, pairs.tolist()))
        return target

    monkeypatch.setattr(VBEM, "negative_elbo", remember)
    VBEM().training_loss(
        lambda x: jnp.zeros((147, 1, x.shape[1])),
        jnp.zeros((2, 5)),
        jnp.zeros((1, 5)),
        (),
        progress=jnp.float32(0),
        key=getkey(),
    )
    assert len(seen["pairs"]) == 144
    grid = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    for column in zip(*seen["pairs"], strict=True):
        np.testing.assert_allclose(sorted(set(column)), grid, atol=1e-4)


@pytest.mark.parametrize("objective", [VBEM(), XVAMP()], ids=lambda o: o.name)
def test_predictions_need_no_logits(objective, getkey):
    raw = jax.random.normal(getkey(), (objective.n_parameters, 1, 5))
    needed = objective.parameters(raw)[: objective.n_predictive]
    mean, shape, rate = (np.asarray(part, float) for part in needed)
    predictive = objective.predictive(needed)
    np.testing.assert_allclose(predictive.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(predictive.variance, rate / (shape - 1), rtol=1e-6)


def test_vbem_star_starts_inside_its_range(getkey):
    state = VBEM(trainable=True).init_state(jnp.zeros((2, 5)), 3, key=getkey())
    assert state.shape == (2, 3, 100)
    assert -3 <= float(state.min()) < -2.9
    assert 2.9 < float(state.max()) <= 3


@pytest.mark.parametrize("trainable", [False, True])
def test_xvamp_prior_is_the_posterior_at_the_pseudo_inputs(trainable, getkey):
    objective = XVAMP(trainable=trainable)
    inputs = jax.random.normal(getkey(), (2, 100))
    state = objective.init_state(inputs, 1, key=getkey())
    np.testing.assert_array_equal(state, inputs)
    slope = jnp.array(0.3)

    def loss(slope, state):
        # Only the pseudo-inputs see the slope: batch and prior share the network.
        def forward(x):
            raw = jnp.zeros((103, 1, x.shape[1]))
            is_pseudo = jnp.arange(x.shape[1]) >= 100
            return raw.at[1, 0].set(jnp.where(is_pseudo, slope * jnp.sum(x, axis=0), 0))

        elementwise = objective.training_loss(
            forward,
            inputs,
            jnp.zeros((1, 100)),
            state,
            progress=jnp.float32(0),
            key=jax.random.key(1),
        )
        return jnp.sum(elementwise)

    to_network, to_pseudo_inputs = jax.jit(jax.grad(loss, (0, 1)))(slope, state)
    assert to_network != 0  # the prior's networks are not detached
    assert bool(jnp.any(to_pseudo_inputs != 0)) == trainable
