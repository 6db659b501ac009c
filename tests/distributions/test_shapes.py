"""Shapes of all members, selected rows, and what is refused."""

import pickle
import re

import numpy as np
import pytest

from betanll.distributions import Distribution, Mixture, Normal, StudentT

# Shapes


@pytest.mark.parametrize("shape", [(), (4,), (0,), (4, 1), (4, 3), (2, 4, 3)])
def test_shapes_of_all_members(one_of_each, shape):
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


def test_levels_in_a_sequence_equal_levels_alone(one_of_each):
    for distribution in one_of_each((4, 3)):
        together = distribution.quantile([0.1, 0.6])
        np.testing.assert_array_equal(together[..., 0], distribution.quantile(0.1))
        np.testing.assert_array_equal(together[..., 1], distribution.quantile(0.6))


def test_levels_zero_and_one_are_infinite(one_of_each):
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


def test_rows_are_selected(one_of_each):
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


def test_affine_accepts_scalars_and_vectors_over_the_last_axis(one_of_each):
    for distribution in one_of_each((4, 2)):
        for scale, shift in ((2.0, [1.0, 3.0]), ([2.0, 5.0], 1.0), ([2.0], [1.0])):
            expected = np.asarray(scale) * distribution.mean + np.asarray(shift)
            np.testing.assert_allclose(distribution.affine(scale, shift).mean, expected)


def test_affine_accepts_a_scale_and_a_shift_for_each_element(one_of_each):
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


def test_distributions_survive_pickling(one_of_each):
    for distribution in one_of_each((3,)):
        copy = pickle.loads(pickle.dumps(distribution))
        np.testing.assert_array_equal(copy.quantile(0.3), distribution.quantile(0.3))


# Errors


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_parameters_must_be_positive_and_finite(one_of_each, bad):
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
def test_values_that_would_broadcast_raise(one_of_each, shape):
    for distribution in one_of_each((3,)):
        for method in (distribution.log_prob, distribution.cdf):
            both = rf"{re.escape(str(shape))}.*\(3,\)"
            with pytest.raises(ValueError, match=both):
                method(np.zeros(shape))


def test_affine_vectors_must_fit_the_last_axis(one_of_each):
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
def test_levels_outside_the_unit_interval_raise(one_of_each, level):
    for distribution in one_of_each((3,)):
        with pytest.raises(ValueError, match=r"level must lie in \[0, 1\]"):
            distribution.quantile(level)


def test_levels_of_two_dimensions_raise(one_of_each):
    for distribution in one_of_each((3,)):
        with pytest.raises(ValueError, match=r"scalar or 1-D, got shape \(1, 1\)"):
            distribution.quantile([[0.5]])


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 90, np.nan])
def test_coverage_outside_the_open_unit_interval_raises(one_of_each, coverage):
    for distribution in one_of_each((3,)):
        with pytest.raises(ValueError, match=r"coverage must lie in \(0, 1\)"):
            distribution.interval(coverage)


def test_mixture_refuses_nothing_and_strangers():
    with pytest.raises(ValueError, match="at least one component"):
        Mixture([])
    with pytest.raises(TypeError, match="ndarray is not a distribution"):
        Mixture([Normal(0.0, 1.0), np.zeros(())])


def test_scalar_distributions_have_no_length(one_of_each):
    for distribution in one_of_each(()):
        with pytest.raises(TypeError, match="no length"):
            len(distribution)
