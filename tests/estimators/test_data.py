"""Tables as users have them: frames, weights, gaps, constants, very few rows."""

import warnings
from dataclasses import replace

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from betanll.training import fit_fleet

ROWS = np.random.default_rng(9).normal(size=(17, 2))


def predictions(model, X=ROWS):
    return np.array(model.predict(X, return_std=True))


@pytest.fixture(scope="module")
def targets(table):
    """Two targets of different size for the rows of the table."""
    X, y = table
    return np.column_stack([y, 1000 * X[:, 1] ** 2])


# Several targets


def test_each_target_has_its_own_mean_and_spread(regressor, table, targets):
    model = regressor(max_updates=600).fit(table[0], targets)
    mean, std = model.predict(table[0], return_std=True)
    assert mean.shape == std.shape == (40, 2)
    assert model.n_outputs_ == 2
    error = np.sqrt(np.mean((mean - targets) ** 2, axis=0))
    assert np.all(error < 0.5 * targets.std(axis=0))
    assert np.all(np.abs(np.log(std.mean(axis=0) / error)) < 1)
    assert model.predict_interval(ROWS, 0.5).shape == (17, 2, 2)
    assert model.predict_quantiles(ROWS, [0.1, 0.2, 0.3]).shape == (17, 2, 3)
    assert model.sample(ROWS, 4).shape == (4, 17, 2)
    assert model.predict_parts(ROWS).aleatoric.shape == (17, 2)
    assert model.predict_dist(ROWS).shape == (17, 2)
    # The log-likelihood is a sum over targets.
    by_target = model.predict_dist(table[0]).log_prob(targets).mean(axis=0)
    total = model.log_likelihood(table[0], targets)
    assert total == pytest.approx(by_target.sum(), rel=1e-12)


def test_a_column_stays_a_column(regressor, table, fitted):
    X, y = table
    model = regressor().fit(X, y[:, None])
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X)[:, None])
    assert model.predict_interval(X).shape == (40, 2, 1)
    assert model.predict_quantiles(X, 0.3).shape == (40, 1)
    assert model.sample(X, 2).shape == (2, 40, 1)
    assert model.score(X, y[:, None]) == fitted.score(X, y)
    # Densities take the target either way.
    expected = fitted.log_likelihood(X, y)
    assert model.log_likelihood(X, y) == fitted.log_likelihood(X, y[:, None])
    assert model.log_likelihood(X, y[:, None]) == expected


# Precision and kinds of arrays


def test_single_and_double_precision(regressor, table, fitted):
    X, y = table
    single = regressor().fit(X.astype(np.float32), y.astype(np.float32))
    np.testing.assert_allclose(predictions(single), predictions(fitted), rtol=1e-2)
    for X_new in (ROWS, ROWS.astype(np.float32)):
        for model in (single, fitted):
            assert predictions(model, X_new).dtype == np.float64
    # The same numbers are the same fit, in whatever type and memory they come.
    whole = np.round(8 * X)
    expected = predictions(regressor().fit(whole, y))
    for form in (
        whole.astype(np.float32),
        whole.astype(int),
        whole.tolist(),
        np.asfortranarray(whole),
    ):
        np.testing.assert_array_equal(predictions(regressor().fit(form, y)), expected)


def test_digits_of_large_inputs_and_targets_survive(regressor, table, fitted):
    # In single precision steps at 1e9 are 64 wide.
    X, y = table
    model = regressor().fit(X + 1e9, y + 1e9)
    mean, std = model.predict(X + 1e9, return_std=True)
    np.testing.assert_allclose(mean - 1e9, fitted.predict(X), atol=1e-2)
    np.testing.assert_allclose(std, fitted.predict(X, True)[1], rtol=1e-2)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_bring_names_and_are_held_to_them(regressor, table, fitted, library):
    frames = pytest.importorskip(library)
    X, y = table
    frame = frames.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    model = regressor().fit(frame, frames.Series(y))
    np.testing.assert_array_equal(predictions(model, frame), predictions(fitted, X))
    assert model.feature_names_in_.tolist() == ["width", "height"]
    swapped = frame[["height", "width"]]
    np.testing.assert_array_equal(model.predict(swapped), model.predict(frame))
    with pytest.raises(ValueError, match="depth"):
        model.predict(
            frame.rename(columns={"height": "depth"})
            if library == "pandas"
            else frame.rename({"height": "depth"})
        )
    with pytest.raises(ValueError, match="width"):
        model.predict(frame[["height"]])
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        fitted.predict(frame)
    # The next fit without names forgets them.
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    targets = frames.DataFrame({"a": y})
    assert model.fit(frame, targets).predict(frame).shape == (40, 1)


def test_nullable_columns(regressor, table, fitted):
    X, y = table
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]}).convert_dtypes()
    assert str(frame.dtypes["a"]) == "Float64"
    model = regressor().fit(frame, pd.Series(y).convert_dtypes())
    np.testing.assert_array_equal(predictions(model, frame), predictions(fitted, X))
    frame.iloc[3, 1] = pd.NA
    with pytest.warns(UserWarning, match="X has missing cells in 'b', but the train"):
        assert np.isfinite(model.predict(frame)).all()


