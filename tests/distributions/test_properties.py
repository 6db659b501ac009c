"""Laws that hold for every class: inverses, units, coverage and samples."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from betanll.distributions import Mixture, Normal, StudentT

LEVELS = [1e-12, 1e-6, 0.025, 0.3, 0.5, 0.9, 0.975, 1 - 1e-6, 1 - 1e-12]


@st.composite
def distributions(draw, shape=(2, 2)):
    """Distributions whose parameters span several orders of magnitude."""

    def array(low, high):
        return draw(arrays(np.float64, shape, elements=st.floats(low, high)))

    def component():
        loc, scale = array(-20, 20), np.exp(array(-3, 3))
        if draw(st.booleans()):
            return Normal(loc, scale)
        return StudentT(2.002 + np.exp(array(-3, 7)), loc, scale)

    components = [component() for _ in range(draw(st.integers(1, 3)))]
    return components[0] if len(components) == 1 else Mixture(components)


@settings(max_examples=25)
@given(distributions())
def test_mixture_of_one_equals_its_component_bit_for_bit(component):
    mixture = Mixture([component])
    for name in ("mean", "variance", "std"):
        np.testing.assert_array_equal(getattr(mixture, name), getattr(component, name))
    value = component.mean + 0.3 * component.std
    np.testing.assert_array_equal(mixture.log_prob(value), component.log_prob(value))
    np.testing.assert_array_equal(mixture.cdf(value), component.cdf(value))
    levels = [0.0, 1e-9, 0.3, 1.0]
    np.testing.assert_array_equal(mixture.quantile(levels), component.quantile(levels))
    np.testing.assert_array_equal(mixture.interval(), component.interval())
    drawn = component.sample(4, rng=5)
    np.testing.assert_array_equal(mixture.sample(4, rng=5), drawn)


@given(distributions(), st.sampled_from(LEVELS))
def test_cdf_inverts_quantile(distribution, level):
    recovered = distribution.cdf(distribution.quantile(level))
    # A location of 20 next to a scale of 0.05 is rounded to 4e-16 * 20 / 0.05 = 1.6e-13
    # scales, on which a tail probability depends by a factor of at most about 10.
    np.testing.assert_allclose(recovered, level, rtol=1e-11)


@given(
    distributions(),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
    st.tuples(st.floats(-50, 50), st.floats(-50, 50)),
)
def test_affine_equivariance(distribution, log_scale, shift):
    scale, shift = np.exp(log_scale), np.array(shift)
    mapped = distribution.affine(scale, shift)
    assert type(mapped) is type(distribution)
    value = distribution.quantile(0.8)
    # Rounding is relative to the sizes that are added, not to their sum.
    atol = 1e-11 * (np.abs(scale * distribution.mean) + np.abs(shift) + scale)

    def assert_close(actual, expected):
        assert np.all(np.abs(actual - expected) <= atol + 1e-11 * np.abs(expected))

    assert_close(mapped.mean, scale * distribution.mean + shift)
    assert_close(mapped.quantile(0.1), scale * distribution.quantile(0.1) + shift)
    expected = scale * distribution.interval(0.5) + shift
    np.testing.assert_allclose(mapped.interval(0.5), expected, rtol=1e-9, atol=1e-9)
    drawn = scale * distribution.sample(3, rng=1) + shift
    np.testing.assert_allclose(mapped.sample(3, rng=1), drawn, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mapped.std, scale * distribution.std, rtol=1e-9)
    expected = scale**2 * distribution.variance
    np.testing.assert_allclose(mapped.variance, expected, rtol=1e-9)
    target = scale * value + shift
    # Standardizer identity: log p drops by log(scale), element by element.
    expected = distribution.log_prob(value) - np.log(scale)
    np.testing.assert_allclose(mapped.log_prob(target), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(mapped.cdf(target), distribution.cdf(value), atol=1e-9)


@given(distributions(), st.floats(0.01, 0.999))
def test_interval_holds_its_coverage(distribution, coverage):
    low, high = np.moveaxis(distribution.interval(coverage), 1, 0)
    held = distribution.cdf(high) - distribution.cdf(low)
    np.testing.assert_allclose(held, coverage, rtol=0, atol=1e-10)
    # Central: the same probability is left on either side.
    np.testing.assert_allclose(distribution.cdf(low), (1 - coverage) / 2, atol=1e-10)


@settings(max_examples=25)
@given(distributions())
def test_quantiles_increase_with_the_level(distribution):
    assert np.all(np.diff(distribution.quantile(LEVELS), axis=-1) > 0)


# Samples


def test_samples_have_the_right_moments():
    # 5 standard errors of the mean of 40000 draws, and 5 of the variance by the fourth
    # moment (df > 8 keeps it finite), over 9 independent comparisons each.
    n_samples = 40_000
    rng = np.random.default_rng(7)
    normal = Normal([-1.0, 0.0, 4.0], [0.5, 1.0, 2.0])
    student = StudentT([9.0, 20.0, 100.0], [0.0, 1.0, 2.0], [1.0, 0.3, 2.0])
    for distribution in (normal, student, Mixture([normal, student])):
        samples = distribution.sample(n_samples, rng=rng)
        error = samples.mean(axis=0) - distribution.mean
        assert np.all(np.abs(error) < 5 * distribution.std / np.sqrt(n_samples))
        squares = (samples - distribution.mean) ** 2
        error = squares.mean(axis=0) - distribution.variance
        assert np.all(np.abs(error) < 5 * squares.std(axis=0) / np.sqrt(n_samples))


def test_samples_follow_the_cdf(one_of_each):
    # Kolmogorov-Smirnov: P(sqrt(n) D > 2.2) is 1.2e-4.
    for distribution in one_of_each(()):
        samples = np.sort(distribution.sample(20_000, rng=11))
        levels = np.array([distribution.cdf(x) for x in samples[::100]])
        empirical = np.arange(0, 20_000, 100) / 20_000
        assert np.abs(levels - empirical).max() < 2.2 / np.sqrt(20_000)


def test_mixture_samples_are_coherent_over_the_outputs_of_a_row():
    ones = np.ones((50, 3))
    mixture = Mixture([Normal(-5 * ones, 0.1 * ones), Normal(5 * ones, 0.1 * ones)])
    signs = np.sign(mixture.sample(40, rng=0))
    assert np.all(signs == signs[..., :1])
    # Rows and samples are independent: 2000 fair draws, 5 standard errors.
    assert abs(signs[..., 0].mean()) < 5 / np.sqrt(2000)
    assert np.ptp(signs[0, :, 0]) == np.ptp(signs[:, 0, 0]) == 2
    # In one dimension each element is a row of its own.
    assert np.ptp(np.sign(mixture[:, 0].sample(1, rng=0))) == 2


def test_same_seed_same_samples(one_of_each):
    for distribution in one_of_each((3, 2)):
        first = distribution.sample(5, rng=3)
        np.testing.assert_array_equal(distribution.sample(5, rng=3), first)
        generator = np.random.default_rng(3)
        np.testing.assert_array_equal(distribution.sample(5, rng=generator), first)
        # A generator moves on; no seed is a fresh one.
        assert np.all(distribution.sample(5, rng=generator) != first)
        assert np.all(distribution.sample(5, rng=None) != first)


def test_whitening_and_back_leaves_the_error_as_it_is():
    from betanll.metrics import log_likelihood, rmse

    rng = np.random.default_rng(0)
    target, scale, shift = rng.normal(size=(30, 2)), [0.01, 300.0], [5.0, -1e3]
    prediction = Normal(target + 0.1, np.full((30, 2), 0.2))
    original = prediction.affine(scale, shift)
    in_units = target * scale + shift
    np.testing.assert_allclose(
        rmse((original.mean - shift) / scale, target), rmse(prediction.mean, target)
    )
    np.testing.assert_allclose(
        log_likelihood(original, in_units),
        log_likelihood(prediction, target) - np.log(scale).sum(),
    )
