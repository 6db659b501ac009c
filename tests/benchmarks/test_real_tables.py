import doctest
import importlib
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from benchmarks.real_tables import _catalogue, _columns, _methods, _splits, _tables
from benchmarks.real_tables._catalogue import DEVELOPMENT, REPORT, TABLES
from benchmarks.real_tables._methods import METHODS, Prediction, Quantiles, predict
from benchmarks.real_tables._splits import n_splits, split_rows
from benchmarks.real_tables._summary import render, summarise
from benchmarks.real_tables._tables import RealTable, TableMissingError
from benchmarks.real_tables._tasks import SCORES, real_table_tasks, run_split, score

from betanll import metrics
from betanll.distributions import Normal

HERE = [name for name, table in TABLES.items() if _tables.is_installed(table)]


def raw_frame(n=200, seed=0):
    """A date, a group, texts and gaps; the target grows along the days."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n) // 2, unit="D")
    return pd.DataFrame(
        {
            "day": days.strftime("%Y-%m-%d"),
            "who": rng.choice(list("abcdefgh"), n),
            "note": np.where(rng.random(n) < 0.3, None, "text"),
            "x": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "y": np.arange(n) / 20 + rng.normal(size=n),
        }
    )


TABLE = RealTable("t", "p", "t.csv", 200, "y", time=("day",), group="who")


def test_there_are_enough_tables_of_enough_packages():
    assert len(DEVELOPMENT) >= 10
    assert len(REPORT) >= 30
    assert len({table.package for table in REPORT}) >= 6
    assert sum(len(table.split_kinds) > 1 for table in REPORT) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_installed_tables_are_the_ones_we_mean(name):
    table = TABLES[name]
    frame = _tables.load(table)
    assert len(frame) <= table.cap
    assert frame[table.target].notna().all()
    for kind in table.split_kinds:
        train, test = split_rows(table, frame, kind, 0)
        assert not np.intersect1d(train, test).size
        assert min(len(train), len(test)) >= 5


def packaged(tmp_path, monkeypatch, path, frame, **described):
    """A table in a package that is a folder."""
    (tmp_path / "realtab").mkdir()
    (tmp_path / "realtab" / "__init__.py").touch()
    outer, _, inner = path.partition("::")
    file = tmp_path / "realtab" / outer
    if inner:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(inner, frame.to_csv(index=False))
    else:
        frame.to_csv(file, index=False)
    monkeypatch.syspath_prepend(tmp_path)
    return RealTable("t", "realtab", path, len(frame), "y", **described)


@pytest.mark.parametrize("path", ["t.csv", "t.csv.gz", "all.zip::core/t.csv"])
def test_files_are_read_as_they_are(tmp_path, monkeypatch, path):
    frame = raw_frame()
    table = packaged(tmp_path, monkeypatch, path, frame)
    raw = _tables.raw_file(table, tmp_path)
    pd.testing.assert_frame_equal(_tables.read_raw(table), pd.read_csv(raw))
    assert _tables.read_raw(table)["day"].iloc[0] == "2020-01-01"


def test_a_sample_keeps_the_order_and_has_all_targets(tmp_path, monkeypatch):
    frame = raw_frame().assign(copy=1.0)
    frame.loc[:9, "y"] = np.nan
    table = packaged(tmp_path, monkeypatch, "t.csv", frame, cap=50, drop=("copy",))
    sample = _tables.load(table)
    assert len(sample) == 50
    assert list(sample) == ["day", "who", "note", "x", "y"]
    assert sample["y"].notna().all()
    assert sample["day"].is_monotonic_increasing


def test_another_number_of_rows_is_refused(tmp_path, monkeypatch):
    packaged(tmp_path, monkeypatch, "t.csv", raw_frame())
    other = RealTable("t", "realtab", "t.csv", 7, "y")
    with pytest.raises(TableMissingError, match="200 rows in the installed realtab"):
        _tables.read_raw(other)
    absent = RealTable("t", "no_such_package", "t.csv", 7, "y")
    with pytest.raises(TableMissingError, match="needs no_such_package"):
        _tables.read_raw(absent)


def test_random_splits_differ_and_are_a_fifth():
    frame = raw_frame()
    tests = [split_rows(TABLE, frame, "random", k)[1] for k in range(3)]
    assert [len(rows) for rows in tests] == [40, 40, 40]
    assert len({tuple(rows) for rows in tests}) == 3


def test_splits_by_time_test_later_blocks_that_follow_each_other():
    frame = raw_frame().sample(frac=1, random_state=1).reset_index(drop=True)
    day = frame["day"].to_numpy()
    ends = []
    for k in range(n_splits("time")):
        train, test = split_rows(TABLE, frame, "time", k)
        assert day[train].max() < day[test].min()
        assert len(test) == 20
        ends += [day[test].min(), day[test].max()]
    assert ends == sorted(ends)
    assert ends[-1] == day.max()
    frame.loc[0, "day"] = None
    train, test = split_rows(TABLE, frame, "time", 4)
    assert 0 not in [*train, *test]


def test_many_rows_of_one_time_stay_together():
    frame = raw_frame().assign(day=np.repeat([2000, 2001], 100))
    train, test = split_rows(TABLE, frame, "time", 3)
    assert (list(train), list(test)) == (list(range(100)), list(range(100, 200)))


def test_splits_by_group_share_no_group():
    frame = raw_frame()
    frame.loc[3, "who"] = None
    for k in range(4):
        train, test = split_rows(TABLE, frame, "group", k)
        groups = frame["who"].to_numpy()
        assert not set(groups[train]) & set(groups[test])
        assert 3 in train
        assert 0.2 <= len(test) / 200 < 0.5


def test_columns_are_read_as_an_analyst_would():
    frame = pd.DataFrame(
        {
            "n": [1, None, 3],
            "text number": ["1.5", None, "2"],
            "date": ["1970-01-02 12:00", None, "0014-11-18"],
            "us": ["02/28/2001", "12/31/1999", "1/1/2000"],
            "word": ["a", None, "b"],
            "flag": [True, False, True],
        }
    )
    reading = _columns.Reading.learn(frame)
    assert reading.numbers == ("n", "text number", "flag")
    assert reading.dates == ("date", "us")
    read = reading.apply(frame)
    assert list(read["word"]) == ["a", _columns.MISSING, "b"]
    assert read["date"].iloc[0] == 1.5
    # 1 January 1970 was a Thursday.
    assert list(read.loc[0, ["date: month", "date: weekday", "date: hour"]]) == [
        1,
        4,
        12,
    ]
    assert read.loc[1, ["n", "date", "date: month"]].isna().all()
    assert read["date"].iloc[2] == -714_093


def test_scores_of_a_density_are_in_standard_deviations():
    y = np.array([1.0, 2.0, 7.0])
    normal = Normal(np.zeros(3), np.full(3, 2.0))
    scores = score(normal, y, 4.0)
    scaled = normal.affine(0.25, 0.0)
    assert scores["crps"] == pytest.approx(metrics.crps(scaled, y / 4))
    assert scores["nll"] == pytest.approx(-metrics.log_likelihood(scaled, y / 4))
    assert scores["rmse"] == pytest.approx(np.sqrt(54 / 3) / 4)
    assert scores["coverage_90"] == pytest.approx(2 / 3)
    assert scores["width_90"] == pytest.approx(2 * 1.6448536 * 2 / 4)
    outside = 20 * (7 - 2 * 1.6448536) / 3 / 4
    assert scores["interval_score_90"] == pytest.approx(scores["width_90"] + outside)


def test_scores_of_quantiles_are_nearly_those_of_their_density():
    y = np.random.default_rng(0).normal(size=2000)
    normal = Normal(np.zeros(2000), np.ones(2000))
    levels = (np.arange(10) + 0.5) / 10
    quantiles = Quantiles(normal.mean, normal.quantile(levels))
    exact, ours = score(normal, y, 2.0), score(quantiles, y, 2.0)
    assert np.isnan(ours.pop("nll"))
    assert ours.pop("crps") == pytest.approx(exact["crps"] * 1.007, rel=0.002)
    for name, value in ours.items():
        assert value == pytest.approx(exact[name])


@pytest.mark.parametrize("name", METHODS)
def test_methods_read_raw_tables(name):
    if not METHODS[name].is_installed:
        pytest.skip(f"{METHODS[name].package} not installed")
    frame = raw_frame(300)
    # A level that training has not seen.
    frame.loc[299, "who"] = "z"
    rows = np.random.default_rng(0).permutation(299)
    settings = json.loads(METHODS[name].settings)
    few = {"iterations": 40, "max_iter": 40, "n_levels": 10}
    settings.update({key: few[key] for key in few if key in settings})
    if name.startswith("betanll"):
        settings.update(n_members=1, max_updates=500)
    train, test = frame.iloc[rows[:240]], frame.iloc[[*rows[240:], 299]]
    prediction = predict(name, train, "y", test, 0, settings=json.dumps(settings))
    scores = score(prediction.predictive, test["y"].to_numpy(), frame["y"].std())
    assert scores["rmse"] < 0.7
    assert 0.6 < scores["coverage_90"] <= 1
    assert prediction.fit_seconds > 0


@pytest.fixture
def table_t(monkeypatch):
    monkeypatch.setitem(_catalogue.TABLES, "t", TABLE)
    monkeypatch.setattr("benchmarks.real_tables._tasks.load", lambda _: raw_frame())


def test_a_refusal_is_a_row_with_its_message(table_t, monkeypatch):
    def refuse(*_, **__):
        raise _methods.RefusalError("column 'note' is odd")

    monkeypatch.setitem(METHODS, "refuses", _methods.Method(refuse, "betanll"))
    (row,) = run_split(
        table="t", kind="random", split=0, method="refuses", settings="{}"
    )
    assert row["refusal"] == "column 'note' is odd"
    assert all(np.isnan(row[name]) for name in SCORES)


def guess(train, target, test, seed):
    mean = np.full(len(test), train[target].mean())
    return Prediction(Normal(mean, np.full(len(test), train[target].std())), 0.1, 0.1)


def test_runs_are_summed_up(table_t, monkeypatch):
    monkeypatch.setitem(METHODS, "catboost", _methods.Method(guess, "betanll"))
    tasks = real_table_tasks(["t"], ["catboost", "ridge"], ["random", "time"], [0, 1])
    assert len(tasks) == 8
    rows = [row for task in tasks for row in run_split(**dict(task.settings))]
    refused = {**rows[-1], "method": "betanll", **dict.fromkeys(SCORES, np.nan)}
    runs = pd.DataFrame(
        [
            *rows,
            *(
                {**refused, "kind": kind, "split": split, "refusal": "no"}
                for kind in ("random", "time")
                for split in (0, 1)
            ),
        ]
    )
    overall = summarise(runs).overall.set_index(["kind", "method"])
    of_ridge = runs[(runs.kind == "random") & (runs.method == "ridge")]["crps"].mean()
    of_guess = runs[(runs.kind == "random") & (runs.method == "catboost")][
        "crps"
    ].mean()
    assert overall.loc[("random", "ridge"), "ratio_crps"] == pytest.approx(
        of_ridge / of_guess
    )
    assert overall.loc[("random", "betanll"), "rank_crps"] == 3
    assert overall.loc[("random", "betanll"), "n_refused"] == 1
    assert overall.loc[("random", "ridge"), "rank_crps"] == 1
    page = render(summarise(runs))
    assert "## Later rows: 1 tables" in page
    # A table that one method lacks does not count.
    lacking = summarise(runs[(runs.method != "ridge") | (runs.kind == "time")])
    assert lacking.counted == {"random": [], "time": ["t"]}
    assert lacking.left_out == ["t, random splits: ridge not run"]


@pytest.mark.parametrize("module", ["_catalogue", "_columns"])
def test_examples_in_docstrings(module):
    result = doctest.testmod(
        importlib.import_module(f"benchmarks.real_tables.{module}")
    )
    assert result.attempted > 0
    assert result.failed == 0


def test_unknown_splits_are_refused():
    with pytest.raises(ValueError, match="5 splits by time, got 5"):
        split_rows(TABLE, raw_frame(), "time", 5)
    plain = RealTable("plain", "p", "t.csv", 200, "y")
    with pytest.raises(ValueError, match="plain has no splits by group"):
        _splits.split_rows(plain, raw_frame(), "group", 0)


def test_errors_of_promises_count_blocks():
    from benchmarks.real_tables.promises import _blocks, _error

    values = np.random.default_rng(0).normal(size=60)
    alone = np.std(values, ddof=1) / np.sqrt(60)
    assert _error(values, np.arange(60)) == pytest.approx(alone)
    assert _error(values, np.zeros(60, int)) == pytest.approx(alone)
    # Each row four times says no more than once.
    assert _error(np.repeat(values, 4), np.repeat(np.arange(60), 4)) == pytest.approx(
        alone
    )
    days = pd.Series(pd.date_range("2020-01-01", periods=200)).repeat(2)
    assert np.bincount(_blocks(days, "time")).tolist() == [8] * 50
    assert _blocks(pd.Series(list("bab")), "group").tolist() == [0, 1, 0]
