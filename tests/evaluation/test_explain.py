"""Explanations of models whose predictions are known, and of fitted ones."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from betanll import HeteroscedasticRegressor
from betanll.distributions import Normal
from betanll.estimators import VarianceParts
from betanll.evaluation import explain
from betanll.evaluation._explain import _effort

MEAN, SPREAD, NOTHING = range(3)


class Exact:
    """Knows that the first input is the mean and the second the log of the std."""

    encoder_ = None
    n_outputs_ = 1

    def __init__(self, n_members=1, doubt=lambda X: np.zeros((len(X), 1))):
        self.members_ = [None] * n_members
        self.doubt = doubt
        self.input_range_ = np.array([[-3.0] * 3, [3.0] * 3])

    def encode(self, X):
        return np.asarray(X, np.float64)

    def _distribution(self, matrix):
        noise = np.exp(matrix[:, 1:2])
        std = np.hypot(noise, self.doubt(matrix))
        return Normal(matrix[:, :1], std)

    def _interval(self, predictive, coverage):
        return predictive.interval(coverage)

    def predict_parts(self, X):
        return VarianceParts(np.exp(2 * X[:, 1]), self.doubt(X)[:, 0] ** 2)

    def _checked_targets(self, y, n):
        return np.reshape(y, (n, -1))


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X[:, 0] + np.exp(X[:, 1]) * rng.normal(size=n)


def importances(X, y, **options):
    return explain(Exact(), X, y, **options).targets[0].importances


def test_mean_and_spread_are_separated_exactly():
    mean, spread, nothing = importances(*table())
    assert [one.column for one in (mean, spread, nothing)] == ["x0", "x1", "x2"]
    assert mean.is_clear_for_mean
    assert spread.is_clear_for_spread
    # A change of the mean alone leaves the spread as it is, and the reverse.
    for wrong in (mean.spread, spread.mean, nothing.mean, nothing.spread):
        assert wrong == pytest.approx(0, abs=1e-12)
    assert not mean.is_clear_for_spread
    assert not spread.is_clear_for_mean


def test_the_numbers_are_the_formulas():
    X, y = table(50)
    order = np.random.default_rng(7).permutation(50)
    mean, spread, _ = importances(X, y, n_repeats=1, random_state=7)
    increase = (y - X[order, 0]) ** 2 - (y - X[:, 0]) ** 2
    increase /= 2 * np.var(y)
    assert mean.mean == pytest.approx(increase.mean())
    assert mean.mean_error == pytest.approx(increase.std(ddof=1) / math.sqrt(50))
    assert mean.rmse == pytest.approx(np.sqrt(np.mean((y - X[order, 0]) ** 2)))
    before, after = (
        -Normal(X[:, 0], np.exp(X[rows, 1])).log_prob(y)
        for rows in (slice(None), order)
    )
    assert spread.spread == pytest.approx(np.mean(after - before))
    error = np.std(after - before, ddof=1) / math.sqrt(50)
    assert spread.spread_error == pytest.approx(error)


def test_importance_is_the_share_of_the_variance():
    """Of an exact model with independent inputs; 4000 rows, five standard errors."""
    X, y = table(4000)
    (mean, *_) = importances(X, y, max_rows=4000)
    share = (1 / 3) / np.var(y)
    assert mean.mean == pytest.approx(share, abs=5 * mean.mean_error)
    assert mean.mean_error < 0.01


def test_standard_errors_are_those_of_repeated_samples():
    found = [importances(*table(100, seed), random_state=seed) for seed in range(200)]
    for column, part in ((MEAN, "mean"), (SPREAD, "spread")):
        values = [getattr(one[column], part) for one in found]
        errors = [getattr(one[column], f"{part}_error") for one in found]
        # The sd of 200 values is known to 5%, and shuffled rows share cells.
        assert np.mean(errors) == pytest.approx(np.std(values), rel=0.3)


def test_targets_have_importances_of_their_own():
    X, y = table()
    model = Exact()
    model.n_outputs_ = 2
    model._distribution = lambda m: Normal(
        np.column_stack([m[:, 0], 1e6 * m[:, 2]]), np.exp(m[:, [1, 1]]) * [1, 1e6]
    )
    model.predict_parts = lambda X: VarianceParts(
        np.exp(2 * X[:, [1, 1]]), 0 * X[:, :2]
    )
    noise = np.exp(X[:, 1]) * np.random.default_rng(1).normal(size=400)
    second = 1e6 * (X[:, 2] + noise)
    second[100:] = np.nan
    found = explain(model, X, np.column_stack([y, second]), target_names=["mm", "g"])
    one, other = found.targets
    assert (one.name, other.name) == ("mm", "g")
    assert one.ranked[0].column in ("x0", "x1")
    assert [x.is_clear_for_mean for x in one.importances] == [True, False, False]
    assert [x.is_clear_for_mean for x in other.importances] == [False, False, True]
    assert {row.row for row in other.worst} <= set(range(100))
    assert other.importances[2].rmse > 1e5


def test_partial_dependence_is_the_average_over_the_other_columns():
    X, y = table()
    (target,) = explain(Exact(), X, y).targets
    by_name = {one.column: one for one in target.dependences}
    assert set(by_name) == {"x0", "x1"}
    mean = by_name["x0"]
    np.testing.assert_allclose(mean.mean, mean.values)
    assert set(mean.values) <= set(X[:, 0])
    assert len(mean.values) == 12
    half = 1.6448536269514722 * np.mean(mean.std)
    np.testing.assert_allclose(mean.upper - mean.mean, half, rtol=1e-9)
    spread = by_name["x1"]
    np.testing.assert_allclose(spread.std, np.exp(spread.values))
    assert np.ptp(spread.mean) < 1e-9


def test_few_or_unknown_targets_leave_rows_to_explain():
    X, y = table(30)
    y[9:] = np.nan
    found = explain(Exact(), X, y)
    (target,) = found.targets
    assert (target.importances, target.dependences) == ([], [])
    assert (len(found.importance_rows), found.n_repeats) == (0, 0)
    assert len(target.worst) == 9
    (target,) = explain(Exact(), X).targets
    assert target.worst == []
    assert len(target.uncertain) == 10


def test_worst_and_most_uncertain_rows():
    X, y = table(100)
    y[17] = X[17, 0] - 50 * np.exp(X[17, 1])
    found = explain(Exact(), X, y, row_names=[f"id {i}" for i in range(100)])
    (target,) = found.targets
    worst = target.worst[0]
    assert (worst.row, worst.name, worst.target) == (17, "id 17", "y0")
    assert worst.z == pytest.approx(-50)
    normal = Normal(X[17:18, 0], np.exp(X[17:18, 1]))
    assert worst.crps == pytest.approx(normal.crps(y[17:18])[0])
    assert "is outside: 50 standard deviations below the mean" in str(worst)
    assert [row.row for row in target.uncertain] == list(np.argsort(-X[:, 1])[:10])


@pytest.mark.parametrize(
    ("row", "cause", "words"),
    [
        ([0.0, 1.0, 0.0], "noise", "Main reason: noise"),
        ([0.0, 0.0, 2.5], "little data", "Main reason: little data"),
        ([9.0, 1.0, 0.0], "outside the training data", "x0 is 9 (seen: -3 to 3)"),
        ([0.0, 0.0, 0.0], "usual", "about as wide as usual"),
        ([0.0, -2.0, 0.0], "usual", "The interval is narrow"),
    ],
)
def test_why_an_interval_is_wide(row, cause, words):
    model = Exact(3, doubt=lambda X: 0.1 + 4 * (X[:, 2:] > 2))
    X, _ = table(100)
    X[:, 1] /= 10
    X[0] = row
    why = explain(model, X).why(0)
    assert why.cause == cause
    assert words in str(why)
    assert math.isnan(why.truth)


def test_a_single_network_has_no_doubt():
    why = explain(Exact(), table()[0]).why(3)
    assert math.isnan(why.doubt_share)
    assert "a single network cannot tell" in str(why)


def test_cells_that_widen_an_interval_are_named():
    X, _ = table(100)
    X[0] = 0.5, 2.0, 0.5
    (driver,) = explain(Exact(), X).why(0).drivers
    assert (driver.column, driver.value) == ("x1", "2")
    expected = np.exp(2 - X[:, 1].mean())
    assert driver.factor == pytest.approx(expected)


def test_rows_that_do_not_exist_are_refused():
    found = explain(Exact(), table(20)[0])
    with pytest.raises(ValueError, match="row must lie in 0 to 19, got 20"):
        found.why(20)
    with pytest.raises(ValueError, match="target must lie in 0 to 0, got 1"):
        found.why(0, 1)
    with pytest.raises(ValueError, match="2 names were given for 20 rows"):
        explain(Exact(), table(20)[0], row_names=["a", "b"])


def test_work_is_bounded():
    assert _effort(4, 5, 800, 50_000) == (5, 800)
    assert _effort(30, 5, 800, 50_000) == (2, 800)
    assert _effort(250, 5, 800, 50_000) == (1, 200)
    assert _effort(5000, 5, 800, 50_000) == (1, 100)


def test_the_same_seed_gives_the_same_numbers():
    X, y = table()
    one, two, other = (
        explain(Exact(), X, y, random_state=seed, max_rows=50).to_dict()
        for seed in (0, 0, 1)
    )
    assert one == two
    assert one != other
    assert json.loads(json.dumps(one)) == one


@pytest.fixture(scope="module")
def houses():
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "size": rng.uniform(3, 80, n).round(),
            "city": rng.choice(["Bonn", "Ulm", "Rome"], n),
            "sold": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "garden": rng.choice([True, False], n),
            "rooms": rng.choice([1.0, 2.0, np.nan], n),
        }
    )
    price = 2 * frame["size"] + 60 * (frame["city"] == "Rome")
    noise = np.where(frame["garden"], 20.0, 2.0) * rng.normal(size=n)
    return frame, (price + noise).to_numpy()


@pytest.fixture(scope="module")
def house_model(houses):
    frame, price = houses
    model = HeteroscedasticRegressor(
        preset="fast", hidden_layer_sizes=32, n_bins=0, max_updates=600, random_state=0
    )
    return model.fit(frame[:200], price[:200])


def test_columns_of_a_data_frame(houses, house_model):
    frame, price = houses
    found = explain(house_model, frame[200:], price[200:])
    (target,) = found.targets
    assert [one.column for one in target.importances] == list(frame)
    by_name = {one.column: one for one in target.importances}
    assert by_name["size"].mean > by_name["city"].mean > 0.01
    assert by_name["garden"].is_clear_for_spread
    assert not by_name["garden"].is_clear_for_mean
    assert max(by_name.values(), key=lambda one: one.spread).column == "garden"
    labels = {one.column: set(one.labels) for one in target.dependences}
    assert labels["city"] == {"Bonn", "Ulm", "Rome"}
    assert labels["garden"] == {"false", "true"}
    assert target.worst[0].name == str(200 + target.worst[0].row)


def test_shuffling_a_column_of_the_frame_gives_the_same(houses, house_model):
    """The encoded matrix is shuffled instead, which is faster."""
    frame, price = houses
    frame, price = frame[200:], price[200:]
    found = explain(house_model, frame, price, n_repeats=1, random_state=3)
    order = np.random.default_rng(3).permutation(100)
    changed = frame.assign(city=frame["city"].to_numpy()[order])
    by_name = {one.column: one for one in found.targets[0].importances}
    errors = [(house_model.predict(X) - price) ** 2 for X in (frame, changed)]
    share = np.mean(errors[1] - errors[0]) / (2 * np.var(price))
    assert by_name["city"].mean == pytest.approx(share, rel=1e-4)


def test_cells_outside_of_the_training_data(houses, house_model):
    frame, _ = houses
    odd = frame[:4].copy()
    odd["size"] = [200.0, 20, 20, np.nan]
    odd["city"] = ["Bonn", "Paris", "Bonn", "Bonn"]
    odd["sold"] = pd.to_datetime(
        ["2021-01-01", "2021-01-01", "2031-05-04", "2021-01-01"]
    )
    found = explain(house_model, odd)
    texts = [[str(cell) for cell in found.why(i).outside] for i in range(4)]
    low, high = frame["size"][:200].min(), frame["size"][:200].max()
    assert texts[0] == [f"size is 200 (seen: {low:g} to {high:g})"]
    assert texts[1] == ["city is 'Paris' (not among the 3 levels of the training data)"]
    first, last = (f"{x:%Y-%m-%d}" for x in frame["sold"][:200].agg(["min", "max"]))
    assert texts[2] == [f"sold is 2031-05-04 (seen: {first} to {last})"]
    assert texts[3] == ["size is missing (never missing in training)"]
    # Nothing of the training data is outside, the outermost dates included.
    found = explain(house_model, frame[:200], n_listed=200)
    assert not any(row.outside for row in found.targets[0].uncertain)


def test_a_saved_model_knows_the_training_range(house_model, houses, tmp_path):
    house_model.save(tmp_path / "model")
    loaded = HeteroscedasticRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.input_range_, house_model.input_range_)
    odd = houses[0][:1].assign(size=200.0)
    assert explain(loaded, odd).why(0).outside
    # Models of earlier versions do not; where inputs were standardised, nobody does.
    loaded.input_range_ = None
    assert not explain(loaded, odd).why(0).outside


def test_importances_of_a_learnt_logarithm_are_finite():
    """Moved in the unit of the target, some predictions would fall below zero."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 2))
    y = np.exp(3 * X[:, 0] + np.exp(X[:, 1] - 1) * rng.normal(size=500))
    model = HeteroscedasticRegressor(
        preset="fast", n_bins=0, max_updates=400, target_transform="log", random_state=0
    )
    found = explain(model.fit(X[:350], y[:350]), X[350:], y[350:])
    mean_driver, noise_driver = found.targets[0].importances
    for one in (mean_driver, noise_driver):
        assert np.isfinite([one.mean, one.spread, one.spread_error]).all()
    assert noise_driver.spread > 3 * abs(mean_driver.spread)
