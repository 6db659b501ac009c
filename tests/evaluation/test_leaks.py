"""Which columns give the target away, and which honest tables are not accused."""

import numpy as np
import pytest

from betanll.evaluation._leaks import revealing_columns

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 12))
NOISE = RNG.normal(size=500)


def found(y, x=X):
    n = len(x) * 4 // 5
    return revealing_columns(x[:n], y[:n], x[n:], y[n:])


@pytest.mark.parametrize(
    ("y", "columns"),
    [
        (134 * X[:, 3] + 7, [3]),
        (134 * X[:, 3] + 6e-5 * NOISE, [3]),
        (np.exp(X[:, 4]), [4]),
        (X[:, 4] ** 2, [4]),
        (X[:, 1] + 2 * X[:, 7] - X[:, 9], [1, 7, 9]),
        (X @ np.arange(1, 13), list(range(12))),
    ],
    ids=["a line", "nearly", "exp", "square", "sum of three", "sum of all"],
)
def test_columns_are_named(y, columns):
    assert found(y) == columns


def test_copies_are_named_too():
    assert found(X[:, 2], np.column_stack([X, 5 - X[:, 2]])) == [2, 12]


@pytest.mark.parametrize("share", [0.01, 0.1, 1.0])
@pytest.mark.parametrize(
    "signal",
    [X[:, 3], X @ np.arange(1, 13), np.sin(3 * X[:, 0]), X[:, 0] * X[:, 1]],
    ids=["line", "all", "sine", "product"],
)
def test_honest_tables_with_little_noise_are_not_accused(signal, share):
    assert found(signal + share * np.std(signal) * NOISE) == []


def test_a_target_that_is_mostly_zero_is_not_accused():
    rain = np.where(X[:, 0] > 1, np.exp(NOISE), 0.0)
    assert found(rain) == []


def test_held_out_rows_decide():
    # As many columns as rows: training rows are fitted exactly by chance.
    x = np.random.default_rng(1).normal(size=(100, 80))
    assert found(np.random.default_rng(2).normal(size=100), x) == []
    # and a true sum is found nevertheless
    assert found(x[:, 5] + x[:, 60], x) == [5, 60]


def test_more_columns_than_are_looked_for():
    x = np.random.default_rng(1).normal(size=(300, 30))
    assert found(x.sum(axis=1), x) == list(range(30))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_any_unit(scale):
    assert found(scale * X[:, 3], X) == [3]
    assert found(X[:, 3], scale * X) == [3]


def test_few_rows_few_values_and_missing_ones():
    assert revealing_columns(X[:9], X[:9, 0], X[9:20], X[9:20, 0]) == []
    assert found((X[:, 0] > 0).astype(float), (X > 0).astype(float)) == []
    y = X[:, 3].copy()
    y[::3] = np.nan
    assert found(y) == [3]
    assert found(np.full(500, np.nan)) == []
    constant = np.column_stack([X, np.ones(500)])
    assert found(X[:, 0] + X[:, 1], constant) == [0, 1]


def test_large_tables_are_thinned():
    x = np.random.default_rng(3).normal(size=(30_000, 4))
    assert found(x[:, 1] - x[:, 2], x) == [1, 2]
