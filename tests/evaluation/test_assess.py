from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from betanll import HeteroscedasticRegressor, metrics
from betanll.blocks import RowBlocks
from betanll.distributions import Normal
from betanll.estimators._state import to_state
from betanll.evaluation import assess, compare, constant_baseline, ridge_baseline
from betanll.evaluation._assess import CONSTANT, MODEL, MSE, PLAIN_NLL, RIDGE
from betanll.objectives import BetaNLL

# As in the tests of the command line, which then need not compile again.
SETTINGS = {
    "preset": "paper",
    "hidden_layer_sizes": (4,),
    "max_updates": 60,
    "random_state": 0,
}


def table(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, 5 + 2 * X[:, :1] + 0.3 * rng.normal(size=(n, 1))


def split(X, y, n_train=32):
    return (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])


def first_rows(n_train=32, n=40):
    return [(range(n_train), range(n_train, n))]


def same_bits(first, second):
    one, two = to_state(first), to_state(second)
    assert one[0] == two[0]
    assert one[1].keys() == two[1].keys()
    return all(one[1][key].tobytes() == two[1][key].tobytes() for key in one[1])


@pytest.fixture(scope="module")
def assessment():
    return assess(HeteroscedasticRegressor(**SETTINGS), *table(), first_rows())


def test_scores_are_of_held_out_rows(assessment):
    (X, y), (X_test, y_test) = split(*table())
    (target,) = assessment.targets
    assert list(target.scores) == [MODEL, PLAIN_NLL, RIDGE, CONSTANT]
    model = assessment.model
    by_hand = {
        MODEL: model.predict_dist(X_test),
        PLAIN_NLL: clone(model)
        .set_params(objective="nll")
        .fit(X, y)
        .predict_dist(X_test),
        RIDGE: ridge_baseline(X, y, X_test),
        CONSTANT: constant_baseline(y, 8),
    }
    for name, predictive in by_hand.items():
        assert target.scores[name] == metrics.evaluate(predictive, y_test)
        assert list(target.scores[name].coverage) == [0.5, 0.9, 0.95]
        crps = predictive.crps(y_test)[:, 0]
        np.testing.assert_array_equal(target.crps[name], crps)
        errors = (predictive.mean - y_test)[:, 0] ** 2
        np.testing.assert_array_equal(target.squared_errors[name], errors)
    mse = clone(model).set_params(objective="mse").fit(X, y).predict(X_test)
    np.testing.assert_array_equal(target.squared_errors[MSE], (mse - y_test)[:, 0] ** 2)
    assert (target.name, target.revealing) == ("y0", [])
    np.testing.assert_array_equal(
        assessment.interval, model.predict_interval(X_test, 0.9)
    )
    assert list(assessment.sample_fractions) == ["beta-nll, beta 0.5", "nll"]
    assert all(0 < share <= 1 for share in assessment.sample_fractions.values())


def test_model_does_not_see_held_out_rows(assessment):
    X, y = table()
    train, _ = split(X, y)
    X[32:], y[32:] = -X[32:], 100 - y[32:]
    other = assess(HeteroscedasticRegressor(**SETTINGS), X, y, first_rows(), n_jobs=1)
    assert same_bits(assessment.model, other.model)
    assert other.targets[0].scores[MODEL] != assessment.targets[0].scores[MODEL]
    # and it is the one that fit alone gives
    alone = HeteroscedasticRegressor(**SETTINGS).fit(*train)
    assert same_bits(assessment.model, alone)


def test_twins_set_as_many_rows_aside():
    train, test = split(*table(48), n_train=40)
    model = HeteroscedasticRegressor(**SETTINGS, calibration="scale", objective="nll")
    assessment = assess(model, *table(48), first_rows(40, 48))
    assert PLAIN_NLL not in assessment.targets[0].scores
    # NLL with its spread corrected has the mean of NLL without
    plain = HeteroscedasticRegressor(
        **SETTINGS, calibration="conformal", objective="nll"
    ).fit(*train)
    mean = plain.predict(test[0])
    np.testing.assert_allclose(assessment.predictive.mean, mean, rtol=1e-12)


def test_missing_targets_do_not_count(assessment):
    X, y = table()
    y[35] = np.nan
    y_test = y[32:]
    other = assess(HeteroscedasticRegressor(**SETTINGS), X, y, first_rows())
    seen = np.arange(8) != 3
    errors = other.predictive.mean[seen] - y_test[seen]
    (target,) = other.targets
    assert target.scores[MODEL].rmse == pytest.approx(np.sqrt(np.mean(errors**2)))
    np.testing.assert_array_equal(target.squared_errors[MODEL], errors[:, 0] ** 2)
    assert len(target.squared_errors[MSE]) == len(target.crps[RIDGE]) == 7


class Fixed:
    """Predicts what it is told, as every twin of it does."""

    calibration = "none"
    objective_ = BetaNLL(0.5)
    encoder_ = None

    def __init__(self, mean):
        self.mean = mean

    def plan_for(self, *shape):
        return SimpleNamespace(holds_out_rows=False)

    def set_params(self, **parameters):
        return self

    def encode(self, X):
        return X

    def predict_dist(self, X):
        return Normal(self.mean, np.ones_like(self.mean))

    def predict_interval(self, X, level):
        return self.predict_dist(X).interval(level)

    def predict_parts(self, X):
        return SimpleNamespace(aleatoric=np.ones((len(X), self.mean.shape[1])))