# Weights


def test_zero_weight_is_leaving_out(regressor, table, fitted):
    X, y = table
    rng = np.random.default_rng(1)
    # Rows of nonsense in between, with weight zero.
    places = np.sort(rng.choice(50, 40, replace=False))
    more_X, more_y = rng.normal(size=(50, 2)) * 1e6, rng.normal(size=50) * 1e6
    more_X[places], more_y[places] = X, y
    weights = np.zeros(50)
    weights[places] = 1
    model = regressor().fit(more_X, more_y, sample_weight=weights)
    np.testing.assert_array_equal(predictions(model), predictions(fitted))


def test_only_the_ratios_of_weights_matter(regressor, table, fitted):
    for weight in (1.0, 4.0, 1e-300, 1e308):
        model = regressor().fit(*table, sample_weight=np.full(40, weight))
        np.testing.assert_array_equal(predictions(model), predictions(fitted))
    model = regressor().fit(*table, sample_weight=3)
    np.testing.assert_array_equal(predictions(model), predictions(fitted))


def test_weights_matter(regressor, table):
    # Two contradicting targets for each row; the weights say which one counts.
    X, _ = table
    doubled, y = np.vstack([X[:20], X[:20]]), np.repeat([0.0, 10.0], 20)
    means = []
    for share in (0.1, 0.5, 0.9):
        weights = np.repeat([1 - share, share], 20)
        model = regressor(max_updates=500).fit(doubled, y, sample_weight=weights)
        means.append(model.predict(X).mean())
    np.testing.assert_allclose(means, [1, 5, 9], atol=1)


@pytest.mark.parametrize(
    "weights", [np.full(40, -1.0), np.full(39, 1.0), np.full(40, np.nan), np.zeros(40)]
)
def test_bad_weights_are_refused(regressor, table, weights):
    with pytest.raises(ValueError, match=r"(?i)weight"):
        regressor().fit(*table, sample_weight=weights)


# Missing and impossible values


@pytest.fixture(scope="module")
def is_missing(targets):
    """A third of the entries, but never a whole row."""
    mask = np.random.default_rng(2).uniform(size=targets.shape) < 0.3
    mask[mask.all(axis=1)] = False
    return mask


def test_missing_entries_have_no_influence_on_training(
    regressor, table, targets, is_missing
):
    y = np.where(is_missing, np.nan, targets)
    (task,) = next(regressor().fit_steps(table[0], y))
    # In place of the missing targets the trainer sees zeros; anything else would do.
    rows = np.array(task.data.rows)
    is_masked = rows[:40, 4:] == 0
    assert is_masked.sum() == is_missing.sum()
    assert np.all(rows[:40, 2:4][is_masked] == 0)
    rows[:40, 2:4][is_masked] = 1e3
    other = replace(task, data=replace(task.data, rows=jax.device_put(rows)))
    a, b = fit_fleet([task, other], n_jobs=1)
    assert a.best_score == b.best_score
    same = jax.tree.map(np.array_equal, a.params, b.params)
    assert jax.tree.all(same)


def test_targets_with_gaps_are_learnt(regressor, table, targets, is_missing):
    X = table[0]
    y = np.where(is_missing, np.nan, targets)
    model = regressor(max_updates=600).fit(X, y)
    np.testing.assert_allclose(model.targets_.mean, np.nanmean(y, axis=0))
    np.testing.assert_allclose(model.targets_.scale, np.nanstd(y, axis=0))
    # The entries that were hidden are predicted, much better than by the mean.
    error = np.abs(model.predict(X) - targets)[is_missing]
    spread = np.broadcast_to(targets.std(axis=0), targets.shape)[is_missing]
    assert np.median(error / spread) < 0.4
    assert np.isfinite(model.log_likelihood(X, y))


def test_rows_without_targets_are_left_out(regressor, table, fitted):
    X, y = table
    more_X = np.vstack([X[:10], 1e6 * ROWS[:5], X[10:]])
    more_y = np.concatenate([y[:10], np.full(5, np.nan), y[10:]])[:, None]
    model = regressor().fit(more_X, more_y)
    np.testing.assert_array_equal(predictions(model)[..., 0], predictions(fitted))


def test_a_target_seen_a_few_times_may_be_in_any_part(regressor, table, targets):
    # With other splits the only value is in the training or in the validation part.
    X = table[0]
    y = targets.copy()
    y[1:, 1] = np.nan
    for seed in range(6):
        for objective in ("beta-nll", "mse"):
            model = regressor(objective=objective, max_updates=10, random_state=seed)
            mean, std = predictions(model.fit(X, y))
            assert np.all(np.isfinite(mean))
            assert np.all(np.isfinite(std) & (std > 0))


