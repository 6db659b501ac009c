"""CRPS against its defining integral, known values, limits and symmetries."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from betanll.distributions import Mixture, Normal, StudentT
from betanll.distributions._crps_quadrature import CHUNK, Part, crps_by_quadrature
from betanll.metrics import crps


def part(df, loc, scale):
    """A component of one row; no df stands for a normal."""
    if df is None:
        return Normal([loc], [scale])
    return StudentT([df], [loc], [scale])


def brute_force(parts, target):
    """The integral over the logarithm of the distance from the target, in pieces."""

    def tail(t, sign):
        tails = [
            stats.norm.cdf(sign * (t - loc) / scale)
            if df is None
            else stats.t.cdf(sign * (t - loc) / scale, df)
            for df, loc, scale in parts
        ]
        return np.mean(tails)

    total = 0.0
    for sign in (-1, 1):
        # Enough cuts that no component hides between the points of a piece.
        cuts = {-40.0, 100.0}
        for _, loc, scale in parts:
            steps = scale * np.array([-1e3, -30, -5, -1, 0, 1, 5, 30, 1e3])
            distances = sign * (loc + steps - target)
            cuts |= set(np.log(distances[distances > 0]))
        edges = sorted(cuts)
        for low, high in pairwise(edges):
            total += integrate.quad(
                lambda v, sign=sign: (
                    tail(target + sign * np.exp(v), -sign) ** 2 * np.exp(v)
                ),
                low,
                high,
                epsabs=1e-13,
                epsrel=1e-11,
                limit=200,
            )[0]
    return total


SINGLES = [
    (None, 0.0, 1.0),
    (None, -3.0, 0.2),
    (0.8, 0.0, 1.0),
    (1.0, 0.5, 2.0),
    (1.005, 0.0, 1.0),
    (2.002, 0.0, 0.3),
    (3.388, 1.0, 1.0),
    (30.0, 0.0, 5.0),
    (2000.0, 0.0, 1.0),
]
MIXTURES = {
    "normals": [(None, 0.0, 1.0), (None, 4.0, 0.1), (None, 0.1, 3.0)],
    "students": [(3.4, 0.0, 1.0), (3.0, 0.2, 1.2), (5.0, 0.1, 0.9)],
    "mixed": [(2.002, 0.0, 1.0), (None, 4.0, 0.1)],
    "heavy": [(1.1, 0.0, 1.0), (0.9, 0.0, 2.0)],
    "narrow and far": [(3.0, 0.0, 1.0), (2.5, 4.0, 1e-4), (None, -9.0, 1e-3)],
    "wide and narrow": [(4.0, 0.0, 1.0), (None, 0.0, 1e-5)],
}


@pytest.mark.parametrize("parameters", SINGLES, ids=str)
@pytest.mark.parametrize("target", [-2.0, 0.0, 0.7, 40.0])
def test_closed_forms_equal_the_integral(parameters, target):
    expected = brute_force([parameters], target)
    np.testing.assert_allclose(crps(part(*parameters), [target]), expected, rtol=1e-9)


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("target", [-6.0, 0.0, 4.0001])
def test_mixtures_equal_the_integral(name, target):
    parts = MIXTURES[name]
    mixture = Mixture([part(*parameters) for parameters in parts])
    expected = brute_force(parts, target)
    np.testing.assert_allclose(crps(mixture, [target]), expected, rtol=1e-9)


def test_normal_at_its_mean():
    normal = Normal([1.0, -5.0], [1.0, 3.0])
    expected = np.array([1.0, 3.0]) * (np.sqrt(2) - 1) / np.sqrt(np.pi)
    np.testing.assert_allclose(normal.crps([1.0, -5.0]), expected, rtol=1e-15)


def test_student_t_reference_digits():
    # The integral in 30-digit arithmetic of mpmath 1.3.
    expected = {
        (1.5, 0.5): 0.420518985646282055,
        (2.002, 4.0): 3.13221470846493282,
        (3.388, 1.0): 0.607129117834227263,
        (30.0, -2.5): 1.92605227837992344,
        (1000.0, 0.25): 0.258598288149227806,
    }
    for (df, z), value in expected.items():
        actual = StudentT([df], [0.0], [1.0]).crps([z])
        np.testing.assert_allclose(actual, value, rtol=1e-13)


def test_student_t_is_smooth_across_the_removable_singularity():
    df = 1 + np.array([-0.02, -0.0101, -0.0099, -1e-9, 0.0, 1e-9, 0.0099, 0.0101, 0.02])
    for z in (0.0, 1.0, 50.0):
        student = StudentT(df, np.zeros(9), np.ones(9))
        values = student.crps(np.full(9, z))
        quintic = np.polyval(np.polyfit(df - 1, values, 5), df - 1)
        np.testing.assert_allclose(values, quintic, rtol=1e-9)
    # Closed form of the Cauchy distribution, at the centre.
    cauchy = crps(StudentT([1.0], [0.0], [1.0]), [0.0])
    np.testing.assert_allclose(cauchy, 2 * np.log(2) / np.pi, rtol=1e-15)


def test_student_t_tends_to_the_normal():
    target = np.linspace(-5, 5, 11)
    normal = Normal(np.zeros(11), np.ones(11)).crps(target)
    for df in (1e8, 1e12):
        student = StudentT(np.full(11, df), np.zeros(11), np.ones(11))
        np.testing.assert_allclose(student.crps(target), normal, rtol=3 / df)


def test_too_heavy_tails_have_an_infinite_score():
    student = StudentT([0.5, 0.3, 3.0], np.zeros(3), np.ones(3))
    normal = Normal(np.zeros(3), np.ones(3))
    for predictive in (student, Mixture([student, normal])):
        values = predictive.crps(np.zeros(3))
        np.testing.assert_array_equal(np.isinf(values), [True, True, False])


def test_a_mixture_of_one_or_of_equals_is_the_component():
    rng = np.random.default_rng(0)
    shape, target = (20, 2), rng.normal(size=(20, 2))
    normal = Normal(rng.normal(size=shape), rng.uniform(0.1, 2, shape))
    student = StudentT(rng.uniform(2, 9, shape), normal.mean, normal.std)
    for component in (normal, student):
        expected = component.crps(target)
        single = Mixture([component]).crps(target)
        np.testing.assert_array_equal(single, expected)
        triple = Mixture([component] * 3).crps(target)
        np.testing.assert_allclose(triple, expected, rtol=1e-11)


def test_quadrature_agrees_with_closed_forms_over_many_scales():
    rng = np.random.default_rng(1)
    n = 2 * CHUNK + 5
    target = rng.normal(size=n)
    normals = [
        Normal(10 * rng.normal(size=n), np.exp(3 * rng.normal(size=n)))
        for _ in range(3)
    ]
    parts = [Part(1 / 3, normal) for normal in normals]
    actual = crps_by_quadrature(parts, target)
    expected = Mixture(normals).crps(target)
    np.testing.assert_allclose(actual, expected, rtol=1e-11)
    df = np.exp(rng.uniform(-0.5, 7, n))
    student = StudentT(df, normals[0].mean, normals[0].std)
    actual = crps_by_quadrature([Part(1.0, student)], target)
    np.testing.assert_allclose(actual, student.crps(target), rtol=1e-10)


def test_nested_mixtures_weigh_their_components():
    rng = np.random.default_rng(2)
    target = rng.normal(size=6)
    one, two, three = (Normal(rng.normal(size=6), np.full(6, s)) for s in (0.3, 1, 2))
    nested = Mixture([one, Mixture([two, three])]).crps(target)
    flat = Mixture([one, one, two, three]).crps(target)
    np.testing.assert_allclose(nested, flat, rtol=1e-13)


def test_crps_is_the_mean_distance_less_half_the_mean_difference():
    # 1e6 pairs; the tolerance is four standard errors of about 1e-3.
    mixture = Mixture([part(*parameters) for parameters in MIXTURES["students"]])
    one, other = mixture.sample(2 * 10**6, rng=0)[:, 0].reshape(2, -1)
    expected = np.mean(np.abs(one - 0.4)) - 0.5 * np.mean(np.abs(one - other))
    np.testing.assert_allclose(crps(mixture, [0.4]), expected, atol=4e-3)


@given(
    scale=st.floats(-20, 20).map(np.exp),
    shift=st.floats(-50, 50),
    name=st.sampled_from(sorted(MIXTURES)),
    target=st.floats(-5, 5),
)
def test_crps_moves_with_the_unit(scale, shift, name, target):
    for components in (MIXTURES[name], MIXTURES[name][:1]):
        mixture = Mixture([part(*parameters) for parameters in components])
        actual = crps(mixture.affine(scale, shift * scale), [scale * (target + shift)])
        np.testing.assert_allclose(actual, scale * crps(mixture, [target]), rtol=1e-8)


def test_the_true_normal_has_the_best_expected_score():
    target = stats.norm.ppf((np.arange(20000) + 0.5) / 20000)
    stds = np.array([0.8, 0.95, 1.0, 1.05, 1.2])
    scores = [crps(Normal(np.zeros(20000), np.full(20000, s)), target) for s in stds]
    assert np.argmin(scores) == 2
    # E over y ~ N(0, 1) of the CRPS of N(0, 1).
    np.testing.assert_allclose(scores[2], 1 / np.sqrt(np.pi), rtol=1e-4)


def test_extreme_values_stay_finite_and_right():
    tiny, huge = 1e-300, 1e300
    np.testing.assert_allclose(crps(Normal([0.0], [tiny]), [huge]), huge)
    for df in (0.9, 1.0, 2.5, 1e6):
        student = StudentT([df], [0.0], [tiny])
        np.testing.assert_allclose(crps(student, [1.0]), 1.0, rtol=1e-9)
    pair = Mixture([StudentT([3.0], [0.0], [tiny]), Normal([1.0], [tiny])])
    np.testing.assert_allclose(crps(pair, [0.0]), 0.25, rtol=1e-11)


def test_missing_entries_and_nan_predictions():
    student = StudentT(np.full(3, 4.0), [0.0, 1.0, np.nan], np.ones(3))
    normal = Normal(student.loc, np.ones(3))
    mixtures = [Mixture([normal, normal]), Mixture([student, normal])]
    for predictive in (normal, student, *mixtures):
        values = predictive.crps([0.5, np.nan, 0.5])
        np.testing.assert_array_equal(np.isnan(values), [False, True, True])
        assert crps(predictive, [0.5, np.nan, np.nan]) == values[0]
        assert np.isnan(crps(predictive, [0.5, np.nan, 0.5]))
        with pytest.raises(ValueError, match="no observed target"):
            crps(predictive, np.full(3, np.nan))


def test_outputs_are_averaged():
    normal = Normal(np.zeros((2, 2)), np.ones((2, 2)))
    target = [[0.0, 1.0], [2.0, 3.0]]
    assert crps(normal, target) == normal.crps(target).mean()
    with pytest.raises(ValueError, match="shape of the distribution"):
        crps(normal, np.zeros(2))


def test_subclasses_keep_the_closed_form():
    class Stranger(Normal):
        pass

    assert crps(Stranger([0.0], [1.0]), [0.0]) == crps(Normal([0.0], [1.0]), [0.0])
