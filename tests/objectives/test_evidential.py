"""A custom objective with four parameters: it trains, predicts and fits tables."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import gammaln
from scipy import stats

from betanll import HeteroscedasticRegressor
from betanll.distributions import Normal, StudentT
from betanll.networks import MLP
from betanll.objectives import MSE, VBEM, Objective, objective
from betanll.training import fit, predict_parameters

_random = np.random.default_rng(0)
X = _random.normal(size=(40, 2)).astype(np.float32)
Y = np.sin(X) + 0.1 * _random.normal(size=(40, 2)).astype(np.float32)


@objective(None)
class Evidential(Objective):
    """A normal-inverse-gamma distribution over mean and variance (Amini et al. 2020).

    Its predictive distribution is a Student t with 2 alpha degrees of freedom.
    """

    n_parameters = 4

    def parameters(self, raw):
        mean, raw_nu, raw_alpha, raw_beta = raw
        return (
            mean,
            jax.nn.softplus(raw_nu) + 1e-3,
            jax.nn.softplus(raw_alpha) + 1.001,
            jax.nn.softplus(raw_beta) + 1e-6,
        )

    def nll(self, parameters, target):
        mean, nu, alpha, beta = parameters
        omega = 2 * beta * (1 + nu)
        return (
            0.5 * jnp.log(jnp.pi / nu)
            - alpha * jnp.log(omega)
            + (alpha + 0.5) * jnp.log(nu * (target - mean) ** 2 + omega)
            + gammaln(alpha)
            - gammaln(alpha + 0.5)
        )

    def loss(self, parameters, target, progress):
        mean, nu, alpha, _ = parameters
        regulariser = jnp.abs(target - mean) * (2 * nu + alpha)
        return self.nll(parameters, target) + 0.01 * regulariser

    def predictive(self, parameters):
        mean, nu, alpha, beta = parameters
        return StudentT(2 * alpha, mean, np.sqrt(beta * (1 + nu) / (nu * alpha)))


def by_hand(params, x):
    """Return the parameters that the outputs of a tanh network stand for."""
    hidden, head = ({k: np.float64(v) for k, v in layer.items()} for layer in params)
    units = np.tanh(hidden["weight"] @ np.float64(x).T + hidden["bias"])
    outputs = head["weight"] @ units + head["bias"]
    mean, *raw = outputs.reshape(4, 2, len(x)).transpose(0, 2, 1)
    nu, alpha, beta = (np.log1p(np.exp(z)) for z in raw)
    return mean, nu + 1e-3, alpha + 1.001, beta + 1e-6


@pytest.fixture(scope="module")
def trained():
    net = MLP(2, (3,), activation="tanh")
    validation = (X[30:], Y[30:])
    return fit(net, Evidential(), X[:30], Y[:30], validation=validation, max_epochs=3)


def test_four_parameters_are_predicted(trained):
    expected = by_hand(trained.params, X)
    parameters = predict_parameters(
        trained.network, trained.objective, trained.params, X
    )
    assert len(parameters) == 4
    np.testing.assert_allclose(parameters, expected, rtol=1e-4, atol=1e-5)


def test_the_prediction_is_the_distribution_of_all_four(trained):
    mean, nu, alpha, beta = by_hand(trained.params, X)
    scale = np.sqrt(beta * (1 + nu) / (nu * alpha))
    expected = stats.t(2 * alpha, mean, scale)
    predictive = trained.predict(X)
    np.testing.assert_allclose(predictive.mean, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(predictive.variance, expected.var(), rtol=1e-4)
    np.testing.assert_allclose(
        predictive.log_prob(Y.astype(np.float64)), expected.logpdf(Y), atol=1e-4
    )
    # The best validation score is the same log-density, taken by the training loop.
    held_out = stats.t(*(part[30:] for part in (2 * alpha, mean, scale)))
    score = -held_out.logpdf(Y[30:]).sum(axis=1).mean()
    assert trained.best_score == pytest.approx(score, rel=1e-4)


def test_the_estimator_predicts_with_four_parameters():
    model = HeteroscedasticRegressor(
        preset="fast",
        objective=Evidential(),
        hidden_layer_sizes=3,
        activation="tanh",
        n_bins=0,
        max_updates=20,
        calibration=None,
        random_state=0,
    ).fit(X, Y)
    (params,) = model.members_
    z = (X - model.inputs_.mean) / model.inputs_.scale
    mean, nu, alpha, beta = by_hand(params, z)
    std = np.sqrt(beta * (1 + 1 / nu) / (alpha - 1))
    predicted = model.predict(X, return_std=True)
    expected = (
        (mean * model.targets_.scale + model.targets_.mean),
        (std * model.targets_.scale),
    )
    np.testing.assert_allclose(predicted, expected, rtol=1e-3, atol=1e-4)


def test_parameters_that_predictions_do_not_need_are_left_out():
    parameters = ("mean", "shape", "rate", "logits")
    assert VBEM().predictive_parameters(parameters) == parameters[:3]
    assert Evidential().predictive_parameters(parameters) == parameters


def test_an_objective_may_have_more_parameters_than_outputs():
    @objective(None)
    class WithNoise(MSE):
        def parameters(self, raw):
            (mean,) = raw
            return mean, 2 + 0 * mean

        def nll(self, parameters, target):
            mean, std = parameters
            return ((target - mean) / std) ** 2

        def loss(self, parameters, target, progress):
            return self.nll(parameters, target)

        def predictive(self, parameters):
            return Normal(*parameters)

    result = fit(MLP(2, ()), WithNoise(), X, Y, max_epochs=1)
    np.testing.assert_array_equal(result.predict(X).std, np.full((40, 2), 2.0))
