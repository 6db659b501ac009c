import numpy as np
import pytest

from betanll.training._data import capacity, checked_table, pack, padded_size

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6.0)


def test_buckets_waste_at_most_a_quarter():
    sizes = [padded_size(n) for n in range(1, 5000)]
    assert sizes == sorted(sizes)
    assert all(n <= size <= max(16, 1.25 * n) for n, size in enumerate(sizes, 1))
    assert padded_size(256) == 256
    assert padded_size(826) == padded_size(827)


def test_refit_on_all_samples_has_the_shape_of_the_search():
    search = pack(checked_table(X[:4], Y[:4]), checked_table(X[4:], Y[4:]))
    refit = pack(checked_table(X, Y))
    assert search.rows.shape == refit.rows.shape == (capacity(6), 4)
    np.testing.assert_array_equal(search.rows, refit.rows)
    assert (search.n_train, search.n_validation) == (4, 2)
    assert (refit.n_train, refit.n_validation) == (6, 0)


def test_weights_are_scaled_to_mean_one():
    rows = pack(checked_table(X, Y, [0, 1, 2, 3, 4, 5])).rows
    np.testing.assert_allclose(rows[:6, -1], np.arange(6) / 2.5, rtol=1e-6)
    assert not np.any(rows[6:])


@pytest.mark.parametrize(
    ("first", "train", "validation"),
    [
        (0, [2, 3, 4, 5], [0, 1]),
        (1, [3, 4, 5, 0], [1, 2]),
        (4, [0, 1, 2, 3], [4, 5]),
        (5, [1, 2, 3, 4], [5, 0]),
    ],
)
def test_another_part_can_be_the_validation_part(first, train, validation):
    whole = pack(checked_table(X, Y))
    data = whole.with_validation(first, 2)
    assert data.rows is whole.rows
    assert (data.n_train, data.n_validation, len(data)) == (4, 2, 6)
    inputs, targets, weights = data.samples(range(6))
    np.testing.assert_array_equal(targets[:, 0], train + validation)
    np.testing.assert_array_equal(inputs, X[train + validation])
    np.testing.assert_array_equal(weights, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, Y[:5]), "equally many rows, got 6 and 5"),
        ((X[:0], Y[:0]), "empty: 0 rows"),
        ((X[:, :0], Y), "inputs must be a matrix with columns"),
        ((np.where(X == 7, np.nan, X), Y), "inputs .*got nan in row 3, column 1"),
        ((X, np.where(Y == 2, np.inf, Y)), "targets .*got inf in row 2, column 0"),
        ((X * 1e38, Y), "finite in single precision"),
        ((X, np.array(["a"] * 6)), "targets must be numeric"),
        ((X, Y, np.ones(5)), r"weights .* 6 samples .*got shape \(5, 1\)"),
        ((X, Y, -np.ones(6)), "weights must be at least 0"),
        ((X, Y, np.zeros(6)), "not all 0"),
        ((X.reshape(6, 2, 1), Y), "must be a matrix"),
    ],
)
def test_faults_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        checked_table(*arguments)
