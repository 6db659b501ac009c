"""Distributions of three methods: what follows from them, and what is refused."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from betanll.distributions import Affine, Distribution, Mixture, Normal, StudentT
from betanll.distributions._contract import points_between
from betanll.metrics import crps, evaluate
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


@dataclass(frozen=True)
class Wrapped(Distribution):
    """Any distribution of SciPy, moved; its closed forms are not used."""

    law: object = None
    loc: Array = 0.0

    def __post_init__(self):
        object.__setattr__(self, "loc", np.asarray(self.loc, float))

    @property
    def shape(self):
        return self.loc.shape

    def __getitem__(self, index):
        return Wrapped(self.law, self.loc[index])

    def _log_prob(self, value):
        return self.law.logpdf(value - self.loc)

    def _cdf(self, value):
        return self.law.cdf(value - self.loc)

    def _quantile(self, level):
        return self.law.ppf(level) + self.loc


def laplace_crps(loc, scale, target):
    """The closed form of Jordan, Krüger and Lerch 2019."""
    z = np.abs(target - loc) / scale
    return scale * (z + np.exp(-z) - 0.75)


def random_laplace(shape=(40,), seed=0):
    rng = np.random.default_rng(seed)
    return Laplace(10 * rng.normal(size=shape), np.exp(2 * rng.normal(size=shape)))


# Moments


def test_moments_are_those_of_the_closed_forms():
    laplace = random_laplace()
    oracle = stats.laplace(laplace.loc, laplace.scale)
    np.testing.assert_allclose(laplace.mean, oracle.mean(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(laplace.variance, oracle.var(), rtol=1e-11)
    np.testing.assert_allclose(laplace.std, oracle.std(), rtol=1e-11)


@pytest.mark.parametrize(
    "law",
    [
        stats.norm(),
        stats.t(5),
        stats.expon(),
        stats.gumbel_r(),
        stats.lognorm(0.8),
        stats.laplace_asymmetric(2.0),
        stats.uniform(),
        stats.weibull_min(0.7),
    ],
    ids=lambda law: law.dist.name,
)
def test_default_moments_and_scores_of_many_families(law):
    custom = Wrapped(law, np.array([0.0, -3.0, 100.0]))
    np.testing.assert_allclose(custom.mean, law.mean() + custom.loc, atol=1e-6)
    np.testing.assert_allclose(custom.variance, law.var(), rtol=1e-6)
    # E|Y - t| - E|Y - Y'| / 2, as integrals over levels on a fine grid.
    levels = (np.arange(200_000) + 0.5) / 200_000
    draws, target = law.ppf(levels), np.array([-0.4, 0.7, 2.5])
    expected = [np.mean(np.abs(draws - t)) for t in target]
    expected -= np.mean((2 * levels - 1) * draws)
    found = custom.crps(target + custom.loc)
    np.testing.assert_allclose(found, expected, rtol=5e-4)


@pytest.mark.parametrize(
    ("df", "moment"), [(1.0, "mean"), (0.8, "mean"), (2.0, "variance"), (3, "variance")]
)
def test_moments_that_do_not_converge_ask_for_a_closed_form(df, moment):
    heavy = Wrapped(stats.t(df), np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match=rf"{moment} of Wrapped .* closed form"):
        getattr(heavy, moment)
    # Scores need no moments.
    expected = StudentT([df, df], [0.0, 1.0], [1.0, 1.0]).crps([0.3, 0.3])
    np.testing.assert_allclose(heavy.crps([0.3, 0.3]), expected, rtol=1e-7)


def test_jumps_of_the_quantile_ask_for_a_closed_form():
    @dataclass(frozen=True)
    class TwoBumps(Laplace):
        def _quantile(self, level):
            return super()._quantile(level) + 1e5 * (level > 0.3)

        def _cdf(self, value):
            edge = np.log(0.6)
            moved = np.maximum(value - 1e5, edge)
            return super()._cdf(np.where(value > 5e4, moved, np.minimum(value, edge)))

    with pytest.raises(ValueError, match="mean of TwoBumps cannot be computed"):
        _ = TwoBumps([0.0], [1.0]).mean


def test_a_missing_parameter_is_a_missing_moment():
    laplace = Laplace([np.nan, 1.0], [1.0, 1.0])
    np.testing.assert_allclose(laplace.mean, [np.nan, 1.0], atol=1e-12)
    np.testing.assert_allclose(laplace.std, [np.nan, np.sqrt(2)], rtol=1e-11)
    np.testing.assert_array_equal(np.isnan(laplace.crps([0.0, 0.0])), [True, False])


def test_closed_forms_of_a_subclass_win():
    @dataclass(frozen=True)
    class Exact(Distribution):
        mean: Array
        std: Array

        def _log_prob(self, value):
            return value

        _cdf = _quantile = _log_prob

    exact = Exact([1.0, 2.0], [3.0, 4.0])
    np.testing.assert_array_equal(exact.mean, [1.0, 2.0])
    np.testing.assert_array_equal(exact.std, [3.0, 4.0])
    with pytest.raises(TypeError, match="std"):
        Exact([1.0])


# Scores, samples, indices


def test_crps_is_the_closed_form():
    laplace = random_laplace((500,))
    near = laplace.loc + laplace.scale * np.random.default_rng(1).normal(size=500)
    far = np.random.default_rng(2).normal(0, 1000, 500)
    for target in (near, far, laplace.loc):
        expected = laplace_crps(laplace.loc, laplace.scale, target)
        np.testing.assert_allclose(laplace.crps(target), expected, rtol=2e-7)
    target = near.copy()
    target[::2] = np.nan
    np.testing.assert_array_equal(np.isnan(laplace.crps(target)), np.isnan(target))
    assert crps(laplace, target) == np.mean(laplace.crps(target)[1::2])


def test_samples_follow_the_cdf():
    laplace = Laplace([[0.0, 5.0]], [[1.0, 0.1]])
    samples = laplace.sample(20_000, rng=0)
    assert samples.shape == (20_000, 1, 2)
    for column, loc, scale in ((0, 0.0, 1.0), (1, 5.0, 0.1)):
        test = stats.kstest(samples[:, 0, column], stats.laplace(loc, scale).cdf)
        assert test.pvalue > 1e-4
    np.testing.assert_array_equal(laplace.sample(20_000, rng=0), samples)
    assert Laplace(0.0, 1.0).sample(3, rng=0).shape == (3,)


def test_public_members_of_a_custom_distribution():
    laplace = random_laplace((4, 3))
    oracle = stats.laplace(laplace.loc, laplace.scale)
    value = laplace.loc + 0.3
    np.testing.assert_allclose(laplace.log_prob(value), oracle.logpdf(value))
    np.testing.assert_allclose(laplace.cdf(0.5), oracle.cdf(0.5))
    interval = np.stack(oracle.interval(0.8), axis=1)
    np.testing.assert_allclose(laplace.interval(0.8), interval)
    assert len(laplace) == 4
    assert type(laplace[1:3]) is Laplace
    np.testing.assert_array_equal(laplace[:, 0].loc, laplace.loc[:, 0])
    scores = evaluate(laplace[:, 0], laplace.loc[:, 0], levels=[0.5])
    assert scores.crps == pytest.approx(np.mean(0.25 * laplace.scale[:, 0]), rel=1e-6)
    copy = pickle.loads(pickle.dumps(laplace))
    np.testing.assert_array_equal(copy.mean, laplace.mean)
    assert Laplace(np.float32(1.0), 2).loc.dtype == np.float64


# Affine maps


def test_affine_maps_agree_with_the_closed_form_of_the_normal():
    rng = np.random.default_rng(4)
    normal = Normal(rng.normal(size=(5, 2)), rng.uniform(0.1, 3, (5, 2)))
    scale, shift = rng.uniform(0.1, 9, (5, 2)), rng.normal(0, 9, (5, 2))
    mapped, expected = Affine(normal, scale, shift), normal.affine(scale, shift)
    target = expected.quantile(0.8)
    for name in ("mean", "std", "variance"):
        np.testing.assert_allclose(getattr(mapped, name), getattr(expected, name))
    for name in ("log_prob", "cdf", "crps", "_survival"):
        found = getattr(mapped, name)(target)
        np.testing.assert_allclose(found, getattr(expected, name)(target), rtol=1e-12)
    np.testing.assert_allclose(mapped.quantile(0.1), expected.quantile(0.1))
    np.testing.assert_allclose(mapped.sample(3, rng=0), expected.sample(3, rng=0))
    again, once = mapped.affine(2.0, [1.0, 2.0]), expected.affine(2.0, [1.0, 2.0])
    assert again.base is normal
    np.testing.assert_allclose(again.quantile(0.3), once.quantile(0.3))
    np.testing.assert_allclose(mapped[1:3, 0].mean, expected[1:3, 0].mean)
    with pytest.raises(ValueError, match=r"shift has shape \(2,\) but the base"):
        Affine(normal, scale, np.zeros(2))


def test_affine_maps_of_a_laplace_are_a_laplace():
    laplace = random_laplace((6, 2))
    scale, shift = np.array([0.1, 20.0]), np.array([3.0, -1e3])
    mapped = laplace.affine(scale, shift)
    expected = Laplace(scale * laplace.loc + shift, scale * laplace.scale)
    target = expected.loc + expected.scale
    for name in ("mean", "std", "variance"):
        found, wanted = getattr(mapped, name), getattr(expected, name)
        np.testing.assert_allclose(found, wanted, rtol=1e-11)
    for name in ("log_prob", "cdf"):
        found = getattr(mapped, name)(target)
        np.testing.assert_allclose(found, getattr(expected, name)(target), rtol=1e-10)
    expected = laplace_crps(expected.loc, expected.scale, target)
    np.testing.assert_allclose(mapped.crps(target), expected, rtol=2e-7)


def test_mixtures_of_custom_distributions():
    one, two = random_laplace((30,), seed=1), random_laplace((30,), seed=2)
    mixture = Mixture([one, two.affine(2.0, 1.0)])
    other = Laplace(2 * two.loc + 1, 2 * two.scale)
    np.testing.assert_allclose(
        mixture.mean, (one.loc + other.loc) / 2, rtol=1e-9, atol=1e-9
    )
    for level in (0.01, 0.5, 0.9):
        np.testing.assert_allclose(mixture.cdf(mixture.quantile(level)), level)
    # E|Y - t| - E|Y - Y'| / 2 of 2000 by 2000 levels.
    levels = (np.arange(2000) + 0.5) / 2000
    draws = np.concatenate([d.quantile(levels) for d in (one, other)], axis=1)
    ranks = (2 * np.arange(4000) + 1) / 4000 - 1
    half = np.mean(ranks * np.sort(draws, axis=1), axis=1)
    target = one.loc + 1
    expected = np.mean(np.abs(draws - target[:, None]), axis=1) - half
    np.testing.assert_allclose(mixture.crps(target), expected, rtol=2e-3)


# What is refused


@dataclass(frozen=True)
class Falling(Laplace):
    """The cdf falls."""

    def _cdf(self, value):
        return 1 - super()._cdf(value)


@dataclass(frozen=True)
class Wavy(Laplace):
    """The cdf falls between the levels of the quartiles, where nobody looks."""

    def _cdf(self, value):
        z = (value - self.loc) / self.scale
        return super()._cdf(value) - 0.2 * np.exp(-1000 * (z - 0.35) ** 2)


@dataclass(frozen=True)
class Backwards(Laplace):
    """The quantiles fall."""

    def _quantile(self, level):
        return super()._quantile(1 - level)


@pytest.mark.parametrize("read", ["mean", "variance", "std"])
def test_moments_notice_cdfs_that_are_not_monotone(read):
    with pytest.raises(ValueError, match=r"Falling are not inverse .* level 0\.001"):
        getattr(Falling([0.0, 1.0], [1.0, 1.0]), read)
    with pytest.raises(ValueError, match="quantiles of Backwards decrease, from"):
        getattr(Backwards([0.0, 1.0], [1.0, 1.0]), read)


@pytest.mark.parametrize("read", ["mean", "variance", "std"])
def test_moments_notice_a_dip_between_the_probes(read):
    with pytest.raises(ValueError, match="the cdf of Wavy decreases somewhere"):
        getattr(Wavy([0.0, 1.0], [1.0, 1.0]), read)


def test_quantiles_of_mixtures_notice_a_dip():
    mixture = Mixture([Wavy([0.0], [1.0]), Laplace([0.0], [1.0])])
    for inner in (mixture, Mixture([mixture, Laplace([3.0], [1.0])])):
        with pytest.raises(ValueError, match="the cdf of Wavy decreases somewhere"):
            inner.interval(0.9)


def test_infinite_quantiles_are_no_dip():
    """As of a distribution whose parameters overflowed."""
    found = list(points_between([np.array([-np.inf, 0.0]), np.array([1.0, np.nan])]))
    assert np.all(np.diff(found, axis=0)[:, 0] == 0)


def test_scores_notice_cdfs_that_are_not_monotone():
    for broken, message in (
        (Falling, "_cdf and _quantile of Falling are not inverse"),
        (Wavy, "the cdf of Wavy decreases somewhere"),
        (Backwards, "quantiles of Backwards decrease"),
    ):
        with pytest.raises(ValueError, match=message):
            crps(broken([0.0], [1.0]), [0.2])
        with pytest.raises(ValueError, match=message):
            crps(broken([0.0], [1.0]).affine(2.0, 1.0), [0.2])


def test_quantiles_notice_what_contradicts_them():
    with pytest.raises(ValueError, match="quantiles of Backwards decrease"):
        Backwards([0.0], [1.0]).interval()
    mixture = Mixture([Falling([0.0], [1.0]), Falling([3.0], [1.0])])
    with pytest.raises(ValueError, match="_cdf and _quantile of Falling"):
        mixture.quantile(0.3)


def test_cdfs_are_probabilities():
    @dataclass(frozen=True)
    class Double(Laplace):
        def _cdf(self, value):
            return 2 * super()._cdf(value)

    with pytest.raises(ValueError, match="cdf of Double is 2, which is not a prob"):
        Double([0.0], [1.0]).cdf([100.0])


def test_results_of_another_shape_are_refused():
    @dataclass(frozen=True)
    class Summed(Laplace):
        def _log_prob(self, value):
            return np.sum(super()._log_prob(value))

        def _quantile(self, level):
            return super()._quantile(level)[:, None]

    summed = Summed([0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"Summed._log_prob .* shape \(\).*\(2,\)"):
        summed.log_prob(0.0)
    with pytest.raises(ValueError, match=r"Summed._quantile .* shape \(2, 1\)"):
        summed.quantile(0.5)


def test_classes_that_are_not_dataclasses_of_arrays():
    class Bare(Laplace.__base__):
        _log_prob = _cdf = _quantile = None

    with pytest.raises(TypeError, match="Bare must be a frozen dataclass"):
        _ = Bare().shape
    with pytest.raises(TypeError, match="abstract"):
        Distribution()

    @dataclass(frozen=True)
    class Gamma(Laplace):
        shape: Array

    with pytest.raises(TypeError, match="Gamma has a field 'shape'"):
        Gamma([1.0], [1.0], [1.0])
    with pytest.raises(ValueError, match=r"shapes must be equal, got loc \(2,\)"):
        Laplace([0.0, 1.0], 1.0)
