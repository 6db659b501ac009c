"""Files of all formats, the standard input and the standard output."""

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from betanll.estimators import HeteroscedasticRegressor
from betanll.tables import TableModel, TrainingTable


@pytest.fixture
def stdin(monkeypatch):
    """A function that lets a command read bytes from the standard input."""

    def give(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


@pytest.fixture
def expected(fitted, data, run, tmp_path):
    """The predictions of the table as a CSV file, as bytes."""
    assert run("predict", fitted, data, "--out", tmp_path / "e.csv").code == 0
    return (tmp_path / "e.csv").read_bytes()


def as_excel(frame, path):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"note": ["nothing here"]}).to_excel(book, sheet_name="About")
        frame.to_excel(book, sheet_name="Data", index=False)


def test_predictions_do_not_depend_on_the_format(
    fitted, frame, expected, run, tmp_path
):
    text = frame.to_csv(index=False)
    files = {
        "t.csv.gz": lambda path: path.write_bytes(gzip.compress(text.encode())),
        "u16.csv": lambda path: path.write_text("# by Ann\n" + text, "utf-16"),
        "t.jsonl": lambda path: frame.to_json(
            path, orient="records", lines=True, double_precision=15
        ),
        "skip.csv": lambda path: path.write_text(f"Report\n\n{text}"),
        "t.xlsx": lambda path: as_excel(frame, path),
    }
    options = {"skip.csv": ["--skip-rows", "1"], "t.xlsx": ["--sheet", "Data"]}
    for name, write in files.items():
        write(tmp_path / name)
        out = tmp_path / "p.csv"
        outcome = run(
            *("predict", fitted, tmp_path / name, *options.get(name, ())),
            *("--out", out, "--chunk-rows", "7"),
        )
        assert outcome.code == 0, (name, outcome)
        table = pd.read_csv(out, dtype={"id": str})
        wanted = pd.read_csv(io.BytesIO(expected), dtype={"id": str})
        pd.testing.assert_frame_equal(table, wanted, rtol=1e-6)
        assert ("# by Ann" in outcome.out) == (name == "u16.csv")


# Standard input and output


def test_from_the_standard_input(fitted, data, expected, run, stdin, tmp_path):
    content = data.read_bytes()
    for packed in (content, gzip.compress(content)):
        stdin(packed)
        outcome = run("predict", fitted, "-", "--out", tmp_path / "p.csv")
        assert outcome.code == 0, outcome
        assert (tmp_path / "p.csv").read_bytes() == expected


def test_to_the_standard_output(fitted, frame, save, expected, run):
    path = save(frame)
    outcome = run("predict", fitted, path, "--out", "-", "--chunk-rows", "7")
    assert outcome.code == 0
    assert outcome.out.encode() == expected
    assert outcome.err.startswith("40 rows: standard output\n")
    # Notes do not get between the rows.
    frame.loc[3, "a"] = np.nan
    outcome = run("predict", fitted, save(frame), "--out", "-")
    assert outcome.out.count("\n") == 41
    assert outcome.err.startswith("Note: column 'a': 1 missing cell")


def test_nothing_is_written_to_the_standard_output_before_all_is_well(
    fitted, frame, save, run
):
    frame.loc[39, "a"] = np.inf
    outcome = run("predict", fitted, save(frame), "--out", "-", "--chunk-rows", "7")
    assert outcome.code == 2
    assert outcome.out == ""
    assert "column 'a', row 40: inf is not a finite number" in outcome.err


@pytest.mark.cluster
def test_a_pipe_through_predict(fitted, data, expected):
    command = [sys.executable, "-m", "betanll", "predict", str(fitted), "-"]
    piped = {"input": data.read_bytes(), "capture_output": True, "check": True}
    done = subprocess.run([*command, "--out", "-"], **piped)
    assert done.stdout.replace(b"\r\n", b"\n") == expected
    if os.name != "nt":
        shell = " ".join([*command, "--out", "-", "|", "true"])
        done = subprocess.run(shell, shell=True, **piped)
        assert b"Error" not in done.stderr


def test_commands_call_the_standard_input_by_its_name(refused, stdin):
    for command in ("fit", "compare", "diagnose"):
        stdin(b"a,y\n1,2\n")
        line = refused(command, "-", "--target", "y")
        assert line.startswith("betanll: standard input has 1 row with a target; at ")
        stdin(b"")
        line = refused(command, "-", "--target", "y")
        assert line == "betanll: standard input: the file is empty"


def test_fit_reads_the_standard_input(data, stdin, training_data, tmp_path):
    stdin(data.read_bytes())
    options = ["--target", "y", "--id", "id", "--out", tmp_path / "out"]
    printed, (X, _), _ = training_data(["-", *options])
    assert "standard input: training on 32 rows, 8 rows held out;" in printed
    assert X.shape == (32, 3)


# Parquet


