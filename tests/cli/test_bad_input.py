"""Everything that a user may get wrong: one line, code 2, and nothing left behind."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from betanll.estimators import _model_folder
from betanll.estimators._model_folder import read_model, write_model


@pytest.fixture
def refused_fit(refused, save, tmp_path):
    """A function of a table and options that returns the complaint of ``fit``."""

    def refuse(content, *options, target="y"):
        path = content if hasattr(content, "exists") else save(content)
        out = tmp_path / "out"
        line = refused(
            *("fit", path, "--target", target, "--max-updates", 10**9),
            *(*options, "--out", out),
        )
        assert not out.exists()
        return line.removeprefix("betanll: ").removeprefix(f"{tmp_path}{os.sep}")

    return refuse


# Tables


def test_too_few_rows(frame, refused_fit):
    for n, counted in ((1, "1 row"), (2, "2 rows"), (9, "9 rows")):
        line = refused_fit(frame[:n])
        assert line == f"data.csv has {counted} with a target; at least 10 are needed"
    assert "no rows" in refused_fit(frame[:0])
    assert "empty" in refused_fit("")
    assert "empty" in refused_fit("\n\n")
    frame.loc[5:, "y"] = np.nan
    assert "5 rows with a target" in refused_fit(frame)


def test_ten_rows_are_enough(frame, save, tmp_path, training_data):
    options = ["--target", "y", "--drop", "id", "--out", tmp_path / "out"]
    for fraction, n_test in (("0.01", 2), ("0.2", 2), ("0.99", 5)):
        arguments = [save(frame[:10]), *options, "--test-fraction", fraction]
        printed, train, test = training_data(arguments)
        assert f"training on {10 - n_test} rows" in printed
        assert len(train[1]) == 10 - n_test
        assert len(test[1]) == n_test


def test_columns_without_content(frame, refused_fit):
    frame["a"], frame["y"] = 1.0, 2.5
    line = refused_fit(frame)
    assert line == "data.csv: target 'y' is always 2.5: there is nothing to predict"
    frame["y"] = np.nan
    assert refused_fit(frame) == "data.csv: target 'y' has no values"


def test_wrong_cells_are_found(frame, refused_fit):
    frame["a"] = frame["a"].astype(object)
    frame.loc[12, "a"] = "twelve"
    line = refused_fit(frame, "--as", "a=number")
    assert line == "data.csv: column 'a', row 13: 'twelve' is not a number"
    frame.loc[12, "a"] = "-inf"
    line = refused_fit(frame)
    assert line == "data.csv: column 'a', row 13: -inf is not a finite number"
    frame["a"], frame.loc[39, "y"] = 1.0, np.inf
    line = refused_fit(frame)
    assert line == "data.csv: column 'y', row 40: inf is not a finite number"
    frame["y"] = [f"text {i}" for i in range(40)]
    assert "column 'y', row 1: 'text 0' is not a number" in refused_fit(frame)


def test_text_that_is_no_category(frame, refused_fit):
    texts = frame[["y"]].assign(c=[f"text {i}" for i in range(40)])
    texts = texts.loc[np.repeat(texts.index, 2)].reset_index(drop=True)
    texts["c"] += texts.index.astype(str)
    assert refused_fit(texts) == "data.csv: none of the columns 'c' can be used"


def test_names_of_columns(frame, refused_fit):
    text = frame.to_csv(index=False)
    twice = text.replace("id,a,b", "id,a,a", 1)
    assert "the name 'a' is shared by columns 2 and 3" in refused_fit(twice)
    assert "there is no column 'Y' (did" not in refused_fit(frame, target="Y")
    assert "there is no column 'nope'" in refused_fit(frame, target="nope")
    assert "no column 'nope'" in refused_fit(frame, "--drop", "nope")
    assert "no column 'nope'" in refused_fit(frame, "--id", "nope")
    line = refused_fit(frame, "--drop", "y")
    assert line == "data.csv: column 'y' cannot be a target and dropped"
    line = refused_fit(frame, "--id", "y")
    assert line == "data.csv: column 'y' cannot be a target and an id"
    line = refused_fit(frame, "--target", "y")
    assert line == "data.csv: column 'y' is given twice as target"
    everything = [word for name in ("id", "a", "b", "c") for word in ("--drop", name)]
    assert "no input is left" in refused_fit(frame, *everything)


def test_files_that_are_no_tables(frame, save, refused_fit, tmp_path):
    line = refused_fit(frame, "--delimiter", ";")
    assert "give it with --delimiter" in line
    for wrong in ("::", "é"):
        line = refused_fit(frame, "--delimiter", wrong)
        assert line.endswith(f"must be one ASCII character, got {wrong!r}")
    assert "no such file" in refused_fit(tmp_path / "nope.csv")
    assert "is a folder" in refused_fit(tmp_path)
    binary = tmp_path / "binary.csv"
    binary.write_bytes(os.urandom(500) + b"\0")
    assert "is not text" in refused_fit(binary)
    binary.write_bytes(b"a,y\n\xff\xfe,1\n" * 20)
    assert "is not UTF-8" in refused_fit(binary)
    assert "must end in .csv" in refused_fit(save("a,y\n", "table.xlsx"))
    ragged = frame.to_csv(index=False).replace("007,", "007,1,", 1)
    assert "row 8 has 6 cells instead of 5" in refused_fit(ragged)
    assert "broken or not gzip" in refused_fit(save("a,y\n1,2\n", "data.csv.gz"))


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--test-fraction", "0"], "'--test-fraction': 0 does not lie between 0 and 1"),
        (["--test-fraction", "nan"], "nan does not lie between 0 and 1"),
        (["--test-fraction", "half"], "'half' is not a number"),
        (["--hidden", "0"], "'0' is not like 50 or 128,128"),
        (["--hidden", "5,,5"], "'5,,5' is not like"),
        (["--hidden", ""], "'' is not like"),
        (["--hidden", "9" * 20], "has more than 16777216 units in a layer"),
        (["--hidden", "9" * 5000], "is not like 50 or 128,128"),
        (["--hidden", "5," + "9" * 9], "has more than 16777216 units in a layer"),
        (["--hidden", "1" + ",1" * 4999], "'--hidden': 5000 layers are more than 100"),
        (["--members", "10000000"], "'--members': 10000000 is more than 10000"),
        (["--members", "9" * 18], "9 is more than 2147483647"),
        (["--members", "99999"], "99999 is more than 10000"),
        (["--members", "9" * 5000], "'--members': 999999999999999999... is too large"),
        (["--max-updates", "9" * 19], "999999999999999999... is too large"),
        (["--members", "0"], "'--members': '0' is not a whole number"),
        (["--max-updates", "0"], "'--max-updates': '0' is not a whole number"),
        (["--preset", "slow"], "'slow' is not one of 'fast'"),
        (["--seed", "-1"], "'--seed': -1 is not in the range"),
        (["--seed", "x"], "'x' is not a valid integer"),
        (["--jobs", "0"], "'--jobs': 0 is not in the range"),
        (["--beta", "-1"], "-1 is not a finite number of at least 0"),
        (["--beta", "nan"], "nan is not a finite number of at least 0"),
        (["--beta", "1e400"], "1e400 is not a finite number of at least 0"),
        (["--beta", "much"], "'much' is neither a number nor"),
        (["--objective", "nll", "--beta", "1"], "--beta is for --objective beta-nll"),
        (["--objective", "loss"], "'loss' is not one of mse, "),
        (["--calibration", "some"], "'some' is not one of 'auto', 'none'"),
        (["--nonsense"], "No such option '--nonsense'"),
    ],
)
def test_nonsense_options_of_fit(data, refused_fit, options, message):
    line = refused_fit(data, *options)
    assert message in line
    assert line.endswith("(help: betanll fit --help)")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "data.csv"], "Missing option '--target'"),
        (["compare", "data.csv"], "Missing option '--target'"),
        (["fit", "--target", "y"], "Missing argument 'DATA'"),
        (["predict", "model"], "Missing argument 'DATA'"),
        (["predict", "m", "d.csv", "--coverage", "95"], "95 does not lie between"),
        (["predict", "m", "d.csv", "--coverage", "nan"], "nan does not lie between"),
        (["predict", "m", "d.csv", "--chunk-rows", "0"], "0 is not in the range"),
        (["predict", "m", "d.csv", "--chunk-rows", "9" * 40], "is not in the range"),
        (["predict", "m", "d.csv", "--out", "p.txt"], "must end in .csv or .csv.gz"),
        (["predict", "m", "d.csv"], "m does not exist"),
    ],
)
def test_bad_usage(refused, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused(*arguments)
    assert not os.listdir(tmp_path)


# Output


def test_unwritable_output(data, fitted, refused, tmp_path):
    options = ["--target", "y", "--max-updates", 10**9, "--out", data / "out"]
    assert refused("fit", data, *options) == f"betanll: {data} is not a folder"
    line = refused("predict", fitted, data, "--out", data / "p.csv")
    assert line == f"betanll: {data} is not a folder"
    (tmp_path / "p.csv").mkdir()
    line = refused("predict", fitted, data, "--out", tmp_path / "p.csv")
    assert "is a directory" in line
    (tmp_path / "report.html").mkdir()
    options = ["--target", "y", "--max-updates", 10**9, "--out", tmp_path]
    line = refused("fit", data, *options)
    assert line == f"betanll: {tmp_path / 'report.html'} is a folder"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may do anything")
def test_folder_without_permission(data, fitted, refused, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    options = ["--target", "y", "--max-updates", 10**9, "--out", locked / "out"]
    assert refused("fit", data, *options) == f"betanll: {locked} is not writable"
    line = refused("predict", fitted, data, "--out", locked / "p.csv")
    assert line == f"betanll: {locked} is not writable"


def test_folder_of_somebody_else_is_refused_before_training(data, refused, tmp_path):
    out = tmp_path / "out"
    (out / "model").mkdir(parents=True)
    (out / "model" / "thesis.txt").write_text("years of work")
    options = ["--target", "y", "--max-updates", 10**9, "--out", out]
    line = refused("fit", data, *options)
    assert f"{out / 'model'} exists and is not a model folder" in line
    assert (out / "model" / "thesis.txt").read_text() == "years of work"
    assert os.listdir(out) == ["model"]


# Models


@pytest.fixture
def refused_model(model, data, refused, tmp_path):
    """A function that returns how ``predict`` refuses the model folder."""

    def refuse():
        line = refused("predict", model, data, "--out", tmp_path / "p.csv")
        assert str(model) in line
        assert not (tmp_path / "p.csv").exists()
        return line

    return refuse


def test_damaged_models(model, refused_model):
    weights, document = next(model.glob("weights-*")), model / "model.json"
    intact = weights.read_bytes(), document.read_bytes()

    def restore():
        weights.write_bytes(intact[0])
        document.write_bytes(intact[1])

    for cut in (0, 5, len(intact[0]) // 2, len(intact[0]) - 1):
        weights.write_bytes(intact[0][:cut])
        assert f"{weights.name} is damaged" in refused_model()
    weights.write_bytes(intact[0][:-1] + bytes([intact[0][-1] ^ 1]))
    assert "checksum differs" in refused_model()
    restore()
    for cut in (0, 5, len(intact[1]) // 2):
        document.write_bytes(intact[1][:cut])
        assert "model.json is damaged or no JSON" in refused_model()
    document.write_bytes(intact[1].replace(b'"y"', b'"z"'))
    assert "checksum differs" in refused_model()
    document.write_bytes(b'{"format": "another"}')
    assert "not a model of betanll" in refused_model()
    restore()
    weights.unlink()
    assert f"lacks {weights.name}" in refused_model()


def test_models_of_strangers(model, refused_model, tmp_path):
    for file in model.iterdir():
        file.unlink()
    assert "lacks model.json" in refused_model()

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    # nothing is unpickled, whatever it is called
    for name in ("model.pkl", "model.json", "weights.safetensors"):
        (model / name).write_bytes(pickle.dumps(Trap()))
        refused_model()
    assert not (tmp_path / "trapped").exists()


def test_valid_checksums_do_not_make_a_model(model, refused_model, tmp_path):
    configuration, arrays = read_model(model)
    table, net = configuration["table"], configuration["net"]

    def refuse(changes=(), more=()):
        write_model(model, {**configuration, **dict(changes)}, {**arrays, **dict(more)})
        return refused_model()

    write_model(model, {}, {})
    assert "model without a table" in refused_model()
    for odd in (None, 3, [], {}, "text", {**table, "more": 1}):
        assert "is damaged" in refuse({"table": odd})
    for odd in (None, [3], [{}], ["y", "y"]):
        assert "is damaged" in refuse({"table": {**table, "targets": odd}})
        assert "is damaged" in refuse({"columns": odd})
    two = {**table, "targets": ["y", "z"]}
    assert "the schema has 2 targets, the regressor 1" in refuse({"table": two})
    fewer = configuration["columns"][:2]
    assert "2 encoded columns for 3 inputs" in refuse({"columns": fewer})
    assert "and a matrix of targets" in refuse({"y_is_vector": True})
    for key in ("kind", "parameters", "net", "objective", "n_members", "n_outputs"):
        for odd in (None, "os.system", -1, [], {}):
            assert "is damaged" in refuse({key: odd})
    assert "is damaged" in refuse({"net": {**net, "hidden_sizes": [10**12]}})
    assert "is damaged" in refuse({"net": {**net, "activation": "eval"}})
    for name in ("inputs.scale", "targets.scale", "member.0.0.weight", "spread"):
        for odd in (np.zeros(0), arrays[name] * np.nan, arrays[name][..., None]):
            assert name in refuse(more={name: odd})


def test_model_in_a_later_format(model, refused_model):
    document = json.loads((model / "model.json").read_text())
    document["format_version"] = 99
    (model / "model.json").write_bytes(_model_folder._dumped(document))
    assert "in format 99" in refused_model()


def test_model_without_columns(data, fitted, refused, tmp_path):
    from betanll import HeteroscedasticRegressor

    HeteroscedasticRegressor.load(fitted / "model").save(tmp_path / "plain")
    line = refused("predict", tmp_path / "plain", data, "--out", tmp_path / "p.csv")
    assert "is a model without a table" in line


# Interruption and exit codes of the real program


PROGRAM = (
    # A test worker may run with the signal ignored, which the process would inherit.
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from betanll.cli import main; main()"
)


def started(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupted(process):
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert err.strip() == "betanll: interrupted"
    assert process.returncode == 130


def test_ctrl_c_during_a_fit(fitted, frame, save, tmp_path, contents):
    out = shutil.copytree(fitted, tmp_path / "out")
    path = save(frame.sample(20_000, replace=True, random_state=0))
    options = ["--target", "y", "--drop", "id", "--hidden", "512,512", "--out", out]
    with started("fit", path, *options) as process:
        lines = iter(process.stdout.readline, "")
        assert any("training on 16000 rows" in line for line in lines)
        time.sleep(4)  # compiling or training: either must give way
        interrupted(process)
    assert contents(out) == contents(fitted)
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "out"]


def test_ctrl_c_during_a_long_predict(fitted, frame, save, tmp_path):
    path = save(frame.sample(200_000, replace=True, random_state=0))
    out = save("older\n", "p.csv")
    options = ["--chunk-rows", "20", "--out", out]
    with started("predict", fitted, path, *options) as process:
        until = time.monotonic() + 60
        while len(os.listdir(tmp_path)) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        assert len(os.listdir(tmp_path)) == 3  # a temporary file
        interrupted(process)
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "p.csv"]
    assert out.read_text() == "older\n"


def test_exit_code_and_line_of_the_program(data, tmp_path):
    with started("fit", data, "--target", "why", "--out", tmp_path / "out") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == ""
    assert err.startswith(f"betanll: {data}: there is no column 'why'")
    assert err.count("\n") == 1
