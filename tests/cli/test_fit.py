import errno
import json
import os
import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betanll.cli import options
from betanll.estimators import HeteroscedasticRegressor
from betanll.estimators._presets import PRESETS
from betanll.tables import TableModel
from betanll.tables._training import split_rows

FILES = ["model/model.json", "model/weights-*.safetensors", "report.html"]


def row_of(printed, name):
    """Return the numbers that a line of the printed table has after its name."""
    (line,) = [line for line in printed.splitlines() if line.startswith(name)]
    return [float(cell.rstrip("%")) for cell in line.removeprefix(name).split()]


def assert_finite(report):
    text = re.sub(r"<style.*?</style>", "", report.read_text(), flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf)\b", text, re.IGNORECASE)


def test_presets_are_those_of_the_library():
    assert tuple(PRESETS) == options.PRESETS


def test_fit_prints_scores_of_held_out_rows_next_to_baselines(fitted, frame):
    printed = (fitted / "printed.txt").read_text()
    assert "training on 32 rows, 8 rows held out" in printed
    assert "covers 50%  covers 90%  covers 95%" in printed
    train, test = split_rows(40, 0.2, 0)
    assert sorted([*train, *test]) == list(range(40))
    model = HeteroscedasticRegressor.load(fitted / "model")
    X, y = frame[["a", "b", "c"]], frame[["y"]].to_numpy()
    predictive = model.predict_dist(X.iloc[test])
    rmse = np.sqrt(np.mean((predictive.mean - y[test]) ** 2))
    inside = [
        100 * np.mean((low <= y[test]) & (y[test] <= high))
        for low, high in (
            np.moveaxis(predictive.interval(level), 1, 0) for level in (0.5, 0.9, 0.95)
        )
    ]
    numbers = row_of(printed, "this model")
    assert numbers[0] == pytest.approx(rmse, rel=1e-3)
    likelihood = np.mean(predictive.log_prob(y[test]))
    assert numbers[1] == pytest.approx(likelihood, rel=1e-3)
    assert numbers[3:] == pytest.approx(inside)
    # the baselines
    constant = np.sqrt(np.mean((y[test] - y[train].mean()) ** 2))
    assert row_of(printed, "constant")[0] == pytest.approx(constant, rel=1e-3)
    assert row_of(printed, "ridge, constant spread")[0] < constant
    assert len(row_of(printed, "same network, plain NLL")) == 6
    # the verdict
    assert "note: Only 8 rows were held out" in printed
    assert f"Model:  {fitted / 'model'}\nReport: {fitted / 'report.html'}" in printed
    assert "Replaced" not in printed


def test_report_tells_the_same(fitted):
    page = (fitted / "report.html").read_text()
    assert "y in data.csv" in page
    assert "betanll fit" in page
    assert "Only 8 rows were held out" in page


def test_same_seed_same_bits_whatever_the_jobs(
    fitted, data, tmp_path, run, quick, contents
):
    options = ["fit", data, "--target", "y", "--id", "id", *quick]
    for jobs in (1, 3):
        out = tmp_path / f"jobs-{jobs}"
        assert run(*options, "--jobs", jobs, "--out", out).code == 0
        assert all(map(fnmatch, sorted(contents(out)), FILES))
        assert contents(out / "model") == contents(fitted / "model")
        assert run("predict", out, data, "--out", out / "p.csv").code == 0
    again = [(tmp_path / f"jobs-{jobs}" / "p.csv").read_bytes() for jobs in (1, 3)]
    assert again[0] == again[1]
    # another seed takes the place of the older model
    before = contents(out / "model")
    outcome = run(*options, "--seed", "1", "--out", out)
    assert outcome.code == 0
    assert outcome.out.endswith(
        "\nReplaced the model and the report of an earlier fit.\n"
    )
    assert contents(out / "model") != before