def test_predictions_in_parquet(fitted, data, expected, run, tmp_path):
    pytest.importorskip("pyarrow")
    out = tmp_path / "p.parquet"
    outcome = run("predict", fitted, data, "--out", out, "--chunk-rows", "7")
    assert outcome.out.startswith(f"40 rows: {out}\n")
    wanted = pd.read_csv(io.BytesIO(expected), dtype={"id": str})
    pd.testing.assert_frame_equal(pd.read_parquet(out), wanted, rtol=1e-8)


def test_ids_in_parquet_keep_their_type(fitted, frame, run, tmp_path):
    pytest.importorskip("pyarrow")
    source, out = tmp_path / "t.parquet", tmp_path / "p.parquet"
    frame.assign(id=range(40)).to_parquet(source)
    options = ["--out", out, "--chunk-rows", "7"]
    assert run("predict", fitted, source, *options).code == 0
    assert pd.read_parquet(out)["id"].tolist() == list(range(40))
    ids = pd.array([*range(39), None], "Int64")
    frame.assign(id=ids).to_parquet(source)
    assert run("predict", fitted, source, *options).code == 0
    assert pd.read_parquet(out)["id"].isna().tolist() == [False] * 39 + [True]


def test_parquet_without_pyarrow(fitted, data, refused, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    line = refused("predict", fitted, data, "--out", tmp_path / "p.parquet")
    assert "Parquet files need pyarrow: install betanll[parquet]" in line


# Missing cells


def test_the_model_keeps_the_markers(frame, save, run, tmp_path, quick):
    frame["c"] = frame["c"].round(2).astype(str)
    frame.loc[[3, 5], "c"], frame.loc[[7, 8], "a"] = "n.d.", -99
    frame.loc[39, "y"] = -99
    out, path = tmp_path / "out", save(frame)
    markers = ["--na-values", "-99", "--na-values", "n.d."]
    outcome = run("fit", path, "--target", "y", "--id", "id", *markers, *quick,
                  "--out", out)  # fmt: skip
    assert outcome.code == 0, outcome
    assert "Note: 1 row without any target left out." in outcome.out
    outcome = run("predict", out, path, "--out", "-")
    assert outcome.code == 0, outcome
    assert outcome.err.startswith("40 rows: standard output\n")
    table = pd.read_csv(io.StringIO(outcome.out))
    # Python knows them, too, whichever way the model is loaded.
    gaps = frame.assign(
        a=frame["a"].replace(-99, np.nan), c=pd.to_numeric(frame["c"], errors="coerce")
    )
    model = TableModel.load(out)
    for given in (frame, gaps):
        np.testing.assert_allclose(model.predict(given)["y_mean"], table["y_mean"])
    regressor = HeteroscedasticRegressor.load(out / "model")
    np.testing.assert_allclose(
        regressor.predict(frame[[*"abc"]])[:, 0], table["y_mean"], rtol=1e-5
    )
    # Markers of the new table count beside them.
    frame.loc[[3, 5], "c"] = "lost"
    outcome = run("predict", out, save(frame), "--na-values", "lost", "--out", "-")
    assert outcome.code == 0, outcome
    np.testing.assert_allclose(
        pd.read_csv(io.StringIO(outcome.out))["y_mean"], table["y_mean"]
    )


def test_markers_in_python(frame):
    frame.loc[:4, "a"] = -99
    table = TrainingTable.read(frame, "y", ids=["id"], na_values=-99)
    assert table.frame["a"].isna().sum() == 5
    assert table.schema.encoder.missing == ("-99",)
    assert frame["a"].notna().all()


# Options


@pytest.mark.parametrize("command", ["fit", "compare", "diagnose"])
def test_options_of_reading(command, data, save, refused, tmp_path):
    bad = save("größe;y\n1;2\n", "t.csv")
    bad.write_bytes("größe;y\n1;2\n".encode("cp1252"))
    for arguments, sentence in (
        ([data, "--encoding", "klingon"], "there is no encoding 'klingon': take for i"),
        ([data, "--skip-rows", "-1"], "'--skip-rows': -1 is not in the range"),
        ([data, "--skip-rows", "99"], "nothing follows the skipped 99 lines"),
        ([data, "--sheet", "x"], "--sheet means nothing in text files"),
        ([bad, "--encoding", "utf-8"], "the text is not UTF-8: name its encoding with"),
    ):
        assert sentence in refused(command, *arguments, "--target", "y")


def test_findings_are_notes(save, run, tmp_path):
    path = save("", "t.csv")
    path.write_bytes("# by Ann\nort,y,y\nKöln,2,3\n".encode("cp1252"))
    outcome = run("fit", path, "--target", "y", "--out", tmp_path / "out")
    assert "has 1 row with a target" in outcome.err
    frame = "# by Ann\nort,y,y\n" + "".join(f"Köln,{i},{i}\n" for i in range(12))
    path.write_bytes(frame.encode("cp1252"))
    table = TrainingTable.read(path, "y")
    assert [note.split(" ")[:4] for note in table.notes] == [
        ["the", "text", "is", "not"],
        ["the", "comment", "'#", "by"],
        ["the", "name", "'y'", "is"],
    ]
    assert [line.name for line in table.columns] == ["ort", "y.2"]
