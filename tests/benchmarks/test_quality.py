import doctest
import importlib
import json

import numpy as np
import pandas as pd
import pytest
from benchmarks.quality import _names, _tables, _tasks
from benchmarks.quality.__main__ import main
from benchmarks.quality._adapters import Prediction
from benchmarks.quality._methods import METHODS, Method, predict
from benchmarks.quality._summary import render, summarise
from click.testing import CliRunner

from betanll import metrics
from betanll.distributions import Mixture, Normal
from betanll.sweeps import SweepReport, Task

SETTINGS = {
    "bayesian-ridge": {},
    "forest": {"n_estimators": 60},
    "gp": {"max_rows": 120, "max_rows_of_kernel": 80},
}


def linear_table(n, n_targets, seed=0):
    """Linear means; the noise grows fivefold along the first input."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    slopes = np.array([[1.0, -20.0], [2.0, 10.0], [0.0, 5.0]])[:, :n_targets]
    std = 0.5 * np.exp(0.8 * X[:, :1]) * np.array([1.0, 10.0])[:n_targets]
    return X, X @ slopes + std * rng.normal(size=std.shape)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("name", SETTINGS)
def test_scikit_learn_methods_on_a_linear_table(name, n_targets):
    X, y = linear_table(300, n_targets)
    X_test, y_test = linear_table(400, n_targets, seed=1)
    settings = json.dumps(SETTINGS[name])
    prediction = predict(name, X, y, X_test, 0, settings=settings)
    scores = _tasks.score(prediction, y, y_test)
    assert prediction.distribution.shape == y_test.shape
    assert np.isfinite(list(scores.values())).all()
    # A binomial standard error is 0.015; the homoscedastic ones are right on average.
    assert 0.8 < scores["coverage_90"] < 0.97
    assert prediction.fit_seconds > 0
    again = predict(name, X, y, X_test, 0, settings=settings).distribution
    np.testing.assert_array_equal(again.mean, prediction.distribution.mean)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_every_installed_method_beats_a_guess(name):
    if lacking := _names.missing(METHODS[name].packages):
        pytest.skip(f"{lacking} not installed")
    X, y = linear_table(300, 2)
    X_test, y_test = linear_table(100, 2, seed=1)
    prediction = predict(name, X, y, X_test, 0)
    assert prediction.distribution.shape == y_test.shape
    guess = Normal(np.tile(y.mean(0), (100, 1)), np.tile(y.std(0), (100, 1)))
    ours = _tasks.score(prediction, y, y_test)
    theirs = _tasks.score(Prediction(guess, 0, 0), y, y_test)
    assert ours["rmse"] < theirs["rmse"]
    assert ours["crps_scaled"] < theirs["crps_scaled"]


def test_trees_that_agree_get_a_tenth_of_the_out_of_bag_error():
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    # Without noise on the left, where all trees predict the same.
    y = np.where(X == 0, 0.0, rng.normal(size=X.shape)) * [[1.0, 100.0]]
    trees = RandomForestRegressor(30, oob_score=True, random_state=3).fit(X, y)
    floor = 0.1 * np.sqrt(np.mean((trees.oob_prediction_ - y) ** 2, axis=0))
    settings = '{"n_estimators": 30}'
    std = predict("forest", X, y, [[0.0], [1.0]], 3, settings=settings).distribution.std
    np.testing.assert_allclose(std[0], floor, rtol=1e-12)
    spread = np.std([tree.predict([[1.0]])[0] for tree in trees.estimators_], axis=0)
    np.testing.assert_allclose(std[1], np.maximum(spread, floor), rtol=1e-12)


def test_the_gaussian_process_sees_no_more_rows_than_it_may(monkeypatch):
    from sklearn.gaussian_process import GaussianProcessRegressor

    seen = []
    fit = GaussianProcessRegressor.fit

    def watched(self, X, y):
        seen.append(X)
        return fit(self, X, y)

    monkeypatch.setattr(GaussianProcessRegressor, "fit", watched)
    X, y = linear_table(60, 1)
    settings = {"max_rows": 40, "max_rows_of_kernel": 30}
    for seed in (0, 0, 1):
        predict("gp", X, y, X, seed, settings=json.dumps(settings))
    assert [len(rows) for rows in seen] == 3 * [30, 40]
    np.testing.assert_array_equal(seen[0], seen[1][:30])
    np.testing.assert_array_equal(seen[1], seen[3])
    assert not np.array_equal(seen[1], seen[5])
    # A table that is small enough is fitted once.
    predict("gp", X[:30], y[:30], X, 0, settings=json.dumps(settings))
    assert len(seen) == 7


@pytest.mark.torch
def test_the_ensemble_in_pytorch():
    settings = json.loads(METHODS["torch-ensemble"].settings)
    settings |= {"n_members": 2, "max_updates": 200}
    X, y = linear_table(200, 2)
    found = predict("torch-ensemble", X, y, X, 0, settings=json.dumps(settings))
    assert isinstance(found.distribution, Mixture)
    assert len(found.distribution.components) == 2
    assert (np.std(found.distribution.mean - y, axis=0) < 0.9 * y.std(axis=0)).all()


def test_scores_are_sums_over_targets_and_scaled_by_the_training_rows():
    rng = np.random.default_rng(0)
    y_train, y_test = rng.normal(size=(500, 1)), rng.normal(size=(80, 1))
    std = float(y_train.std())
    one = Normal(np.zeros((80, 1)), np.ones((80, 1)))
    single = _tasks.score(Prediction(one, 0, 0), y_train, y_test)
    assert single["nll"] == pytest.approx(-metrics.log_likelihood(one, y_test))
    assert single["crps"] == pytest.approx(single["crps_scaled"] * std)
    assert single["width_90"] == pytest.approx(2 * 1.6448536 / std)
    # The same target again, in another unit.
    two = Normal(np.zeros((80, 2)), np.tile([1.0, 10.0], (80, 1)))
    both = _tasks.score(Prediction(two, 0, 0), y_train * [1, 10], y_test * [1, 10])
    assert both["nll"] == pytest.approx(2 * single["nll"] + np.log(10))
    assert both["crps"] == pytest.approx(11 * single["crps"])
    assert both["crps_scaled"] == pytest.approx(2 * single["crps_scaled"])
    assert both["coverage_90"] == single["coverage_90"]
    assert both["width_90"] == pytest.approx(single["width_90"])


def runs_of(losses):
    """Rows of dataset -> method -> losses of the splits; all metrics are the loss."""
    rows = [
        {
            **dict.fromkeys(("nll", "crps", "crps_scaled", "rmse"), loss),
            **{"coverage_90": 0.9 - loss / 100, "width_90": 1.0},
            **{"fit_seconds": 2.0 * loss, "predict_seconds": 0.1},
            **{"dataset": dataset, "method": method, "split": split},
        }
        for dataset, methods in losses.items()
        for method, values in methods.items()
        for split, loss in enumerate(values)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


LOSSES = {
    # b is on a's level, c is always one worse.
    "one": {"a": [1.0, 2.0, 3.0], "b": [2.0, 2.0, 2.1], "c": [2.0, 3.0, 4.0]},
    # c leads; a is not a number once.
    "two": {"a": [1.0, np.nan, 1.0], "b": [3.0, 3.0, 3.0], "c": [1.0, 1.0, 1.0]},
    # b lacks a split.
    "three": {"a": [1.0, 1.0, 1.0], "b": [2.0, 2.0], "c": [3.0, 3.0, 3.0]},
}
WANTED = {name: range(3) for name in LOSSES}


def test_ranks_and_means_of_runs():
    summary = summarise(runs_of(LOSSES), WANTED)
    table = summary.datasets.set_index(["dataset", "method"])
    ranks = table["rank_nll"].unstack()
    assert ranks.loc["one"].to_dict() == {"a": 1, "b": 1, "c": 3}
    assert ranks.loc["two"].to_dict() == {"a": 3, "b": 2, "c": 1}
    assert ranks.loc["three"].isna().all()
    assert table.loc[("one", "c"), "rmse"] == 3
    assert np.isnan(table.loc[("two", "a"), "rmse"])
    assert table.loc[("three", "b"), "n_splits"] == 2
    assert summary.ranked == ("one", "two")
    assert summary.left_out == {"three": "b has 2 of 3 splits"}
    overall = summary.overall.set_index("method")
    assert overall.index[0] == "b"
    assert overall["rank_nll"].to_dict() == {"a": 2, "b": 1.5, "c": 2}
    assert overall.loc["c", "fit_seconds"] == pytest.approx((6 + 2) / 2)
    assert overall.loc["c", "coverage_90"] == pytest.approx(0.88)
    assert overall.loc["c", "min_coverage_90"] == pytest.approx(0.87)


def test_the_page_marks_the_best_and_what_is_missing():
    page = render(summarise(runs_of(LOSSES), WANTED), "Note.")
    nll = page.split("## ")[1].splitlines()
    head = [cell.strip() for cell in nll[2].split("|")[2:-1]]
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in nll[4:7]}
    cells = {
        (dataset, method): cell.strip()
        for dataset, line in rows.items()
        for method, cell in zip(head, line, strict=True)
    }
    assert cells["one", "a"] == "**2**"
    assert cells["one", "c"] == "3"
    assert cells["two", "a"] == "–"
    assert cells["three", "b"] == "2 (2)"
    assert "three: b has 2 of 3 splits" in page


def test_without_a_common_dataset_there_are_no_ranks():
    losses = {"one": {"a": [1.0]}, "two": {"b": [1.0]}}
    summary = summarise(runs_of(losses), {"one": [0], "two": [0]})
    assert summary.ranked == ()
    assert summary.overall.empty
    assert "there are no ranks" in render(summary, "Note.")


def test_settings_belong_to_a_task():
    ours = json.loads(METHODS["betanll"].settings)
    assert ours["beta"] == 0.5
    assert "n_jobs" not in ours
    changed = Method(METHODS["betanll"].adapter, {"beta": 0.25}, ("betanll",))
    assert json.loads(changed.settings) == {**ours, "beta": 0.25}
    tasks = _tasks.quality_tasks(["protein", "yacht"], ["forest", "gp"], [4, 5])
    # protein has five splits
    assert len({task.key for task in tasks}) == 2 + 4
    assert dict(tasks[0].settings)["settings"] == '{"n_estimators": 200}'


def test_splits_of_a_packaged_table():
    first, again = _tables.load_split("diabetes", 3), _tables.load_split("diabetes", 3)
    other = _tables.load_split("diabetes", 4)
    assert first.X_train.shape == (398, 10)
    assert first.y_test.shape == (44, 1)
    np.testing.assert_array_equal(first.X_test, again.X_test)
    assert not np.array_equal(first.X_test, other.X_test)
    together = np.vstack([first.X_train, first.X_test])
    assert len(np.unique(together, axis=0)) == 442
    with pytest.raises(ValueError, match="diabetes has the splits 0 to 19, got 20"):
        _tables.load_split("diabetes", 20)


@pytest.mark.parametrize("name", _tables.PACKAGED)
def test_packaged_tables_can_be_read(name):
    table = _tables.PACKAGED[name]
    if _names.missing([table.package]):
        pytest.skip(f"{table.package} is not installed")
    x, y = _tables.load_packaged(name)
    assert x.shape[0] == table.n_rows
    assert x.shape[1] >= len(table.inputs)
    assert y.shape == (table.n_rows, len(table.targets))
    assert (y.std(axis=0) > 0).all()


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function of arguments of the command that runs it without a cluster."""

    def inline(tasks, store, **_):
        waiting = [task for task in tasks if task.key not in store.done()]
        for task in waiting:
            store.add_result(task, task.run(), seconds=0.0)
        return SweepReport(len(waiting), len(tasks) - len(waiting), 0, 0, 0.0)

    monkeypatch.setattr("betanll.sweeps.run_sweep", inline)
    return lambda *arguments: CliRunner().invoke(
        main, [*map(str, arguments), "--out", str(tmp_path / "out")]
    )


