"""Error, log-likelihood and squared z-scores against hand-made numbers."""

import numpy as np
import pytest
from scipy import stats

from betanll.distributions import Mixture, Normal, StudentT
from betanll.metrics import log_likelihood, mean_squared_z, rmse


def test_rmse_averages_squares_over_rows_and_outputs():
    mean, target = np.zeros((2, 2)), [[3.0, 1.0], [1.0, 1.0]]
    np.testing.assert_allclose(rmse(mean, target), np.sqrt(3), rtol=1e-15)
    assert rmse([1.0, 2.0], [1.0, 2.0]) == 0
    assert rmse(1.0, 3.0) == 2


def test_rmse_leaves_out_missing_targets_but_not_missing_predictions():
    assert rmse([[0.0, 0.0]], [[2.0, np.nan]]) == 2
    assert np.isnan(rmse([[np.nan, 0.0]], [[2.0, 1.0]]))
    assert rmse([[np.nan, 0.0]], [[np.nan, 1.0]]) == 1


def test_an_error_too_large_to_square_is_infinite():
    assert rmse([1e200], [0.0]) == np.inf


def test_log_likelihood_sums_over_outputs_and_averages_over_rows():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=(7, 3)), rng.uniform(0.1, 2, (7, 3))
    target = rng.normal(size=(7, 3))
    expected = stats.norm.logpdf(target, mean, std).sum(axis=1).mean()
    actual = log_likelihood(Normal(mean, std), target)
    np.testing.assert_allclose(actual, expected, rtol=1e-14)


def test_log_likelihood_of_a_mixture_is_log_mean_exp():
    rng = np.random.default_rng(1)
    target = rng.normal(size=9)
    components = [Normal(rng.normal(size=9), np.full(9, s)) for s in (0.5, 1.0, 2.0)]
    densities = [stats.norm.pdf(target, c.mean, c.std) for c in components]
    expected = np.log(np.mean(densities, axis=0)).mean()
    actual = log_likelihood(Mixture(components), target)
    np.testing.assert_allclose(actual, expected, rtol=1e-14)


def test_log_likelihood_drops_by_the_log_scale_of_each_output():
    rng = np.random.default_rng(2)
    target, scale, shift = rng.normal(size=(20, 2)), [0.01, 300.0], [5.0, -1e3]
    student = StudentT(np.full((20, 2), 3.0), np.zeros((20, 2)), np.ones((20, 2)))
    actual = log_likelihood(student.affine(scale, shift), target * scale + shift)
    expected = log_likelihood(student, target) - np.log(scale).sum()
    np.testing.assert_allclose(actual, expected, rtol=1e-11)


def test_log_likelihood_averages_each_output_over_its_observed_rows():
    rng = np.random.default_rng(3)
    normal = Normal(rng.normal(size=(5, 2)), rng.uniform(0.5, 2, (5, 2)))
    target = rng.normal(size=(5, 2))
    log_prob = normal.log_prob(target)
    target[[0, 3], 0] = np.nan
    expected = log_prob[[1, 2, 4], 0].mean() + log_prob[:, 1].mean()
    np.testing.assert_allclose(log_likelihood(normal, target), expected, rtol=1e-14)
    target[:, 0] = np.nan
    with pytest.raises(ValueError, match="every output needs at least one observed"):
        log_likelihood(normal, target)


def test_mean_squared_z():
    normal = Normal([[0.0, 1.0], [0.0, 0.0]], [[1.0, 2.0], [1.0, 1.0]])
    assert mean_squared_z(normal, [[2.0, 3.0], [0.0, np.nan]]) == 5 / 3
    # Rescaling the variances by it makes it one.
    rng = np.random.default_rng(4)
    target, std = rng.normal(size=50), rng.uniform(0.1, 1, 50)
    factor = np.sqrt(mean_squared_z(Normal(np.zeros(50), std), target))
    rescaled = Normal(np.zeros(50), factor * std)
    np.testing.assert_allclose(mean_squared_z(rescaled, target), 1, rtol=1e-14)


def test_mean_squared_z_without_variance_or_mean():
    for df, expected in ((1.5, 0.0), (0.5, np.nan)):
        student = StudentT([df], [0.0], [1.0])
        np.testing.assert_equal(mean_squared_z(student, [3.0]), expected)


@pytest.mark.parametrize("metric", [log_likelihood, mean_squared_z])
def test_targets_of_another_shape_raise(metric):
    normal = Normal(np.zeros((3, 1)), np.ones((3, 1)))
    for target in (np.zeros(3), np.zeros((1, 3)), np.zeros((3, 2)), 0.0):
        with pytest.raises(ValueError, match="shape of the distribution"):
            metric(normal, target)
    with pytest.raises(ValueError, match="shape of the distribution"):
        metric(Normal(0.0, 1.0), 0.0)


def test_rmse_refuses_to_broadcast():
    with pytest.raises(ValueError, match=r"same shape, got \(3,\) and \(3, 1\)"):
        rmse(np.zeros(3), np.zeros((3, 1)))


def test_infinite_and_absent_targets_raise():
    normal = Normal([0.0, 0.0], [1.0, 1.0])
    for target in ([0.0, np.inf], [-np.inf, np.nan]):
        for call in (
            lambda t: rmse([0.0, 0.0], t),
            lambda t: mean_squared_z(normal, t),
        ):
            with pytest.raises(ValueError, match="infinite entries"):
                call(target)
    with pytest.raises(ValueError, match="no observed target"):
        rmse([0.0, 0.0], [np.nan, np.nan])
    with pytest.raises(ValueError, match="no observed target"):
        rmse([], [])
