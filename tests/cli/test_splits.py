"""``--time``, ``--group``, ``--folds`` and ``--training-rows``."""

import json

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableModel


@pytest.fixture
def fit(save, run, tiny, tmp_path):
    """A function of a table and options that runs ``fit`` and returns its outcome."""

    def run_fit(frame, *options):
        out = ["--out", tmp_path / "out"]
        outcome = run("fit", save(frame), "--target", "y", *tiny, *options, *out)
        assert outcome.code == 0, outcome
        return outcome

    return run_fit


def test_the_latest_rows_judge(fit, frame):
    frame["day"] = [f"2020-01-{1 + i % 20:02d}" for i in range(40)]
    printed = fit(frame, "--drop", "id", "--time", "day").out
    assert "training on 32 rows, 8 rows held out; then training on all 40." in printed
    assert "The delivered model was then trained on all 40 rows" in printed


def test_whole_groups_judge(fit, frame, tmp_path):
    frame["id"] = [f"g{i % 5}" for i in range(40)]
    printed = fit(frame, "--group", "id", "--folds", "5").out
    assert "Note: column 'id' is no input: new groups have other labels." in printed
    assert "5 folds judge models without their rows; the delivered model" in printed
    page = (tmp_path / "out" / "report.html").read_text()
    assert "40 in 5 folds, whole groups" in page
    assert "id" not in TableModel.load(tmp_path / "out").predict(frame)


def test_few_rows_are_judged_in_folds(fit, frame):
    assert "5 folds judge models" in fit(frame.drop(columns="id")).out


def test_sorted_dates_are_noticed(fit, frame):
    frame["day"] = pd.date_range("2020-01-01", periods=40).strftime("%Y-%m-%d")
    printed = fit(frame.drop(columns="id"), "--training-rows").out
    assert "judge it by --time day." in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--folds", "3", "--test-fraction", "0.2"], "give --test-fraction or --folds"),
        (["--folds", "21"], "--folds 21 is too many for 40 rows: take at most 20"),
        (["--folds", "1"], "1 is not in the range"),
        (
            ["--folds", "3", "--training-rows"],
            "needs a single held-out part",
        ),
        (["--time", "day"], "there is no column 'day'"),
        (["--time", "a", "--group", "id"], "by time or by group: give one of them"),
    ],
)
def test_useless_options_are_refused(refused, data, tmp_path, options, message):
    out = tmp_path / "out"
    line = refused("fit", data, "--target", "y", *options, "--out", out)
    assert message in line
    assert not out.exists()


def test_compare_and_diagnose_split_by_the_column(run, save, frame, tiny, monkeypatch):
    frame["who"] = np.arange(40) // 4
    data = save(frame.drop(columns="id"))
    table = ["--target", "y", "--group", "who"]
    outcome = run("compare", data, *table, "--objective", "mse", *tiny, "--folds", "2")
    assert outcome.code == 0, outcome
    settings = ["--hidden", "4", "--max-updates", "20", "--json"]
    outcome = run("diagnose", data, *table, *settings)
    assert outcome.code == 0, outcome
    found = json.loads(outcome.out)
    assert found["n_test_rows"] % 4 == found["n_training_rows"] % 4 == 0
