"""Objectives with a distribution of their own: calibrated, never replaced."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from betanll import HeteroscedasticRegressor
from betanll.distributions import Affine, Distribution, Mixture, Normal, StudentT
from betanll.estimators._calibration import residuals_of, spread_factor, with_spread
from betanll.metrics import evaluate, mean_squared_z
from betanll.objectives import OBJECTIVES, Objective, get, objective
from betanll.typing import Array


@dataclass(frozen=True)
class Laplace(Distribution):
    loc: Array
    scale: Array

    def _log_prob(self, value):
        return -np.abs(value - self.loc) / self.scale - np.log(2 * self.scale)

    def _cdf(self, value):
        z = (value - self.loc) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def _quantile(self, level):
        u = level - 0.5
        return self.loc - self.scale * np.sign(u) * np.log1p(-2 * np.abs(u))


class Positive(Objective):
    """A mean and a positive number."""

    n_parameters = 2

    def parameters(self, raw):
        loc, raw_scale = raw
        return loc, jax.nn.softplus(raw_scale) + 1e-4

    def nll(self, parameters, target):
        loc, scale = parameters
        return jnp.abs(target - loc) / scale + jnp.log(2 * scale)

    def loss(self, parameters, target, progress):
        return self.nll(parameters, target)


@objective(None)
class LaplaceLikelihood(Positive):
    name = "laplace-likelihood"

    def predictive(self, parameters):
        return Laplace(*parameters)


@objective(None)
class TwoNormals(Positive):
    name = "two-normals"

    def predictive(self, parameters):
        loc, scale = (np.asarray(part, np.float64) for part in parameters)
        return Mixture([Normal(loc - scale, scale), Normal(loc + scale, scale)])


def small(**changes):
    settings = {
        "preset": "fast",
        "objective": LaplaceLikelihood(),
        "hidden_layer_sizes": 4,
        "activation": "tanh",
        "n_bins": 0,
        "batch_size": 16,
        "max_updates": 40,
        "random_state": 0,
    }
    return HeteroscedasticRegressor(**{**settings, **changes})


@pytest.fixture(scope="module")
def laplace(table):
    return small().fit(*table)


@pytest.fixture(scope="module")
def ensemble(table):
    return small(n_members=3).fit(*table)


def test_every_objective_says_what_it_predicts():
    families = {name: get(name).predictive_family for name in OBJECTIVES}
    parameters = [np.full((3, 1), value) for value in (0.1, 2.5, 1.5)]
    for name, family in families.items():
        made = get(name)
        given = parameters[: min(3, made.n_parameters)]
        if name == "natural":
            given = [given[0], -given[1]]
        kind = {"normal": Normal, "student-t": StudentT}[family]
        assert type(made.predictive(tuple(given))) is kind
    assert LaplaceLikelihood().predictive_family == "custom"


def test_the_default_scales_custom_distributions(laplace, table):
    assert laplace.df_ is None
    assert laplace.spread_ != 1
    assert laplace.plan_for(40, 2).calibration == "scale"
    predictive = laplace.predict_dist(table[0])
    assert isinstance(predictive, Affine)
    assert isinstance(predictive.base, Laplace)
    # Stretched about its median, which is the mean, and mapped to the unit of y.
    (white,) = laplace._whitened(np.float64(table[0])).loc.T
    mean = laplace.targets_.scale * white + laplace.targets_.mean
    np.testing.assert_allclose(predictive.quantile(0.5), mean, rtol=1e-9)
    np.testing.assert_allclose(laplace.predict(table[0]), mean, rtol=1e-9)


def test_the_default_of_normal_and_student_t_objectives_stays(table):
    def calibration(name, **changes):
        return small(objective=name, **changes).plan_for(40, 2).calibration

    assert calibration("nll") == calibration("mse") == "student-t"
    assert calibration("student-t") is calibration("vbem") is None
    assert calibration(LaplaceLikelihood(), preset="paper") is None
    assert calibration(LaplaceLikelihood(), calibration=None) is None
    with pytest.raises(ValueError, match="is for Gaussian predictions, not for obj"):
        small(calibration="student-t").fit(*table)


def test_scaled_residuals_have_mean_square_one():
    rng = np.random.default_rng(0)
    one = Laplace(rng.normal(size=(30, 2)), rng.uniform(0.5, 2, (30, 2)))
    target = 3 * rng.normal(size=(30, 2))
    for predictive in (one, Mixture([one, one[::-1]]), one.affine(2.0, 1.0)):
        factor = spread_factor(residuals_of(predictive, target))
        scaled = with_spread(predictive, factor)
        for column in range(2):
            z = mean_squared_z(scaled[:, column], target[:, column])
            assert z == pytest.approx(1, rel=1e-9)
        np.testing.assert_allclose(scaled.mean, predictive.mean, atol=1e-9)


def test_ensembles_are_mixtures_of_the_custom_distribution(ensemble, table):
    X, y = table
    predictive = ensemble.predict_dist(X)
    assert isinstance(predictive, Mixture)
    assert all(isinstance(part.base, Laplace) for part in predictive.components)
    parts = ensemble.predict_parts(X)
    np.testing.assert_allclose(sum(parts), ensemble.predict_var(X), rtol=1e-9)
    assert np.all(parts.epistemic > 0)
    scores = evaluate(predictive, y)
    assert np.isfinite([scores.crps, scores.rmse, scores.log_likelihood]).all()
    assert np.all(np.diff(ensemble.predict_quantiles(X, [0.1, 0.5, 0.9])) > 0)
    assert ensemble.sample(X, 3, random_state=0).shape == (3, 40)


def test_conformal_calibration_of_custom_distributions(laplace, table):
    X, y = table
    model = small(calibration=None).fit(X, y).conformalize(X, y)
    low, high = model.predict_interval(X, 0.8).T
    assert np.sum((low - 1e-9 <= y) & (y <= high + 1e-9)) == 33


def test_a_mixture_of_one_network_is_noise_alone(table):
    model = small(objective=TwoNormals()).fit(*table)
    parts = model.predict_parts(table[0])
    assert isinstance(model.predict_dist(table[0]), Mixture)
    np.testing.assert_array_equal(parts.epistemic, 0)
    np.testing.assert_allclose(parts.aleatoric, model.predict_var(table[0]))
