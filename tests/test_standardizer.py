"""Means and scales of columns: weighted, incomplete, constant, huge and tiny."""

import numpy as np
import pytest

from betanll import preprocessing
from betanll.preprocessing import Standardizer

MEASURES = [Standardizer.of_inputs, Standardizer.of_targets]


def columns(n=50, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal([0.0, 100.0, -3.0], [1.0, 0.01, 20.0], (n, 3))


def test_ranges_are_measured_piece_by_piece(monkeypatch):
    monkeypatch.setattr(preprocessing, "_CHUNK", 7)
    values = columns().astype(np.float32)
    found = preprocessing.value_ranges(values)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [values.min(axis=0), values.max(axis=0)])


@pytest.mark.parametrize("measure", MEASURES)
def test_mean_and_population_std(measure):
    # Worked out by hand: mean 3, squared deviations 4, 0, 4, divided by n = 3.
    found = measure(np.array([[1.0], [3.0], [5.0]]))
    np.testing.assert_allclose(found.mean, [3.0], rtol=1e-15)
    np.testing.assert_allclose(found.scale, [np.sqrt(8 / 3)], rtol=1e-15)
    values = columns()
    found = measure(values)
    np.testing.assert_allclose(found.mean, values.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.scale, values.std(axis=0, ddof=0), rtol=1e-11)


@pytest.mark.parametrize("measure", MEASURES)
def test_weights_count_as_repeated_rows(measure):
    values, repeats = columns(), np.arange(50) % 4
    found = measure(values, 0.3 * repeats[:, None])
    expected = measure(np.repeat(values, repeats, axis=0))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-13)
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-11)


@pytest.mark.parametrize("measure", MEASURES)
def test_only_the_rows_asked_for_are_measured(measure):
    values, rows = columns(), np.array([3, 1, 4, 15, 9, 2, 6])
    weights = np.random.default_rng(1).uniform(size=(50, 1))
    found, expected = (
        measure(values, weights, rows),
        measure(values[rows], weights[rows]),
    )
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.scale, expected.scale)


def test_missing_targets_do_not_count():
    values = columns()
    is_missing = np.random.default_rng(1).uniform(size=values.shape) < 0.4
    found = Standardizer.of_targets(np.where(is_missing, np.nan, values))
    masked = np.ma.masked_array(values, is_missing)
    np.testing.assert_allclose(found.mean, masked.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.scale, masked.std(axis=0), rtol=1e-11)
    # Weights of missing entries do not count either.
    weights = np.random.default_rng(2).uniform(size=(50, 1))
    found = Standardizer.of_targets(np.where(is_missing, np.nan, values), weights)
    for i in range(3):
        seen = ~is_missing[:, i]
        mean = np.average(values[seen, i], weights=weights[seen, 0])
        assert found.mean[i] == pytest.approx(mean, rel=1e-13)


def test_a_target_without_values_gets_a_harmless_scale():
    found = Standardizer.of_targets(np.array([[np.nan, 1.0], [np.nan, 3.0]]))
    np.testing.assert_array_equal(found.mean, [0.0, 2.0])
    np.testing.assert_array_equal(found.scale, [1e-12, 1.0])


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e300, 1e-300])
@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1, 20)[:, None]])
def test_constant_columns(value, weights):
    values = np.full((20, 1), value)
    found = Standardizer.of_inputs(values, weights)
    assert found.mean == value
    assert found.scale == np.inf
    # Later values of the column, however far away, are ignored.
    assert np.all(found.apply(np.array([[value], [5.0], [-1e308]])) == 0)
    found = Standardizer.of_targets(values, weights)
    assert found.mean == value
    assert found.scale == pytest.approx(1e-12 * (abs(value) or 1.0), rel=1e-3)
    assert np.all(found.apply(values) == 0)


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_a_spread_of_rounding_errors_is_constant(size):
    # 0.1 * 3 is not 0.3 in binary; the two differ in the last bit.
    values = size * np.array([0.1 * 3, 0.3] * 10)[:, None]
    assert np.ptp(values) > 0
    assert Standardizer.of_inputs(values).scale == np.inf
    assert Standardizer.of_targets(values).scale == pytest.approx(0.3e-12 * size)
    # A small spread that is real is kept.
    values = size * (1 + 1e-12 * np.arange(20.0))[:, None]
    expected = size * 1e-12 * np.arange(20.0).std()
    assert Standardizer.of_inputs(values).scale == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("exponent", [-900, -100, 100, 900])
def test_whitened_values_do_not_depend_on_the_unit(measure, exponent):
    # Powers of two up to 8e270 round nothing.
    values, factor = columns(), 2.0**exponent
    found, expected = measure(values * factor), measure(values)
    np.testing.assert_array_equal(found.mean, factor * expected.mean)
    np.testing.assert_array_equal(found.scale, factor * expected.scale)
    np.testing.assert_array_equal(found.apply(factor * values), expected.apply(values))


@pytest.mark.parametrize("factor", [1e30, 1e-30, 1e300, 1e-300])
def test_scales_of_any_size(factor):
    values = columns()
    found = Standardizer.of_targets(factor * values)
    np.testing.assert_allclose(found.mean, factor * values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.scale, factor * values.std(axis=0), rtol=1e-10)
    whitened = found.apply(factor * values).astype(np.float64)
    np.testing.assert_allclose(whitened.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(whitened.std(axis=0), 1, rtol=1e-6)


def test_columns_of_different_sizes_do_not_disturb_each_other():
    values = columns()
    factors = np.array([1e300, 1.0, 1e-300])
    found, expected = (
        Standardizer.of_inputs(values * factors),
        Standardizer.of_inputs(values),
    )
    np.testing.assert_allclose(found.scale, expected.scale * factors, rtol=1e-10)


def test_far_outliers_stay_finite():
    found = Standardizer.of_inputs(np.array([[0.0], [1e-300]]))
    whitened = found.apply(np.array([[1e300], [-1e300], [0.0]]))
    assert whitened.dtype == np.float32
    np.testing.assert_array_equal(whitened.ravel(), np.float32([1e15, -1e15, -1]))


def test_chunked_equals_whole(monkeypatch):
    values = columns(n=101)
    values[::7, 1] = np.nan
    weights = np.random.default_rng(1).uniform(size=(101, 1))
    rows = np.random.default_rng(2).permutation(101)[:77]
    for chosen in (None, rows):
        whole = Standardizer.of_targets(values, weights, chosen)
        expected = whole.apply(values, chosen)
        with monkeypatch.context() as patch:
            patch.setattr(preprocessing, "_CHUNK", 10)
            chunked = Standardizer.of_targets(values, weights, chosen)
            np.testing.assert_array_equal(whole.apply(values, chosen), expected)
        np.testing.assert_allclose(chunked.mean, whole.mean, rtol=1e-13)
        np.testing.assert_allclose(chunked.scale, whole.scale, rtol=1e-11)


def test_single_precision_is_measured_in_double():
    # In single precision the squares of 1e30 overflow, and 1e6 + 0.1 has no digits.
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(50, 2)) * [1e30, 10] + [0, 1e6]).astype(np.float32)
    found = Standardizer.of_inputs(values)
    expected = Standardizer.of_inputs(values.astype(np.float64))
    assert found.mean.dtype == found.scale.dtype == np.float64
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.scale, expected.scale)
    np.testing.assert_array_equal(
        found.apply(values), expected.apply(values.astype(np.float64))
    )
    assert found.apply(values).std(axis=0) == pytest.approx(1, rel=1e-5)