def test_targets_are_scored_in_their_own_units(monkeypatch):
    monkeypatch.setattr("betanll.evaluation._assess.clone", lambda model: model)
    monkeypatch.setattr("betanll.evaluation._assess.fit_many", lambda *a, **k: None)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.column_stack([rng.normal(size=60), 1e6 * X[:, 1], rng.normal(size=60)])
    y[40:, 2] = np.nan
    mean = np.zeros((20, 3))
    names = {"feature_names": ["a", "b"], "target_names": ["mm", "grams", "never"]}
    found = assess(Fixed(mean), X, y, first_rows(40, 60), **names)
    assert [target.name for target in found.targets] == names["target_names"]
    for i in (0, 1):
        scores, column = found.targets[i].scores, y[40:, i]
        expected = metrics.evaluate(Normal(np.zeros(20), np.ones(20)), column)
        assert scores[MODEL] == expected
        guess = np.sqrt(np.mean((column - y[:40, i].mean()) ** 2))
        assert scores[CONSTANT].rmse == pytest.approx(guess)
    assert [target.revealing for target in found.targets] == [[], ["b"], []]
    assert found.targets[2].scores == {}
    with pytest.raises(ValueError, match="1 names were given for 3 columns"):
        assess(Fixed(mean), X, y, first_rows(40, 60), target_names=["y"])


def test_compare_is_the_folds_by_hand():
    X, y = table(48)
    models = {
        name: HeteroscedasticRegressor(**SETTINGS, objective=name)
        for name in ("beta-nll", "mse")
    }
    comparison = compare(models, X, y, n_folds=3, random_state=7)
    for name, model in models.items():
        assert not hasattr(model, "net_")
        inside = []
        for train, test in KFold(3, shuffle=True, random_state=7).split(X):
            fitted = clone(model).fit(X[train], y[train])
            predictive = fitted.predict_dist(X[test])
            nll = -predictive.log_prob(y[test])
            np.testing.assert_array_equal(comparison.nll[name][test], nll)
            crps = predictive.crps(y[test])
            np.testing.assert_array_equal(comparison.crps[name][test], crps)
            square = (predictive.mean - y[test]) ** 2
            np.testing.assert_array_equal(comparison.squared_error[name][test], square)
            low, high = fitted.predict_interval(X[test], 0.9)[:, :, 0].T
            inside += [*((low <= y[test, 0]) & (y[test, 0] <= high))]
        assert comparison.coverage[name] == pytest.approx(np.mean(inside))
    lines = comparison.table()
    assert [line["rank"] for line in lines] == sorted(line["rank"] for line in lines)
    by_name = {line["model"]: line for line in lines}
    mse = by_name["mse"]
    assert mse["log_likelihood"] == -np.mean(comparison.nll["mse"])
    assert mse["rmse"] == np.sqrt(np.mean(comparison.squared_error["mse"]))
    assert mse["crps"] == np.mean(comparison.crps["mse"])


def test_each_fold_is_predicted_by_a_model_without_its_rows():
    X, y = table(48)
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    model = HeteroscedasticRegressor(**SETTINGS)
    found = assess(model, X, y, folds, n_jobs=1)
    assert (found.n_splits, found.n_rows, found.is_of_all_rows) == (3, 48, True)
    np.testing.assert_array_equal(found.rows, np.concatenate([t for _, t in folds]))
    np.testing.assert_array_equal(found.target, y[found.rows])
    means = [
        clone(model).fit(X[train], y[train]).predict(X[test]) for train, test in folds
    ]
    np.testing.assert_array_equal(found.predictive.mean, np.concatenate(means))
    assert same_bits(found.model, clone(model).fit(X, y))


def test_the_model_can_be_trained_on_all_rows_in_the_end(assessment):
    X, y = table()
    model = HeteroscedasticRegressor(**SETTINGS)
    found = assess(model, X, y, first_rows(), all_rows=True)
    assert found.targets[0].scores == assessment.targets[0].scores
    assert (found.n_rows, assessment.n_rows) == (40, 32)
    assert same_bits(found.model, clone(model).fit(X, y))


def test_groups_stay_together_in_all_parts(monkeypatch):
    X, y = table(48)
    blocks = RowBlocks.of_groups(np.arange(48) // 4)
    seen = []

    def record(jobs, **_):
        seen.extend(jobs)
        raise InterruptedError

    monkeypatch.setattr("betanll.evaluation._assess.fit_many", record)
    with pytest.raises(InterruptedError):
        assess(
            HeteroscedasticRegressor(**SETTINGS),
            X,
            y,
            [blocks.held_out(0.25)],
            blocks=blocks,
        )
    for _, _, targets, options in seen:
        assert len(options["groups"]) == len(targets) == 36


def test_comparison_by_time_judges_later_rows_alone():
    X, y = table(48)
    blocks = RowBlocks.of_times(np.arange(48))
    models = {"mse": HeteroscedasticRegressor(**SETTINGS, objective="mse")}
    comparison = compare(models, X, y, n_folds=3, blocks=blocks)
    is_judged = ~np.isnan(comparison.crps["mse"][:, 0])
    assert is_judged.tolist() == [False] * 12 + [True] * 36
    fitted = clone(models["mse"]).fit(X[:36], y[:36], times=np.arange(36))
    expected = fitted.predict_dist(X[36:]).crps(y[36:])
    np.testing.assert_array_equal(comparison.crps["mse"][36:], expected)
    assert len(comparison.table()) == 1
