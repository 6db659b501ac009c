import errno
import gzip
import os
import resource

import numpy as np
import pandas as pd
import pytest

from betanll.estimators import HeteroscedasticRegressor
from betanll.tables import TableModel


@pytest.fixture
def predicted(fitted, run, tmp_path):
    """A function of a file and options that returns the outcome and the table."""

    def predict(path, *options, model=fitted):
        out = tmp_path / "predictions.csv"
        outcome = run("predict", model, path, *options, "--out", out)
        assert outcome.code == 0, outcome
        return outcome, pd.read_csv(out, dtype={"id": str})

    return predict


def test_columns_and_numbers(fitted, data, frame, predicted):
    outcome, table = predicted(data)
    assert outcome.out.startswith("40 rows: ")
    assert outcome.err == ""
    assert list(table) == ["id", "y_mean", "y_std", "y_lower", "y_upper"]
    assert list(table["id"]) == list(frame["id"])
    assert table["id"][7] == "007"
    model = HeteroscedasticRegressor.load(fitted / "model")
    X = frame[["a", "b", "c"]]
    mean, std = model.predict(X, return_std=True)
    expected = np.column_stack([mean, std, *model.predict_interval(X, 0.9).T[0]])
    np.testing.assert_allclose(table.iloc[:, 1:], expected, rtol=1e-6)
    # the folder itself, and another coverage
    _, wide = predicted(data, "--coverage", "0.99", model=fitted / "model")
    np.testing.assert_array_equal(wide["y_mean"], table["y_mean"])
    np.testing.assert_allclose(
        wide[["y_lower", "y_upper"]],
        model.predict_interval(X, 0.99)[:, :, 0],
        rtol=1e-6,
    )


@pytest.mark.parametrize("members", ["1", "2"])
def test_chunks_change_no_byte(data, frame, save, run, tmp_path, quick, members):
    rng = np.random.default_rng(1)
    rows = frame.sample(3000, replace=True, random_state=0, ignore_index=True)
    rows[["a", "b"]] += rng.normal(size=(3000, 2))
    rows.loc[::7, "c"] = np.nan
    long, out = save(rows, "long.csv"), tmp_path / "out"
    options = ["--id", "id", *quick, "--members", members, "--out", out]
    assert run("fit", data, "--target", "y", *options).code == 0
    texts = set()
    for n in ("100000", "2999", "256", "97"):
        path = tmp_path / f"{n}.csv"
        outcome = run("predict", out, long, "--chunk-rows", n, "--out", path)
        assert outcome.code == 0
        assert "429 missing cells (none in training)" in outcome.out
        texts.add(path.read_bytes())
    assert len(texts) == 1
    # compressed, and twice the same
    for name in ("one.csv.gz", "two.csv.gz"):
        assert run("predict", out, long, "--out", tmp_path / name).code == 0
    one, two = ((tmp_path / f"{i}.csv.gz").read_bytes() for i in ("one", "two"))
    assert one == two
    assert {gzip.decompress(one)} == texts


def test_spread_survives_a_large_offset(frame, save, run, tmp_path, quick):
    frame["y"] = 1.7e9 + 1e-3 * frame["y"]
    path, out = save(frame.drop(columns="id")), tmp_path / "out"
    assert run("fit", path, "--target", "y", *quick, "--out", out).code == 0
    assert run("predict", out, path, "--out", out / "p.csv").code == 0
    table = pd.read_csv(out / "p.csv")
    assert np.all(table["y_lower"] < table["y_mean"])
    assert np.all(table["y_mean"] < table["y_upper"])
    width = table["y_upper"] - table["y_lower"]
    np.testing.assert_allclose(width, 2 * 1.6449 * table["y_std"], rtol=1e-2)


def test_other_columns_and_another_order(data, frame, save, predicted):
    _, expected = predicted(data)
    frame["more"] = "text"
    shuffled = frame[["more", "c", "id", "a", "b"]]
    _, table = predicted(save(shuffled, "other.csv"))
    pd.testing.assert_frame_equal(table, expected)