def test_the_command_goes_on_and_sums_up(run, tmp_path):
    chosen = ["--dataset", "diabetes", "--method", "bayesian-ridge"]
    first = run(*chosen, "--split", 5)
    assert first.exit_code == 0, first.output
    second = run(*chosen, "--split", 5, "--split", 6)
    assert "1 tasks in 0 s; 1 had results before" in second.output
    out = tmp_path / "out"
    runs = pd.read_csv(out / "runs.csv")
    assert list(runs["split"]) == [5, 6]
    assert list(runs.columns[:7]) == [
        *("dataset", "split", "method", "nll", "crps", "crps_scaled", "rmse")
    ]
    assert runs["n_train"].tolist() == [398, 398]
    assert 50 < runs["rmse"].mean() < 60
    assert "not the report" in (out / "summary.md").read_text()
    assert (out / "quality.png").stat().st_size > 1000
    names = ["runs.csv", "summary.csv", "overall.csv", "summary.md", "quality.svg"]
    before = [(out / name).read_bytes() for name in names]
    of_store = [*chosen, "--split", 5, "--split", 6, "--stored-only"]
    exported = tmp_path / "results.csv"
    stored = run(*of_store, "--export", exported)
    assert stored.exit_code == 0, stored.output
    assert [(out / name).read_bytes() for name in names] == before
    # The same from an export, where there is no store.
    out.rename(tmp_path / "elsewhere")
    imported = run(*of_store, "--import", exported)
    assert "2 new results" in imported.output
    assert [(out / name).read_bytes() for name in names] == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--method", "forrest"],
            "no method 'forrest' (did you mean 'forest'?);",
        ),
        (["--dataset", "yatch"], "no dataset 'yatch' (did you mean 'yacht'?);"),
        (["--dataset", "protein", "--split", "7"], "there is nothing to run"),
        (["--stored-only"], "sweep.db does not exist"),
        (["--dataset", "yacht", "--data-dir", "nowhere"], "yacht.csv.gz is missing"),
    ],
)
def test_wrong_input_is_one_clear_sentence(run, monkeypatch, arguments, sentence):
    monkeypatch.setenv("BETANLL_DATA", "nowhere")
    result = run(*arguments)
    assert result.exit_code == 2
    error = result.output.splitlines()[-1]
    assert error.startswith("Error: ")
    assert sentence in error
    assert "Traceback" not in result.output


def test_a_missing_peer_is_one_clear_sentence(run, monkeypatch):
    found = _names.find_spec
    monkeypatch.setattr(
        _names, "find_spec", lambda name: None if name == "catboost" else found(name)
    )
    X, y = linear_table(20, 1)
    sentence = "'catboost' needs catboost, not installed here: pip install catboost"
    with pytest.raises(ModuleNotFoundError, match=sentence):
        predict("catboost", X, y, X, 0)
    result = run("--method", "catboost", "--dataset", "diabetes")
    assert result.exit_code == 2
    assert sentence in result.output


def test_tasks_may_name_functions_of_this_benchmark():
    (task,) = _tasks.quality_tasks(["diabetes"], ["bayesian-ridge"], [7])
    (row,) = Task.from_json(task.to_json()).run()
    assert (row["dataset"], row["split"], row["method"]) == (
        *("diabetes", 7, "bayesian-ridge"),
    )
    assert row["versions"].startswith("scikit-learn ")


@pytest.mark.parametrize("name", ["_names", "_summary", "_tables"])
def test_examples(name):
    module = importlib.import_module(f"benchmarks.quality.{name}")
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