def test_every_kind_of_column(frame, save, tmp_path, training_data):
    frame["b"] = np.where(np.arange(40) % 3, "yes", "no")
    frame["c"] = np.where(np.arange(40) % 2, "red", "green")
    frame.loc[[3, 5, 8], "a"] = np.nan
    frame.loc[39, "y"] = np.nan
    options = ["--target", "y", "--drop", "id", "--out", tmp_path / "out"]
    printed, (X, y), (X_test, y_test) = training_data([save(frame), *options])
    assert "Note: 1 row without any target left out." in printed
    train, test = split_rows(39, 0.2, 0)
    np.testing.assert_array_equal(y[:, 0], frame["y"][train])
    np.testing.assert_array_equal(y_test[:, 0], frame["y"][test])
    rows = frame[["a", "b", "c"]]
    pd.testing.assert_frame_equal(X, rows.iloc[train], check_dtype=False)
    pd.testing.assert_frame_equal(X_test, rows.iloc[test], check_dtype=False)
    lines = [line.split() for line in printed.splitlines()]
    assert ["a", "number", "7.5%"] in [words[:3] for words in lines]
    assert ["b", "boolean", "65%", "true"] in lines
    assert ["c", "category", "'green',", "'red'"] in lines


def test_a_rare_answer_may_be_held_out(frame, save, tmp_path, run, quick):
    _, test = split_rows(40, 0.2, 0)
    frame["b"] = np.where(np.arange(40) % 3, "yes", "no")
    frame.loc[test[0], "b"] = "unknown"
    path, out = save(frame[["b", "y"]]), tmp_path / "out"
    assert run("fit", path, "--target", "y", *quick, "--out", out).code == 0
    (column,) = TableModel.load(out / "model").schema.encoder.columns
    assert column.kind == "category"


def test_gaps_are_filled_with_what_training_rows_say(
    frame, save, tmp_path, run, quick, contents
):
    _, test = split_rows(40, 0.2, 0)
    frame.loc[test[0], "a"] = np.nan
    options = ["--target", "y", "--drop", "id", *quick]
    for name, value in (("one", 1e3), ("two", -1e3)):
        frame.loc[test[1], "a"] = value
        path = save(frame)
        assert run("fit", path, *options, "--out", tmp_path / name).code == 0
    assert contents(tmp_path / "one/model") == contents(tmp_path / "two/model")


def test_several_targets_some_of_them_missing(frame, save, tmp_path, run, quick):
    frame["z"] = 1e30 * frame["b"] + 1
    frame.loc[:9, "y"] = np.nan
    frame.loc[5:14, "z"] = np.nan
    out = tmp_path / "out"
    outcome = run(
        *("fit", save(frame), "--target", "z", "--target", "y", "--drop", "id"),
        *(*quick, "--objective", "nll", "--out", out),
    )
    assert outcome.code == 0
    assert "same network, plain NLL" not in outcome.out  # it is the model
    assert "Note: 5 rows without any target left out." in outcome.out
    assert "Note: 10 missing targets do not count in training." in outcome.out
    assert_finite(out / "report.html")
    # A table and a verdict for each, in its own unit.
    titles = [line.split()[0] for line in outcome.out.splitlines() if "RMSE" in line]
    assert titles == ["z", "y"]
    guesses = [
        line for line in outcome.out.splitlines() if line.startswith("constant ")
    ]
    large, small = (float(line.split()[1]) for line in guesses)
    assert large > 1e28
    assert small < 1e2
    marks = ("ok: ", "note: ", "WARNING: ")
    said = [line for line in outcome.out.splitlines() if line.startswith(marks)]
    about = {line.split(": ")[1] for line in said}
    assert {"y", "z"} <= about
    # z is 1e30 times the column b
    (leak,) = [line for line in said if "almost exactly" in line]
    assert leak.startswith("WARNING: z: Column 'b' explains the target almost exactly")
    assert "leave it out with --drop b." in leak
    assert run("predict", out, tmp_path / "data.csv", "--out", out / "p.csv").code == 0
    table = pd.read_csv(out / "p.csv")
    parts = ("mean", "std", "lower", "upper")
    assert list(table) == [f"{name}_{part}" for name in "zy" for part in parts]
    model = TableModel.load(out / "model")
    expected = model.predict(frame)
    np.testing.assert_allclose(table, expected, rtol=1e-9)


