"""QuantilePositions among quantiles: knots, order, ties, wild values."""

import numpy as np
import pytest

from betanll import preprocessing as module
from betanll.preprocessing import QuantilePositions


def test_knots_of_few_different_values_are_the_values():
    column = np.array([[3.0], [1.0], [28.0], [1.0], [1.0], [3.0]])
    found = QuantilePositions.of_inputs(column, n_bins=4)
    np.testing.assert_array_equal(found.knots[:, 0], [1, 3, 28, np.inf, np.inf])
    positions = found.apply(np.array([[1.0], [2.0], [3.0], [15.5], [28.0]]))
    np.testing.assert_allclose(positions[:, 0], [0, 0.5, 1, 1.5, 2])


def test_equally_many_rows_lie_between_two_knots():
    rng = np.random.default_rng(0)
    values = np.exp(3 * rng.normal(size=(1000, 2)))
    positions = QuantilePositions.of_inputs(values, n_bins=8).apply(values)
    for column in positions.T:
        counts, _ = np.histogram(column, np.arange(9))
        assert counts.min() >= 124
        assert counts.max() <= 126


def test_beyond_the_data_is_the_nearest_of_it():
    found = QuantilePositions.of_inputs(np.arange(100.0)[:, None], n_bins=4)
    positions = found.apply(np.array([[-1e300], [0.0], [99.0], [1e300]]))
    np.testing.assert_array_equal(positions[:, 0], [0, 0, 4, 4])


@pytest.mark.parametrize("outlier", [1e12, 1e20, 3.4028235e38, 1e300, 1.7e308])
def test_an_outlier_costs_the_resolution_of_one_bin(outlier):
    """Fill values of missing cells are as wild as that."""
    values = np.random.default_rng(1).normal(size=(400, 1))
    before = QuantilePositions.of_inputs(values, n_bins=10).apply(values)
    wild = np.vstack([values, [[outlier]]])
    after = QuantilePositions.of_inputs(wild, n_bins=10).apply(wild)
    is_in_last = before > 9
    assert np.abs(before - after[:-1])[~is_in_last].max() < 0.2
    assert np.all(np.floor(after[:-1][is_in_last]) >= 8)
    assert after[-1] == 10


@pytest.mark.parametrize("factor", [1.0, 1e-300, 1e308, -1e308])
def test_the_unit_does_not_matter(factor):
    values = np.random.default_rng(2).uniform(-1, 1, (50, 1))
    expected = QuantilePositions.of_inputs(np.sign(factor) * values, 5).apply(
        np.sign(factor) * values
    )
    with np.errstate(all="raise", under="ignore"):
        found = QuantilePositions.of_inputs(factor * values, 5).apply(factor * values)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_constant_columns_and_rounding_have_one_position():
    values = np.column_stack([np.full(6, 0.1), 1 + 1e-16 * np.arange(6)])
    found = QuantilePositions.of_inputs(values, n_bins=3)
    assert np.all(np.isinf(found.knots[1:]))
    assert np.all(found.apply(values + 5) == 0)


def test_rows_choose_what_is_measured():
    values = np.arange(20.0)[:, None]
    found = QuantilePositions.of_inputs(values, 2, rows=np.array([4, 6, 8, 10, 12]))
    np.testing.assert_array_equal(found.knots[:, 0], [4, 8, 12])


def test_the_order_of_a_large_table_does_not_matter(monkeypatch):
    monkeypatch.setattr(module, "_MAX_ROWS", 100)
    values = np.arange(1000.0)[:, None] % [[10, 20]]
    found = QuantilePositions.of_inputs(values, 31)
    for column, period in zip(found.knots.T, (10, 20), strict=True):
        np.testing.assert_array_equal(column[:period], np.arange(period))


def test_a_frequent_value_leaves_the_other_knots_to_the_rest():
    rng = np.random.default_rng(5)
    values = np.zeros((1000, 1))
    values[:30, 0] = np.exp(2 * rng.normal(size=30))
    found = QuantilePositions.of_inputs(values, n_bins=8)
    assert np.isfinite(found.knots).sum() == 9
    positions = found.apply(values[:30])[:, 0]
    counts, _ = np.histogram(positions, np.arange(1, 9))
    assert counts.min() >= 3
    assert np.all(found.apply(values[30:]) == 0)


def test_single_precision_is_measured_in_double():
    values = np.random.default_rng(3).normal(size=(64, 2)).astype(np.float32)
    single = QuantilePositions.of_inputs(values, 4)
    double = QuantilePositions.of_inputs(values.astype(np.float64), 4)
    np.testing.assert_array_equal(single.knots, double.knots)
