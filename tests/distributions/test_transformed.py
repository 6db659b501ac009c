"""Distributions of mapped targets against numerical integrals and closed forms."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from betanll.distributions import (
    Identity,
    Log,
    Logit,
    Mixture,
    Normal,
    StudentT,
    Transformed,
    concatenate,
    transforms,
)

RNG = np.random.default_rng(4)
LEVELS = [0.01, 0.1, 0.5, 0.9, 0.99]


def normal(n=6, low=0.05, high=1.5):
    return Normal(RNG.normal(size=n), RNG.uniform(low, high, n))


def mixture(n=6):
    weights = RNG.uniform(0.2, 1, (n, 3))
    return Mixture([normal(n) for _ in range(3)], weights)


CASES = {
    "log": Transformed(normal(), Log()),
    "log of a mixture": Transformed(mixture(), Log()),
    "log1p": Transformed(mixture(), Log(-1.0)),
    "logit": Transformed(normal(), Logit(0, 100)),
    "logit of a mixture": Transformed(mixture(), Logit()),
    "logit of a Student t": Transformed(
        StudentT(np.full(6, 4.0), *(np.abs(RNG.normal(size=(2, 6))) + 0.1)), Logit()
    ),
    "log of a scaled mixture": Transformed(mixture().affine(0.5, 3.0), Log(2.0)),
}
cases = pytest.mark.parametrize("name", CASES)


def numbers(distribution):
    """Yield distributions of one element."""
    for i in range(len(distribution)):
        yield distribution[i : i + 1]


def integral(one, integrand):
    """Integrate over the support, piece by piece between quantiles."""
    inner = one.quantile([1e-12, 1e-6, 1e-3, *LEVELS, 1 - 1e-3, 1 - 1e-6, 1 - 1e-12])
    edges = np.unique(inner)
    return sum(
        integrate.quad(integrand, a, b, epsabs=1e-9, epsrel=1e-9, limit=500)[0]
        for a, b in itertools.pairwise(edges)
    )


@cases
def test_density_integrates_to_the_cdf(name):
    for one in numbers(CASES[name]):
        low, high = one.quantile([0.2, 0.95])[0]
        mass, _ = integrate.quad(
            lambda y, one=one: np.exp(one.log_prob([y]))[0], low, high
        )
        assert mass == pytest.approx(0.75, rel=1e-7)


@cases
def test_moments_agree_with_integrals_of_the_density(name):
    for one in numbers(CASES[name]):
        if isinstance(one.base, StudentT):
            # Its density has spikes at both ends: on the scale of the base.
            z = one.base.quantile((np.arange(200_000) + 0.5) / 200_000)[0]
            values = one.transform[0].inverse(z)
            assert one.mean[0] == pytest.approx(values.mean(), rel=1e-5)
            assert one.std[0] == pytest.approx(values.std(), rel=1e-4)
            continue

        def weighted(power, one=one):
            return integral(one, lambda y: y**power * np.exp(one.log_prob([y]))[0])

        assert one.mean[0] == pytest.approx(weighted(1), rel=1e-5)
        variance = weighted(2) - weighted(1) ** 2
        assert one.variance[0] == pytest.approx(variance, rel=2e-3)
        assert one.std[0] == pytest.approx(np.sqrt(one.variance[0]))


@cases
def test_quantiles_invert_the_cdf_and_samples_follow_it(name):
    distribution = CASES[name]
    quantiles = distribution.quantile(LEVELS)
    for level, value in zip(LEVELS, quantiles.T, strict=True):
        np.testing.assert_allclose(distribution.cdf(value), level, rtol=1e-9)
    samples = distribution.sample(20_000, rng=0)
    share = np.mean(samples[:, :, None] <= quantiles, axis=0)
    # Six standard deviations of a share of 20,000 draws.
    np.testing.assert_allclose(share, np.tile(LEVELS, (6, 1)), atol=0.02)
    bounds = distribution.interval(0.8)
    np.testing.assert_allclose(bounds, quantiles[:, [1, 3]])


@cases
def test_crps_agrees_with_its_integral(name):
    distribution = CASES[name]
    targets = np.concatenate([distribution.sample(2, rng=1)])
    for target in (*targets, distribution.quantile(0.999)):
        scores = distribution.crps(target)
        for i, one in enumerate(numbers(distribution)):
            y = target[i]
            tail = one.quantile([1e-13, 1 - 1e-13])[0]
            edges = np.unique([*tail, y, *one.quantile(LEVELS)[0]])
            expected = sum(
                integrate.quad(
                    lambda t, one=one, y=y: (one.cdf([t])[0] - (t >= y)) ** 2,
                    a,
                    b,
                    epsabs=1e-13,
                    epsrel=1e-11,
                    limit=200,
                )[0]
                for a, b in itertools.pairwise(edges)
            )
            assert scores[i] == pytest.approx(expected, rel=1e-6)


def test_a_lognormal_is_that_of_scipy():
    mean, std = RNG.normal(size=5), RNG.uniform(0.1, 2, 5)
    ours, theirs = (
        Transformed(Normal(mean, std), Log()),
        stats.lognorm(std, 0, np.exp(mean)),
    )
    y = theirs.rvs(random_state=1)
    np.testing.assert_allclose(ours.mean, theirs.mean())
    np.testing.assert_allclose(ours.variance, theirs.var())
    np.testing.assert_allclose(ours.log_prob(y), theirs.logpdf(y))
    np.testing.assert_allclose(ours.cdf(y), theirs.cdf(y))
    # Baran and Lerch 2015, equation (7).
    z = (np.log(y) - mean) / std
    crps = y * (2 * stats.norm.cdf(z) - 1) - 2 * theirs.mean() * (
        stats.norm.cdf(z - std) + stats.norm.cdf(std / np.sqrt(2)) - 1
    )
    np.testing.assert_allclose(ours.crps(y), crps, rtol=1e-9)


def test_crps_of_a_mixture_is_that_of_draws():
    distribution = CASES["log of a mixture"]
    target = np.linspace(0.2, 3, 6)
    one, two = distribution.sample(400_000, rng=1), distribution.sample(400_000, rng=2)
    draws = np.abs(one - target) - np.abs(one - two) / 2
    error = 5 * draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(distribution.crps(target) - draws.mean(axis=0)) < error)


def test_narrow_lognormals_keep_their_digits():
    narrow = Transformed(Normal([3.0], [1e-6]), Log())
    y = np.exp([3.0 + 5e-7])
    nearly = Normal(narrow.mean, narrow.std)
    assert narrow.crps(y)[0] == pytest.approx(nearly.crps(y)[0], rel=1e-5)
    assert narrow.log_prob(y)[0] == pytest.approx(nearly.log_prob(y)[0], abs=1e-5)


def test_beyond_the_support():
    log = Transformed(Normal([0.0, 0.0], [1.0, 1.0]), Log())
    assert list(log.log_prob([0.0, -1.0])) == [-np.inf, -np.inf]
    assert list(log.cdf([0.0, -1.0])) == [0.0, 0.0]
    np.testing.assert_array_equal(log.quantile([0.0, 1.0]), [[0.0, np.inf]] * 2)
    # A unit further below, a unit more.
    low, lower = log.crps([0.0, -1.0])
    assert lower == pytest.approx(low + 1, rel=1e-12)
    share = Transformed(Normal([0.0], [1.0]), Logit(0, 10))
    assert share.cdf([10.0])[0] == 1 - share.cdf([0.0])[0] == 1
    np.testing.assert_array_equal(share.quantile([0.0, 1.0]), [[0.0, 10.0]])
    assert np.isnan(log.log_prob([np.nan, 1.0]))[0]
    assert np.isnan(log.crps([np.nan, 1.0]))[0]


def test_the_exponential_of_a_student_t_has_no_mean():
    heavy = Transformed(StudentT([30.0], [0.0], [0.1]), Log())
    assert heavy.mean[0] == heavy.std[0] == np.inf
    assert heavy.crps([1.0])[0] == np.inf
    assert heavy.quantile(0.5)[0] == 1


def test_transforms_by_column():
    base = Mixture([Normal(RNG.normal(size=(4, 3)), RNG.uniform(0.1, 1, (4, 3)))] * 2)
    maps = [Log(), Identity(), Logit(-1, 1)]
    together = Transformed(base, maps)
    target = together.sample(1, rng=3)[0]
    for i, transform in enumerate(maps):
        alone = Transformed(base[:, i], transform)
        for name in ("mean", "std", "variance"):
            found = getattr(together, name)[:, i]
            np.testing.assert_allclose(found, getattr(alone, name), rtol=1e-9)
            part = getattr(together[1:3, i], name)
            np.testing.assert_allclose(part, found[1:3], rtol=1e-9)
        for name in ("cdf", "log_prob", "crps"):
            found = getattr(together, name)(target)[:, i]
            expected = getattr(alone, name)(target[:, i])
            np.testing.assert_allclose(found, expected, rtol=1e-7)
        np.testing.assert_allclose(
            together.quantile([0, 0.3, 1])[:, i], alone.quantile([0, 0.3, 1])
        )
    plain = Transformed(base[:, 1], Identity())
    np.testing.assert_array_equal(
        plain.crps(target[:, 1]), base[:, 1].crps(target[:, 1])
    )
    with pytest.raises(ValueError, match="2 transforms"):
        Transformed(base, maps[:2])


def test_moments_of_a_logit_with_a_far_end_are_nearly_those_of_a_logarithm():
    base = Normal(np.linspace(-3, 3, 7), np.linspace(0.01, 1.5, 7))
    log = Transformed(base, Log())
    # A logit with high end h is the logarithm of y / (1 - y / h) / h.
    far = Transformed(base.affine(1.0, -np.log(1e12)), Logit(0, 1e12))
    np.testing.assert_allclose(far.mean, log.mean, rtol=1e-8)
    np.testing.assert_allclose(far.std, log.std, rtol=1e-7)


def test_members_add_up_to_the_variance():
    distribution = CASES["log of a mixture"]
    members = distribution.members
    total = members.aleatoric_variance + members.epistemic_variance
    np.testing.assert_allclose(distribution.variance, total)
    assert CASES["log"].members is CASES["log"]


def test_rows_can_be_joined():
    both = Transformed(mixture(), Log())
    joined = concatenate([both[:2], both[2:]])
    np.testing.assert_allclose(joined.quantile(0.3), both.quantile(0.3))
    with pytest.raises(TypeError, match="differently transformed"):
        concatenate([both, Transformed(both.base, Log(-1.0))])


def test_huge_spreads_overflow_to_infinity():
    wide = Transformed(Normal([0.0], [60.0]), Log())
    with np.errstate(over="raise"):
        assert wide.mean[0] == np.inf
        assert wide.quantile(0.5)[0] == 1
        assert wide.quantile(0.9999999)[0] > 1e100


# Transforms


@pytest.mark.parametrize("map_", [Log(), Log(-1.0), Log(2.5), Logit(), Logit(-3, 400)])
def test_transforms_invert_and_know_their_slope(map_):
    image = np.linspace(-8, 8, 33)
    value = map_.inverse(image)
    np.testing.assert_allclose(map_(value), image, atol=1e-9)
    step = 1e-6
    slope = 2 * step / (map_.inverse(image + step) - map_.inverse(image - step))
    np.testing.assert_allclose(map_.log_slope(value), np.log(slope), atol=1e-5)
    assert transforms.from_json(transforms.to_json(map_)) == map_
    np.testing.assert_array_equal(
        map_.inverse(np.array([-np.inf, np.inf])), map_.support
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cube", "unknown transform 'cube': choose"),
        ("logit:0:1:2", "must be like logit:LOW:HIGH"),
        ("log:a", "numbers after log"),
        ("logit:5:2", "low must be below high"),
        ("log:inf", "low must be finite"),
    ],
)
def test_what_is_no_transform_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        transforms.get(text)


def test_descriptions_of_no_transform_are_refused():
    with pytest.raises(ValueError, match="unknown transform 'os'"):
        transforms.from_json({"name": "os", "fields": {}})
    with pytest.raises(ValueError, match="must have the fields"):
        transforms.from_json({"name": "log", "fields": {"high": 1.0}})
