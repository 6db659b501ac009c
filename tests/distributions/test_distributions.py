"""Closed forms, SciPy oracles, shapes, errors and properties of the distributions."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, special, stats
from scipy.optimize import brentq

from betanll.distributions import Distribution, Mixture, Normal, StudentT

LEVELS = [1e-12, 1e-6, 0.025, 0.3, 0.5, 0.9, 0.975, 1 - 1e-6, 1 - 1e-12]


def far_apart():
    """Two narrow components with a plateau of the cdf between them."""
    return Mixture([Normal([-5.0], [0.1]), Normal([5.0], [0.1])])


def one_of_each(shape, seed=0):
    """A normal, a Student-t and a mixture of both classes, all of one shape."""
    rng = np.random.default_rng(seed)
    normal = Normal(rng.normal(size=shape), rng.uniform(0.1, 2, shape))
    student = StudentT(
        rng.uniform(2.1, 30, shape), rng.normal(size=shape), rng.uniform(0.1, 2, shape)
    )
    return [normal, student, Mixture([normal, student])]


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


# Normal


def test_normal_closed_form():
    normal = Normal([0.0, 1.0], [1.0, 0.5])
    half_log_2pi = 0.9189385332046727
    expected = [-half_log_2pi - 2.0, -half_log_2pi - 2.0 + np.log(2)]
    np.testing.assert_allclose(normal.log_prob([2.0, 2.0]), expected, rtol=1e-15)
    np.testing.assert_allclose(normal.cdf([0.0, 1.0]), [0.5, 0.5], rtol=0)
    bound = 1.959963984540054
    expected = [[-bound, bound], [1 - bound / 2, 1 + bound / 2]]
    np.testing.assert_allclose(normal.interval(0.95), expected, rtol=1e-14)
    np.testing.assert_array_equal(normal.variance, [1.0, 0.25])


def test_normal_agrees_with_scipy():
    rng = np.random.default_rng(0)
    mean, std, value = rng.normal(size=50), rng.uniform(0.1, 3, 50), rng.normal(size=50)
    normal, oracle = Normal(mean, std), stats.norm(mean, std)
    np.testing.assert_allclose(normal.log_prob(value), oracle.logpdf(value), rtol=4e-15)
    np.testing.assert_allclose(normal.cdf(value), oracle.cdf(value), rtol=1e-14)
    for level in LEVELS:
        expected = oracle.ppf(level)
        np.testing.assert_allclose(normal.quantile(level), expected, rtol=1e-13)


def test_normal_from_variance():
    normal = Normal.from_variance([1.0], [4.0])
    np.testing.assert_array_equal(normal.std, [2.0])
    with pytest.raises(ValueError, match=r"variance must be positive.*-1\.0"):
        Normal.from_variance([1.0], [-1.0])


# Student-t


def test_student_t_closed_forms_for_one_and_two_degrees_of_freedom():
    z = np.array([-30.0, -1.0, 0.0, 0.5, 1e3])
    cauchy = StudentT(np.ones(5), np.zeros(5), np.ones(5))
    expected = -np.log(np.pi * (1 + z**2))
    np.testing.assert_allclose(cauchy.log_prob(z), expected, rtol=2e-15)
    two = StudentT(np.full(5, 2.0), np.zeros(5), np.ones(5))
    expected = 0.5 + z / (2 * np.sqrt(2 + z**2))
    np.testing.assert_allclose(two.cdf(z), expected, rtol=1e-12)
    for p in (1e-9, 1e-6, 0.1, 0.5, 0.975):
        expected = (2 * p - 1) / np.sqrt(2 * p * (1 - p))
        np.testing.assert_allclose(two.quantile(p), expected, rtol=1e-14)


def test_student_t_log_prob_reference_digits():
    # 40-digit arithmetic of mpmath 1.3, rounded.
    student = StudentT([2.002, 32.0, 2000.0, 1e6], np.zeros(4), np.ones(4))
    expected = [
        -3.597206690905088045,
        -1.055155080418547024,
        -8.891217267200926358,
        -2.918936783211339387,
    ]
    actual = student.log_prob([3.0, 0.5, 4.0, 2.0])
    np.testing.assert_allclose(actual, expected, rtol=1e-15)


def test_student_t_quantile_reference_digits():
    # scipy.stats.t.ppf calls the same stdtrit, so this is the independent check:
    # mpmath 1.3 with 40 digits, for the double closest to 1e-6.
    df = [2.002, 3.388, 30.0, 2000.0]
    student = StudentT(df, np.zeros(4), np.ones(4))
    expected = [
        -702.9449895272232768,
        -67.67995480846187464,
        -5.871117120418882662,
        -4.767480145393622177,
    ]
    np.testing.assert_allclose(student.quantile(1e-6), expected, rtol=1e-14)
    # The incomplete beta function is another route to the same quantile.
    for p in (1e-12, 1e-6, 0.01, 0.2):
        x = special.betaincinv(np.divide(df, 2), 0.5, 2 * p)
        expected = -np.sqrt(df * (1 - x) / x)
        np.testing.assert_allclose(student.quantile(p), expected, rtol=1e-11)


def test_student_t_agrees_with_scipy():
    df = np.array([0.5, 1.0, 2.002, 3.388, 10.0, 31.9, 32.1, 500.0, 2000.0])
    loc, scale = np.linspace(-2, 2, 9), np.linspace(0.1, 3, 9)
    student, oracle = StudentT(df, loc, scale), stats.t(df, loc, scale)
    for value in (-40.0, -1.0, 0.3, 7.0):
        # SciPy's own normaliser loses up to four digits at df = 2000.
        expected = oracle.logpdf(value)
        np.testing.assert_allclose(student.log_prob(value), expected, rtol=1e-12)
        np.testing.assert_allclose(student.cdf(value), oracle.cdf(value), rtol=1e-11)
    for level in (1e-6, 0.025, 0.3, 0.5, 0.9, 1 - 1e-6):
        expected = oracle.ppf(level)
        np.testing.assert_allclose(student.quantile(level), expected, rtol=1e-13)


@pytest.mark.parametrize("df", [1e6, 1e8, 1e12])
def test_student_t_approaches_the_normal_at_the_known_rate(df):
    # log t / N = (z^4 - 2 z^2 - 1) / (4 df) + (z^4 / 4 - z^6 / 6) / df^2 + O(1 / df^3).
    z = np.array([-3.0, 0.0, 0.5, 2.0])
    student = StudentT(np.full(4, df), np.zeros(4), np.ones(4))
    correction = (z**4 - 2 * z**2 - 1) / (4 * df) + (z**4 / 4 - z**6 / 6) / df**2
    difference = student.log_prob(z) - Normal(np.zeros(4), np.ones(4)).log_prob(z)
    np.testing.assert_allclose(difference, correction, rtol=0, atol=4e-15)


def test_student_t_from_gamma_matches_the_formula_and_the_integral():
    mean, a, b, y = 0.7, 1.69415, 0.69415, 2.5
    student = StudentT.from_gamma([mean], [a], [b])
    residual = y - mean
    formula = (
        special.gammaln(a + 0.5)
        - special.gammaln(a)
        - 0.5 * np.log(2 * np.pi * b)
        - (a + 0.5) * np.log1p(residual**2 / (2 * b))
    )
    np.testing.assert_allclose(student.log_prob([y]), [formula], rtol=1e-14)
    precision_density = stats.gamma(a, scale=1 / b).pdf

    def joint(precision):
        return stats.norm.pdf(y, mean, precision**-0.5) * precision_density(precision)

    density, _ = integrate.quad(joint, 0, np.inf, epsabs=0, epsrel=1e-10)
    np.testing.assert_allclose(np.exp(student.log_prob([y])), [density], rtol=1e-8)
    np.testing.assert_allclose(student.df, [2 * a])
    np.testing.assert_allclose(student.variance, [b / (a - 1)], rtol=1e-14)


def test_student_t_moments_where_they_exist():
    student = StudentT([0.5, 1.0, 1.5, 2.0, 4.0], np.full(5, 3.0), np.full(5, 2.0))
    nan, inf = np.nan, np.inf
    np.testing.assert_array_equal(student.mean, [nan, nan, 3.0, 3.0, 3.0])
    np.testing.assert_array_equal(student.variance, [nan, nan, inf, inf, 8.0])
    np.testing.assert_array_equal(student.std, [nan, nan, inf, inf, np.sqrt(8.0)])
    # Quantiles and log densities exist regardless.
    np.testing.assert_array_equal(student.quantile(0.5), np.full(5, 3.0))
    assert np.all(np.isfinite(student.log_prob(10.0)))


def test_log_prob_is_finite_far_in_the_tails():
    assert Normal(0.0, 1.0).log_prob(1e150) == pytest.approx(-5e299)
    assert Normal(0.0, 1.0).log_prob(1e200) == -np.inf
    student = StudentT(3.0, 0.0, 1.0)
    # Density ~ 6 sqrt(3) / (pi z^4): the square of z overflows, the result does not.
    expected = np.log(6 * np.sqrt(3) / np.pi) - 4 * 300 * np.log(10)
    assert student.log_prob(1e300) == pytest.approx(expected, rel=1e-15)
    assert np.isfinite(Mixture([Normal(0.0, 1.0), student]).log_prob(1e300))


# Mixture


def test_mixture_moments_split_into_aleatoric_and_epistemic():
    mixture = Mixture([Normal([0.0, 1.0], [1.0, 2.0]), Normal([2.0, 1.0], [3.0, 2.0])])
    np.testing.assert_array_equal(mixture.mean, [1.0, 1.0])
    np.testing.assert_array_equal(mixture.aleatoric_variance, [5.0, 4.0])
    np.testing.assert_array_equal(mixture.epistemic_variance, [1.0, 0.0])
    np.testing.assert_array_equal(mixture.variance, [6.0, 4.0])
    # Without a finite component variance there is no finite mixture variance.
    heavy = Mixture([Normal([0.0], [1.0]), StudentT([1.5], [0.0], [1.0])])
    np.testing.assert_array_equal(heavy.variance, [np.inf])


def test_mixture_std_of_components_far_apart():
    np.testing.assert_allclose(far_apart().std, [np.sqrt(25.01)], rtol=1e-15)


def test_mixture_log_prob_is_logsumexp_minus_log_k():
    components = [*one_of_each((4, 2), seed=1)[:2], *one_of_each((4, 2), seed=2)[:2]]
    value = np.linspace(-3, 3, 8).reshape(4, 2)
    log_probs = np.stack([c.log_prob(value) for c in components])
    expected = special.logsumexp(log_probs, axis=0) - np.log(4)
    mixture = Mixture(components)
    np.testing.assert_allclose(mixture.log_prob(value), expected, rtol=1e-14)
    expected = np.mean([c.cdf(value) for c in components], axis=0)
    np.testing.assert_allclose(mixture.cdf(value), expected, rtol=1e-15)


def test_mixture_quantiles_of_components_far_apart():
    # Away from the plateau, level p of the mixture is level 2p of the left component
    # or 2p - 1 of the right one.
    quantiles = far_apart().quantile([0.01, 0.25, 0.4, 0.6, 0.75, 0.99])[0]
    left = -5 + 0.1 * special.ndtri([0.02, 0.5, 0.8])
    right = 5 + 0.1 * special.ndtri([0.2, 0.5, 0.98])
    np.testing.assert_allclose(quantiles, [*left, *right], rtol=0, atol=1e-10)


def test_mixture_median_on_the_plateau_balances_the_two_tails():
    assert far_apart().quantile(0.5) == pytest.approx(0.0, abs=1e-12)
    # (x + 5) / 0.1 = (5 - x) / 0.2 at x = -5/3, where both tails are about 1e-243.
    uneven = Mixture([Normal([-5.0], [0.1]), Normal([5.0], [0.2])])
    assert uneven.quantile(0.5) == pytest.approx(-5 / 3, rel=1e-10)


@pytest.mark.parametrize("level", LEVELS)
def test_mixture_quantile_agrees_with_a_scalar_root_finder(level):
    normal, student, mixture = one_of_each((5,), seed=3)
    quantile = mixture.quantile(level)
    for i in range(5):
        parts = [stats.norm(normal.mean[i], normal.std[i])]
        parts += [stats.t(student.df[i], student.loc[i], student.scale[i])]

        def excess(x, parts=parts):
            if level <= 0.5:
                return sum(part.cdf(x) for part in parts) / 2 - level
            return (1 - level) - sum(part.sf(x) for part in parts) / 2

        bounds = sorted(part.ppf(level) for part in parts)
        expected = brentq(excess, *bounds, xtol=1e-13, rtol=1e-14)
        assert quantile[i] == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_mixture_quantile_ignores_scales_that_differ_by_many_orders():
    # F_wide is 1/2 near zero, so the narrow component must be at level 0.3.
    mixture = Mixture([StudentT(3.0, 0.0, 1e6), Normal(0.0, 1e-6)])
    expected = 1e-6 * special.ndtri(0.3)
    assert mixture.quantile(0.4) == pytest.approx(expected, rel=1e-9)


def test_mixture_quantiles_are_as_accurate_in_the_upper_tail_as_in_the_lower():
    # 1 - level is exact, but three times that is not.
    level = 5 * 2.0**-53
    parts = [(0.0, 1.0), (1.0, 0.7), (-2.0, 1.5)]
    mixture = Mixture([Normal(mean, std) for mean, std in parts])
    mirrored = Mixture([Normal(-mean, std) for mean, std in parts])
    expected = -mirrored.quantile(level)
    assert mixture.quantile(1 - level) == pytest.approx(expected, rel=1e-12)


def test_mixture_nests():
    a, b, mixture = one_of_each((3,))
    nested = Mixture([mixture, mixture])
    np.testing.assert_allclose(nested.variance, mixture.variance, rtol=1e-14)
    np.testing.assert_allclose(nested.quantile(0.1), mixture.quantile(0.1), rtol=1e-12)
    np.testing.assert_allclose(
        Mixture([mixture, a]).cdf(0.2), 0.75 * a.cdf(0.2) + 0.25 * b.cdf(0.2)
    )


def test_nan_means_stay_nan_without_disturbing_other_rows():
    mixture = Mixture(
        [Normal([np.nan, 0.0], [1.0, 1.0]), Normal([0.0, 2.0], [1.0, 1.0])]
    )
    np.testing.assert_array_equal(np.isnan(mixture.quantile(0.3)), [True, False])
    assert mixture.quantile(0.5)[1] == pytest.approx(1.0, abs=1e-12)


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


def test_mixture_of_one_keeps_a_std_whose_square_underflows():
    assert Mixture([Normal(0.0, 1e-200)]).std == 1e-200


# Properties of every class


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
    # Whitening identity: log p drops by log(scale), element by element.
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


# Shapes


@pytest.mark.parametrize("shape", [(), (4,), (0,), (4, 1), (4, 3), (2, 4, 3)])
def test_shapes_of_all_members(shape):
    for distribution in one_of_each(shape):
        assert isinstance(distribution, Distribution)
        assert distribution.shape == shape
        for name in ("mean", "variance", "std"):
            assert getattr(distribution, name).shape == shape
        assert distribution.log_prob(0.5).shape == shape
        assert distribution.cdf(np.zeros(shape)).shape == shape
        assert distribution.quantile(0.2).shape == shape
        assert distribution.quantile([0.1, 0.2, 0.3, 0.4, 0.5]).shape == (*shape, 5)
        assert distribution.quantile([]).shape == (*shape, 0)
        assert distribution.interval().shape == (*shape[:1], 2, *shape[1:])
        assert distribution.sample(7, rng=0).shape == (7, *shape)
        assert distribution.affine(2.0, 1.0).shape == shape


def test_levels_in_a_sequence_equal_levels_alone():
    for distribution in one_of_each((4, 3)):
        together = distribution.quantile([0.1, 0.6])
        np.testing.assert_array_equal(together[..., 0], distribution.quantile(0.1))
        np.testing.assert_array_equal(together[..., 1], distribution.quantile(0.6))


def test_levels_zero_and_one_are_infinite():
    for distribution in one_of_each((4, 3)):
        np.testing.assert_array_equal(
            distribution.quantile(0), np.full((4, 3), -np.inf)
        )
        np.testing.assert_array_equal(distribution.quantile(1), np.full((4, 3), np.inf))
        # Both together, next to an ordinary one.
        assert np.isinf(distribution.quantile([0, 0.5, 1])).sum() == 2 * 12


def test_unreachable_quantiles_keep_their_sign():
    student = StudentT(3.0, 0.0, 1.0)
    for distribution in (student, Mixture([student]), Mixture([student, student])):
        assert distribution.quantile(1e-300) < -1e90


def test_rows_are_selected():
    for distribution in one_of_each((4, 3)):
        assert len(distribution) == 4
        value = distribution.quantile(0.3)
        mask = np.array([True, False, True, False])
        for index in (slice(1, 3), [2, 0], mask, 1):
            picked = distribution[index]
            assert type(picked) is type(distribution)
            np.testing.assert_array_equal(picked.mean, distribution.mean[index])
            expected = distribution.log_prob(value)[index]
            np.testing.assert_array_equal(picked.log_prob(value[index]), expected)


def test_affine_accepts_scalars_and_vectors_over_the_last_axis():
    for distribution in one_of_each((4, 2)):
        for scale, shift in ((2.0, [1.0, 3.0]), ([2.0, 5.0], 1.0), ([2.0], [1.0])):
            expected = np.asarray(scale) * distribution.mean + np.asarray(shift)
            np.testing.assert_allclose(distribution.affine(scale, shift).mean, expected)


def test_affine_accepts_a_scale_and_a_shift_for_each_element():
    rng = np.random.default_rng(3)
    scale, shift = rng.uniform(0.1, 5, (4, 2)), rng.normal(0, 10, (4, 2))
    for distribution in one_of_each((4, 2)):
        value = distribution.quantile(0.7)
        for a, b in ((scale, shift), (scale, 1.0), (scale[0], shift), (2.0, shift)):
            mapped = distribution.affine(a, b)
            assert type(mapped) is type(distribution)
            wide, moved = np.broadcast_to(a, (4, 2)), np.broadcast_to(b, (4, 2))
            np.testing.assert_allclose(mapped.mean, wide * distribution.mean + moved)
            np.testing.assert_allclose(mapped.std, wide * distribution.std)
            np.testing.assert_allclose(mapped.quantile(0.7), wide * value + moved)
            expected = distribution.log_prob(value) - np.log(wide)
            found = mapped.log_prob(wide * value + moved)
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    # The parameters of each class, not only the moments that they give.
    _, student, mixture = one_of_each((4, 2))
    mapped = student.affine(scale, shift)
    np.testing.assert_array_equal(mapped.df, student.df)
    np.testing.assert_allclose(mapped.loc, scale * student.loc + shift)
    np.testing.assert_allclose(mapped.scale, scale * student.scale)
    parts = mixture.affine(scale, shift).components
    for part, original in zip(parts, mixture.components, strict=True):
        np.testing.assert_allclose(part.mean, scale * original.mean + shift)


def test_inputs_become_float64_and_stay_fixed():
    normal = Normal(np.array([1, 2]), np.array([1, 2], dtype=np.float32))
    assert normal.mean.dtype == normal.std.dtype == np.float64
    with pytest.raises(AttributeError):
        normal.mean = np.zeros(2)


def test_distributions_survive_pickling():
    for distribution in one_of_each((3,)):
        copy = pickle.loads(pickle.dumps(distribution))
        np.testing.assert_array_equal(copy.quantile(0.3), distribution.quantile(0.3))


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


def test_samples_follow_the_cdf():
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


def test_same_seed_same_samples():
    for distribution in one_of_each((3, 2)):
        first = distribution.sample(5, rng=3)
        np.testing.assert_array_equal(distribution.sample(5, rng=3), first)
        generator = np.random.default_rng(3)
        np.testing.assert_array_equal(distribution.sample(5, rng=generator), first)
        # A generator moves on; no seed is a fresh one.
        assert np.all(distribution.sample(5, rng=generator) != first)
        assert np.all(distribution.sample(5, rng=None) != first)


# Errors


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_parameters_must_be_positive_and_finite(bad):
    ones, broken = [1.0, 1.0], [1.0, bad]
    with pytest.raises(ValueError, match="std must be positive and finite"):
        Normal(ones, broken)
    with pytest.raises(ValueError, match="variance must be positive and finite"):
        Normal.from_variance(ones, broken)
    with pytest.raises(ValueError, match="df must be positive and finite"):
        StudentT(broken, ones, ones)
    with pytest.raises(ValueError, match="scale must be positive and finite"):
        StudentT(ones, ones, broken)
    with pytest.raises(ValueError, match="shape must be positive and finite"):
        StudentT.from_gamma(ones, broken, ones)
    with pytest.raises(ValueError, match="rate must be positive and finite"):
        StudentT.from_gamma(ones, ones, broken)
    for distribution in one_of_each((3, 2)):
        with pytest.raises(ValueError, match="scale must be positive and finite"):
            distribution.affine(broken, 0.0)


def test_parameters_must_have_equal_shapes():
    flat, column = np.ones(3), np.ones((3, 1))
    with pytest.raises(ValueError, match=r"mean \(3,\), std \(3, 1\)"):
        Normal(flat, column)
    with pytest.raises(ValueError, match=r"mean \(3,\), std \(\)"):
        Normal(flat, 1.0)
    with pytest.raises(ValueError, match=r"df \(\), loc \(3,\), scale \(3,\)"):
        StudentT(4.0, flat, flat)
    with pytest.raises(ValueError, match=r"shape \(3,\), rate \(\)"):
        StudentT.from_gamma(flat, flat, 1.0)
    with pytest.raises(ValueError, match=r"\(3,\).*\(3, 1\)"):
        Mixture([Normal(flat, flat), Normal(column, column)])


@pytest.mark.parametrize("shape", [(3, 1), (1,), (2,), (1, 3)])
def test_values_that_would_broadcast_raise(shape):
    for distribution in one_of_each((3,)):
        for method in (distribution.log_prob, distribution.cdf):
            both = rf"{re.escape(str(shape))}.*\(3,\)"
            with pytest.raises(ValueError, match=both):
                method(np.zeros(shape))


def test_affine_vectors_must_fit_the_last_axis():
    for distribution in one_of_each((3, 2)):
        with pytest.raises(ValueError, match=r"scale has shape \(3,\).*\(3, 2\)"):
            distribution.affine(np.ones(3), 0.0)
        with pytest.raises(ValueError, match=r"shift has shape \(2, 3\)"):
            distribution.affine(1.0, np.ones((2, 3)))
        with pytest.raises(ValueError, match=r"shift has shape \(3, 1\)"):
            distribution.affine(1.0, np.ones((3, 1)))
    for distribution in one_of_each(()):
        with pytest.raises(ValueError, match=r"scale has shape \(1,\)"):
            distribution.affine([1.0], 0.0)


@pytest.mark.parametrize("level", [-0.1, 1.1, np.nan, [0.5, np.nan], [0.5, 2.0]])
def test_levels_outside_the_unit_interval_raise(level):
    for distribution in one_of_each((3,)):
        with pytest.raises(ValueError, match=r"level must lie in \[0, 1\]"):
            distribution.quantile(level)


def test_levels_of_two_dimensions_raise():
    for distribution in one_of_each((3,)):
        with pytest.raises(ValueError, match=r"scalar or 1-D, got shape \(1, 1\)"):
            distribution.quantile([[0.5]])


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 90, np.nan])
def test_coverage_outside_the_open_unit_interval_raises(coverage):
    for distribution in one_of_each((3,)):
        with pytest.raises(ValueError, match=r"coverage must lie in \(0, 1\)"):
            distribution.interval(coverage)


def test_mixture_refuses_nothing_and_strangers():
    with pytest.raises(ValueError, match="at least one component"):
        Mixture([])
    with pytest.raises(TypeError, match="ndarray is not a distribution"):
        Mixture([Normal(0.0, 1.0), np.zeros(())])


def test_scalar_distributions_have_no_length():
    for distribution in one_of_each(()):
        with pytest.raises(TypeError, match="no length"):
            len(distribution)


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