def test_category_that_gives_the_target_away_is_named_by_its_column(
    make_frame, save, tmp_path, run, quick
):
    # Each of twelve levels has one value of the target.
    frame = make_frame(60)
    level = np.arange(60) % 12
    frame["y"] = np.random.default_rng(0).normal(size=12)[level]
    frame["level"] = [f"level {i}" for i in level]
    path, out = save(frame[["a", "b", "level", "y"]]), tmp_path / "out"
    outcome = run("fit", path, "--target", "y", *quick, "--out", out)
    assert "WARNING: Column 'level' explains the target almost exactly" in outcome.out
    assert outcome.out.count("--drop level.") == 1


def test_names_are_found_or_made_up(frame, save, tmp_path, run, refused, quick):
    frame = frame.drop(columns="id")
    path = save(frame.to_csv(index=False, header=False))
    options = [*quick, "--out", tmp_path / "out"]
    assert run("fit", path, "--target", "column_4", *options).code == 0
    assert "no column 'y'" in refused("fit", path, "--target", "y", *options)
    # the index that pandas wrote
    path = save(frame.to_csv())
    outcome = run("fit", path, "--target", "y", "--drop", "column_1", *options)
    assert outcome.code == 0
    assert "Note: " not in outcome.out


def test_constant_column_is_named_and_ignored(frame, save, tmp_path, run, quick):
    frame["b"] = 7
    options = ["--target", "y", "--drop", "id", *quick, "--out", tmp_path / "out"]
    outcome = run("fit", save(frame), *options)
    assert outcome.code == 0
    assert "Note: column 'b' has one value and says nothing." in outcome.out


@pytest.mark.parametrize("command", ["fit", "compare", "diagnose"])
def test_row_number_is_named_with_the_option_that_drops_it(
    frame, save, run, command, monkeypatch
):
    def stop(*arguments, **options):
        raise ValueError("stopped")

    for name in ("assess", "compare", "diagnose"):
        monkeypatch.setattr(f"betanll.evaluation.{name}", stop)
    frame = frame.rename(columns={"id": "row id"})
    frame.loc[7, "y"] = np.nan  # the row without a target breaks the count
    path = save(frame)
    note = (
        "Note: column 'row id' counts the rows and is used as an input; if it is only "
        "a row number, leave it out with --drop 'row id'.\n"
    )
    outcome = run(command, path, "--target", "y")
    assert outcome.out.count(note) == 1
    assert outcome.err == "betanll: stopped\n"
    for option in ("--drop", "--id"):
        outcome = run(command, path, "--target", "y", option, "row id")
        assert "counts the rows" not in outcome.out
        assert outcome.err == "betanll: stopped\n"
    # The index that pandas wrote, in order and shuffled.
    for n, counts in ((40, "counts the rows and is"), (30, "is")):
        rows = frame.drop(columns="row id").sample(n, random_state=0)
        rows.to_csv(path)
        outcome = run(command, path, "--target", "y")
        assert outcome.out.count("'column_1'") == outcome.out.count("--drop") == 1
        assert (
            f"Note: column 'column_1' had no name and {counts} used as an input; if it "
            "is only a row number, leave it out with --drop column_1.\n"
        ) in outcome.out
    # A series of one input may be over time.
    path = save(frame[["row id", "y"]], "series.csv")
    assert "counts the rows" not in run(command, path, "--target", "y").out


