"""Mixtures with weights, for all rows or for each."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from betanll.distributions import Mixture, Normal, StudentT

TARGET = np.linspace(-2, 3, 8).reshape(4, 2)


def components(one_of_each, shape=(4, 2)):
    normal, student, _ = one_of_each(shape, seed=1)
    return [normal, student, *one_of_each(shape, seed=2)[:1]]


def assert_same(found, expected, target=TARGET, rtol=1e-12):
    for name in ("mean", "variance", "std"):
        actual, wanted = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=1e-14)
    for name in ("log_prob", "cdf", "crps"):
        actual, wanted = getattr(found, name)(target), getattr(expected, name)(target)
        np.testing.assert_allclose(actual, wanted, rtol=max(rtol, 1e-10))
    levels = [1e-9, 0.2, 0.5, 0.999]
    np.testing.assert_allclose(
        found.quantile(levels), expected.quantile(levels), rtol=1e-10, atol=1e-10
    )


def test_equal_weights_are_the_default(one_of_each):
    parts = components(one_of_each)
    for weights in (np.ones(3) / 3, np.ones((4, 3)), np.ones((4, 2, 3))):
        assert_same(Mixture(parts, weights), Mixture(parts))
    assert Mixture(parts).weights is None


def test_weights_count_repeated_components(one_of_each):
    one, two, three = components(one_of_each)
    repeated = Mixture([one, one, two, three, three, three])
    assert_same(Mixture([one, two, three], [2, 1, 3]), repeated)
    # Other numbers in other rows.
    weights = [[2, 1, 3]] * 3 + [[1, 1, 1]]
    mixture = Mixture([one, two, three], weights)
    assert_same(mixture[:3], repeated[:3], TARGET[:3])
    assert_same(mixture[3:], Mixture([one, two, three])[3:], TARGET[3:])


def test_one_hot_weights_are_the_component(one_of_each):
    parts = components(one_of_each)
    # Parts of weight zero do not count, even where their moments do not exist.
    parts.append(StudentT(*(np.full((4, 2), df) for df in (0.7, np.nan, 1.0))))
    chosen = [0, 1, 2, 1]
    mixture = Mixture(parts, np.eye(4)[chosen])
    for row, k in enumerate(chosen):
        expected = parts[k][row]
        assert_same(mixture[row], expected, TARGET[row])
        np.testing.assert_array_equal(
            mixture[row].quantile(0.3), expected.quantile(0.3)
        )
    normals = [Normal([0.0], [1.0]), Normal([5.0], [2.0])]
    scores = Mixture(normals, [0.0, 1.0]).crps([4.0])
    np.testing.assert_allclose(scores, normals[1].crps([4.0]), rtol=1e-14)


def test_weighted_mixtures_agree_with_numerical_integration(one_of_each):
    parts = components(one_of_each, (2,))
    weights = np.array([[0.1, 0.6, 0.3], [0.85, 0.05, 0.1]])
    mixture = Mixture(parts, weights)
    for row in range(2):

        def density(x, row=row):
            logs = [part[row].log_prob(x) for part in parts]
            return weights[row] @ np.exp(logs)

        def moment(function, low=-np.inf, high=np.inf, density=density):
            cuts = np.clip([low, -30, -5, -1, 0, 1, 5, 30, high], low, high)
            return sum(
                integrate.quad(lambda x: function(x) * density(x), a, b)[0]
                for a, b in pairwise(cuts)
                if a < b
            )

        mean = moment(lambda x: x)
        assert mixture.mean[row] == pytest.approx(mean, abs=1e-8)
        variance = moment(lambda x, mean=mean: (x - mean) ** 2)
        assert mixture.variance[row] == pytest.approx(variance, rel=1e-6)
        below = moment(lambda x: 1.0, high=0.4)
        assert mixture.cdf(0.4)[row] == pytest.approx(below, abs=1e-9)
        level = 0.3
        found = mixture.quantile(level)[row]
        assert moment(lambda x: 1.0, high=found) == pytest.approx(level, abs=1e-9)


def test_weights_of_normals_have_a_closed_score():
    rng = np.random.default_rng(0)
    normals = [Normal(rng.normal(size=9), rng.uniform(0.2, 2, 9)) for _ in range(3)]
    weights, target = rng.dirichlet([1, 1, 1], 9), rng.normal(size=9)
    closed = Mixture(normals, weights).crps(target)
    student = StudentT(np.full(9, 1e12), normals[0].mean, normals[0].std)
    quadrature = Mixture([student, *normals[1:]], weights).crps(target)
    np.testing.assert_allclose(closed, quadrature, rtol=1e-9)


def test_weighted_mixtures_nest_and_move(one_of_each):
    one, two, three = components(one_of_each)
    inner = Mixture([one, two], [[0.25, 0.75]] * 4)
    nested = Mixture([inner, three], [0.4, 0.6])
    flat = Mixture([one, two, three], [0.1, 0.3, 0.6])
    assert_same(nested, flat)
    moved, expected = nested.affine(2.0, 1.0), flat.affine(2.0, 1.0)
    assert_same(moved, expected)
    for index in (slice(1, 3), np.array([True, False, True, True]), (..., 0)):
        np.testing.assert_array_equal(flat[index].mean, flat.mean[index])
        np.testing.assert_allclose(
            nested[index].crps(TARGET[index]), flat.crps(TARGET)[index], rtol=1e-10
        )


def test_weighted_samples_are_coherent_and_have_the_right_shares():
    ones = np.ones((2, 3))
    parts = [Normal(5 * k * ones, 0.1 * ones) for k in (-1, 0, 1)]
    weights = np.array([[0.2, 0.0, 0.8], [0.5, 0.3, 0.2]])
    chosen = np.round(Mixture(parts, weights).sample(4000, rng=0) / 5)
    assert np.all(chosen == chosen[..., :1])
    for row in range(2):
        shares = [np.mean(chosen[:, row, 0] == k) for k in (-1, 0, 1)]
        # Five standard errors of 4000 draws.
        np.testing.assert_allclose(shares, weights[row], rtol=0, atol=0.04)
    again = Mixture(parts, weights).sample(4000, rng=0)
    np.testing.assert_array_equal(np.round(again / 5), chosen)


def test_bad_weights_are_named(one_of_each):
    parts = components(one_of_each)
    for shape in ((2,), (3, 4), (2, 3), (4, 1, 3), (1, 3), ()):
        with pytest.raises(
            ValueError, match=r"weights have shape .*\(3,\) or \(4, 3\)"
        ):
            Mixture(parts, np.ones(shape))
    for bad in (-0.1, np.nan, np.inf):
        with pytest.raises(ValueError, match="weights must be finite and not negative"):
            Mixture(parts, [1.0, bad, 1.0])
    with pytest.raises(ValueError, match="at least one above zero"):
        Mixture(parts, [[1, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0]])
