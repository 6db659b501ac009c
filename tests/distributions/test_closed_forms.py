"""Closed forms and SciPy oracles of the normal, the Student-t and mixtures."""

import numpy as np
import pytest
from scipy import integrate, special, stats
from scipy.optimize import brentq

from betanll.distributions import Mixture, Normal, StudentT

LEVELS = [1e-12, 1e-6, 0.025, 0.3, 0.5, 0.9, 0.975, 1 - 1e-6, 1 - 1e-12]


def far_apart():
    """Two narrow components with a plateau of the cdf between them."""
    return Mixture([Normal([-5.0], [0.1]), Normal([5.0], [0.1])])


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


def test_mixture_log_prob_is_logsumexp_minus_log_k(one_of_each):
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
def test_mixture_quantile_agrees_with_a_scalar_root_finder(one_of_each, level):
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


def test_mixture_nests(one_of_each):
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


def test_mixture_of_one_keeps_a_std_whose_square_underflows():
    assert Mixture([Normal(0.0, 1e-200)]).std == 1e-200
