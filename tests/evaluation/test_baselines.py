import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from betanll.evaluation import constant_baseline, ridge_baseline
from betanll.evaluation._baselines import _ALPHAS


def table(n=25, d=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * [1, 10, 0.1][:d]
    return X, (X[:, :1] - 2 * X[:, -1:] + 0.3 * rng.normal(size=(n, 1)))


def leave_one_out(X, y):
    """Return the smallest root mean square of left-out residuals, and its penalty."""
    Z = StandardScaler().fit_transform(X)
    best = np.inf, None
    for alpha in _ALPHAS:
        residuals = []
        for i in range(len(y)):
            others = np.arange(len(y)) != i
            ridge = Ridge(alpha=alpha).fit(Z[others], y[others])
            residuals.append(y[i] - ridge.predict(Z[i : i + 1])[0])
        best = min(best, (np.sqrt(np.mean(np.square(residuals))), alpha))
    return best


def test_constant_is_mean_and_spread():
    y = np.array([[1.0, 5.0], [3.0, np.nan], [5.0, 9.0]])
    prediction = constant_baseline(y, 4)
    np.testing.assert_allclose(prediction.mean, np.tile([3, 7], (4, 1)))
    np.testing.assert_allclose(prediction.std, np.tile([np.sqrt(8 / 3), 2], (4, 1)))


def test_constant_targets_keep_a_positive_spread():
    for value in (0.0, 5.0, -1e30, 1e-30):
        prediction = constant_baseline(np.full((3, 1), value), 1)
        assert prediction.mean[0, 0] == pytest.approx(value)
        assert 0 < prediction.std[0, 0] <= max(1e-8 * abs(value), 1)


def test_ridge_spread_is_that_of_rows_left_out():
    X, y = table()
    X_new = X + 0.5
    prediction = ridge_baseline(X, y, X_new)
    spread, alpha = leave_one_out(X, y[:, 0])
    np.testing.assert_allclose(prediction.std, np.full((25, 1), spread), rtol=1e-6)
    scaler = StandardScaler().fit(X)
    ridge = Ridge(alpha=alpha).fit(scaler.transform(X), y[:, 0])
    expected = ridge.predict(scaler.transform(X_new))
    np.testing.assert_allclose(prediction.mean[:, 0], expected, rtol=1e-6)


def test_ridge_skips_missing_targets_one_by_one():
    X, y = table()
    both = np.column_stack([y, 5 - y])
    both[:5, 0] = np.nan
    both[20:, 1] = np.nan
    prediction = ridge_baseline(X, both, X)
    for i, rows in ((0, slice(5, None)), (1, slice(20))):
        alone = ridge_baseline(X[rows], both[rows, i : i + 1], X)
        np.testing.assert_allclose(prediction.mean[:, i], alone.mean[:, 0])
        np.testing.assert_allclose(prediction.std[:, i], alone.std[:, 0])


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_ridge_does_not_depend_on_units(scale):
    X, y = table()
    plain = ridge_baseline(X, y, X)
    for inputs, unit in ((scale * X, 1), (X, scale), (scale * X, 1 / scale)):
        other = ridge_baseline(inputs, unit * y, inputs)
        np.testing.assert_allclose(other.mean, unit * plain.mean, rtol=1e-6)
        np.testing.assert_allclose(other.std, unit * plain.std, rtol=1e-6)


def test_ridge_copes_with_useless_columns():
    X, y = table()
    plain = ridge_baseline(X, y, X)
    # constant, twice the same, and more columns than rows
    with_constant = np.column_stack([X, np.full(25, 7.0)])
    other = ridge_baseline(with_constant, y, with_constant)
    np.testing.assert_allclose(other.mean, plain.mean, rtol=1e-6)
    for twice in (np.column_stack([X, X]), np.tile(X, 20)):
        other = ridge_baseline(twice, y, twice)
        assert np.all(np.isfinite(other.mean))
        assert other.std[0, 0] == pytest.approx(plain.std[0, 0], rel=0.1)
    nothing = ridge_baseline(np.ones((25, 2)), y, np.ones((1, 2)))
    assert nothing.mean[0, 0] == pytest.approx(y.mean())


def test_ridge_of_a_target_that_is_a_line_or_constant():
    X, _ = table()
    line = ridge_baseline(X, X[:, :1], X)
    np.testing.assert_allclose(line.mean, X[:, :1], atol=1e-3)
    assert np.all(line.std > 0)
    for value in (0.0, 0.1):
        flat = ridge_baseline(X, np.full((25, 1), value), X)
        np.testing.assert_allclose(flat.mean, value)
        assert np.all(flat.std > 0)


def test_ridge_of_very_few_values():
    X, y = table()
    y[3:] = np.nan
    assert np.all(np.isfinite(ridge_baseline(X, y, X).mean))
    y[2] = np.nan
    pair = ridge_baseline(X, y, X)
    assert np.all(np.isfinite(pair.mean))
    assert pair.std[0, 0] == pytest.approx(abs(y[0, 0] - y[1, 0]))
    y[1] = np.nan
    single = ridge_baseline(X, y, X)
    np.testing.assert_allclose(single.mean, y[0, 0])
    np.testing.assert_allclose(single.std, abs(y[0, 0]))