@pytest.mark.parametrize("y_scale", [1e30, 1e-30])
@pytest.mark.parametrize("x_scale", [1e30, 1e-30])
def test_extreme_scales(frame, save, tmp_path, run, quick, fitted, x_scale, y_scale):
    frame[["a", "b", "c"]] *= x_scale
    frame["y"] *= y_scale
    out, path = tmp_path / "out", save(frame)
    outcome = run("fit", path, "--target", "y", "--id", "id", *quick, "--out", out)
    assert outcome.code == 0
    assert outcome.err == ""
    assert_finite(out / "report.html")
    # the same story in other units
    plain = (fitted / "printed.txt").read_text()
    for name in ("this model", "ridge, constant spread", "constant"):
        numbers, expected = row_of(outcome.out, name), row_of(plain, name)
        assert numbers[0] == pytest.approx(y_scale * expected[0], rel=0.01)
        assert numbers[2] == pytest.approx(y_scale * expected[2], rel=0.01)
        shift = numbers[1] - expected[1]
        assert shift == pytest.approx(-np.log(y_scale), rel=1e-2)
    assert run("predict", out, path, "--out", out / "p.csv").code == 0
    mean = pd.read_csv(out / "p.csv")["y_mean"] / y_scale
    assert np.corrcoef(mean, frame["y"] / y_scale)[0, 1] > 0.7


def test_calibration_and_beta_reach_the_model(make_frame, save, tmp_path, run, quick):
    path, out = save(make_frame(50)), tmp_path / "out"
    options = [*quick, "--beta", "1", "--calibration", "conformal", "--out", out]
    outcome = run("fit", path, "--target", "y", "--drop", "id", *options)
    assert outcome.code == 0
    model = HeteroscedasticRegressor.load(out / "model")
    assert model.beta_ == 1
    assert len(model.conformal_scores_[0]) == 8
    assert "some of them are infinite" in outcome.out
    document = json.loads((out / "model/model.json").read_text())
    assert document["configuration"]["parameters"]["n_jobs"] is None


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text elsewhere")
def test_file_name_that_is_no_text(frame, tmp_path, run, quick):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.csv"))
    frame.to_csv(path, index=False)
    command = ("fit", path, "--target", "y", "--drop", "id", *quick)
    assert run(*command, "--out", tmp_path / "out").code == 0
    assert "y in odd?.csv" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("n_before", [0, 1, 3])
def test_full_disk_leaves_model_and_report(
    fitted, data, tmp_path, run, refused, quick, contents, monkeypatch, n_before
):
    out = tmp_path / "out"
    options = ["fit", data, "--target", "y", "--drop", "id", *quick, "--out", out]
    if n_before:
        assert run(*options, "--seed", "2").code == 0
    before = contents(out) if out.exists() else None
    sync, calls = os.fsync, []

    def fail(handle):
        calls.append(handle)
        if len(calls) > n_before:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    monkeypatch.setattr("os.fsync", fail)
    line = refused(*options)
    monkeypatch.undo()
    file = "model" if n_before else "report.html"
    assert line == f"betanll: {out / file} cannot be written: No space left on device"
    if before is None:
        assert not out.exists()
    else:
        assert contents(out) == before


def test_exponents_above_one_bring_a_note(data, training_data):
    options = [data, "--target", "y", "--drop", "id"]
    note = "Note: beta = 3 is unusual: above 1, rows with a large predicted variance"
    printed, *_ = training_data([*options, "--beta", "3"])
    assert printed.count(note) == 1
    for beta in ("1", "auto"):
        printed, *_ = training_data([*options, "--beta", beta])
        assert "unusual" not in printed


def test_notes_are_short_and_printable(frame, save, run, monkeypatch):
    def stop(*arguments, **options):
        raise ValueError("stopped")

    monkeypatch.setattr("betanll.evaluation.assess", stop)
    names = {"id": "\x1b[31m" + "i" * 5000, "b": "b" * 5000, "c": "c" * 5000}
    frame["b"] = 7
    frame["c"] = [f"${i % 7}" for i in range(40)]
    outcome = run("fit", save(frame.rename(columns=names)), "--target", "y")
    notes = [line for line in outcome.out.splitlines() if line.startswith("Note: ")]
    assert len(notes) == 3
    assert all(note.isprintable() and len(note) <= 300 for note in notes)