def test_missing_targets_that_cannot_be_used_are_refused(regressor, table, targets):
    X, y = table
    broken = y.copy()
    broken[3] = np.nan
    with pytest.raises(ValueError, match=r"y contains NaN"):
        regressor().fit(X, broken)
    whole = targets.copy()
    whole[:, 1] = np.nan
    with pytest.raises(ValueError, match="target 1 of y has no values"):
        regressor().fit(X, whole)
    # Neither has one that is there in rows of weight zero only.
    whole[:3, 1] = 1.0
    with pytest.raises(ValueError, match="target 1 of y has no values"):
        regressor().fit(X, whole, sample_weight=np.arange(40) >= 3)
    with pytest.raises(ValueError, match="at least 3 rows with a target"):
        regressor().fit(X, np.full((40, 1), np.nan))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_impossible_inputs_and_targets_are_refused(
    regressor, table, targets, fitted, value
):
    X, y = table
    broken = X.copy()
    broken[3, 1] = value
    with pytest.raises(ValueError, match=r"X contains"):
        regressor().fit(broken, y)
    with pytest.raises(ValueError, match=r"X contains"):
        fitted.predict(broken)
    for target in (y, targets):
        broken = target.copy()
        broken[3] = value
        with pytest.raises(ValueError, match="infinity"):
            regressor().fit(X, broken)


def test_wrong_kinds_of_data_are_refused(regressor, table, fitted):
    X, y = table
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        regressor().fit(sparse.csr_array(X), y)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        fitted.predict(sparse.csr_matrix(X))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        regressor().fit(X, y[:-1])
    with pytest.raises(ValueError, match="2D array"):
        regressor().fit(X[:, 0], y)
    with pytest.raises(ValueError, match="3 features"):
        fitted.predict(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="convert string"):
        regressor().fit(X, np.full(40, "high"))
    with pytest.raises(ValueError, match="dim"):
        regressor().fit(X, np.zeros((40, 1, 1)))
    with pytest.raises(ValueError, match="requires y"):
        regressor().fit(X, None)
    for other in (y[:-1], np.column_stack([y, y])):
        with pytest.raises(ValueError, match="40 rows and 1 targets"):
            fitted.log_likelihood(X, other)


# Little, repeated and constant data


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_rows_are_refused(regressor, table, n):
    X, y = table
    with pytest.raises(ValueError, match=f"n_samples = {n}|minimum"):
        regressor().fit(X[:n], y[:n])
    # Counted without those that have no weight.
    with pytest.raises(ValueError, match=f"n_samples = {n}"):
        regressor().fit(X, y, sample_weight=np.arange(40) < n)


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("validation_fraction", [0.2, 0.9])
def test_a_few_rows_are_enough(regressor, table, n, validation_fraction):
    X, y = table
    model = regressor(validation_fraction=validation_fraction)
    mean, std = predictions(model.fit(X[:n], y[:n]))
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std) & (std > 0))


def test_constant_inputs_are_ignored(regressor, table):
    X, y = table
    constant = np.column_stack([X[:, 0], np.full(40, 0.1 + 0.2)])
    # The same numbers but for rounding.
    noisy = constant.copy()
    noisy[::2, 1] = 0.3
    model, other = regressor().fit(constant, y), regressor().fit(noisy, y)
    np.testing.assert_array_equal(predictions(model), predictions(other))
    changed = constant.copy()
    changed[:, 1] = -1e300
    np.testing.assert_array_equal(
        predictions(model, changed), predictions(model, constant)
    )
    assert np.ptp(model.predict(constant)) > 0
    # Nothing to go by at all: the mean and spread of the targets.
    blind = regressor(max_updates=500).fit(np.zeros((40, 2)), y)
    mean, std = predictions(blind)
    assert np.ptp(mean) == np.ptp(std) == 0
    assert mean[0] == pytest.approx(y.mean(), abs=0.3 * y.std())
    assert std[0] == pytest.approx(y.std(), rel=0.3)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e20])
def test_constant_targets_are_predicted(regressor, table, value):
    X, _ = table
    for objective in ("beta-nll", "mse"):
        model = regressor(objective=objective).fit(X, np.full(40, value))
        mean, std = predictions(model, X)
        unit = abs(value) or 1.0
        np.testing.assert_allclose(mean, value, rtol=0, atol=0.5 * unit)
        assert np.all((std > 0) & (std < unit))


def test_repeated_rows(regressor, table):
    X, y = table
    model = regressor().fit(np.repeat(X[:1], 40, axis=0), np.repeat(y[:2], 20))
    mean, std = predictions(model)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std) & (std > 0))


@pytest.mark.parametrize("factor", [1e30, 1e-30, 1e300, 1e-300])
def test_inputs_of_any_size(regressor, table, fitted, factor):
    X, y = table
    model = regressor().fit(factor * X, y)
    found, expected = predictions(model, factor * X), predictions(fitted, X)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    # Predictions far outside stay numbers.
    assert np.all(np.isfinite(predictions(model, np.full((1, 2), 1e307))))


def test_an_outlier_in_the_inputs_does_not_break_predictions(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean, std = predictions(fitted, np.array([[1e300, -1e300], [1e308, 1e308]]))
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std) & (std > 0))