def test_surprises_are_counted(frame, save, tmp_path, run, quick):
    frame["c"] = np.where(np.arange(40) % 2, "red", "green")
    frame = frame.drop(columns=["id", "b"])
    out, path = tmp_path / "out", save(frame)
    assert run("fit", path, "--target", "y", *quick, "--out", out).code == 0
    frame.loc[:2, "c"] = "blue"
    frame.loc[3, "a"] = np.nan
    outcome = run("predict", out, save(frame), "--out", tmp_path / "p.csv")
    assert outcome.code == 0
    assert "Note: column 'c': 3 cells with a category that is not" in outcome.out
    assert "Note: column 'a': 1 missing cell (none in training)" in outcome.out
    table = pd.read_csv(tmp_path / "p.csv")
    assert np.all(np.isfinite(table))


def test_what_the_table_must_have(fitted, frame, save, refused, tmp_path):
    def refuse(content):
        line = refused("predict", fitted, save(content), "--out", tmp_path / "p.csv")
        assert not (tmp_path / "p.csv").exists()
        return line.removeprefix(f"betanll: {tmp_path / 'data.csv'}: ")

    line = refuse(frame.drop(columns=["a", "c"]))
    assert line.startswith("the table lacks the columns 'a', 'c' among 'id', 'b', 'y'")
    assert refuse(frame.drop(columns="id")).startswith(
        "the table lacks the column 'id'"
    )
    assert "use --header" in refuse(frame.to_csv(index=False, header=False))
    # cells, with the row of the file
    frame["b"] = frame["b"].astype(object)
    frame.loc[30, "b"] = "many"
    assert refuse(frame) == "column 'b', row 31: 'many' is not a number"
    frame.loc[30, "b"] = "inf"
    assert refuse(frame) == "column 'b', row 31: inf is not a finite number"


def test_index_of_pandas_is_not_used(
    fitted, frame, data, predicted, training_data, refused, tmp_path
):
    pytest.importorskip("pyarrow")
    path = tmp_path / "data.parquet"
    frame.sample(40, random_state=0).to_parquet(path)
    options = ["--target", "y", "--drop", "id", "--out", tmp_path / "out"]
    printed, (X, _), _ = training_data([path, *options])
    assert X.shape == (32, 3)
    assert "Note" not in printed
    # The same file for a model of a text file
    outcome, table = predicted(path)
    assert "Note" not in outcome.out
    expected = predicted(data)[1].set_index("id")
    pd.testing.assert_frame_equal(table.set_index("id").sort_index(), expected)
    # A named index is left out with a note.
    frame.set_index("a").to_parquet(path)
    printed, (X, _), _ = training_data([path, *options])
    assert X.shape == (32, 2)
    assert "Note: 'a' is the index of the pandas table and not used" in printed
    line = refused("predict", fitted, path, "--out", tmp_path / "p.csv")
    assert "lacks the column 'a'" in line


def test_row_numbers_count_on_in_later_chunks(fitted, frame, save, refused, tmp_path):
    frame.loc[30, "b"] = np.inf
    options = ["--chunk-rows", "7", "--out", tmp_path / "p.csv"]
    assert "row 31: inf" in refused("predict", fitted, save(frame), *options)
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_input_is_never_replaced(fitted, data, refused):
    before = data.read_bytes()
    assert "would replace the input" in refused("predict", fitted, data, "--out", data)
    assert data.read_bytes() == before


def test_full_disk_leaves_the_older_file(
    fitted, data, save, refused, tmp_path, monkeypatch
):
    out = save("older\n", "p.csv")

    def fail(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    line = refused("predict", fitted, data, "--out", out)
    assert line == f"betanll: {out} cannot be written: No space left on device"
    assert out.read_text() == "older\n"
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "p.csv"]


def test_disk_that_fills_up_on_the_way(fitted, frame, save, refused, tmp_path):
    path = save(frame.sample(3000, replace=True, random_state=0))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        line = refused("predict", fitted, path, "--out", tmp_path / "p.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert line == f"betanll: {tmp_path / 'p.csv'} cannot be written: File too large"
    assert os.listdir(tmp_path) == ["data.csv"]


def test_model_of_another_version_works_with_a_note(
    fitted, data, predicted, monkeypatch
):
    monkeypatch.setattr("betanll.estimators._model_folder.__version__", "99.0")
    outcome, table = predicted(data)
    assert outcome.err.startswith(f"Note: {fitted / 'model'} was written by betanll ")
    assert outcome.err.endswith("this is betanll 99.0\n")
    assert len(table) == 40


def test_python_reads_the_model_too(fitted, frame):
    model = TableModel.load(fitted / "model")
    table = model.predict(frame)
    assert list(table["id"]) == list(frame["id"])
