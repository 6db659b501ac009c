"""From a file or a table in memory to a model and a report."""

import shlex

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableError, TableModel, TrainingTable

QUICK = {
    "preset": "fast",
    "hidden_layer_sizes": 4,
    "max_updates": 400,
    "test_fraction": 0.2,
    "all_rows": False,
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    rooms, city = rng.integers(1, 6, 80), rng.choice(["Bonn", "Ulm"], 80)
    price = 100.0 * rooms + 80 * (city == "Ulm") + rng.normal(0, 10, 80)
    return pd.DataFrame(
        {"address": [f"{i:03d}" for i in range(80)], "rooms": rooms, "city": city}
    ).assign(price=price)


@pytest.fixture(scope="module")
def model(frame):
    return TableModel.fit(frame, "price", ids=["address"], **QUICK)


def test_a_file_and_a_frame_give_the_same_bits(model, frame, tmp_path):
    frame.to_csv(tmp_path / "houses.csv", index=False)
    again = TableModel.fit(
        tmp_path / "houses.csv", target="price", ids=["address"], **QUICK
    )
    pd.testing.assert_frame_equal(again.predict(frame), model.predict(frame))


def test_the_command_makes_the_same_model(model, frame, tmp_path, run):
    data = tmp_path / "houses.csv"
    frame.to_csv(data, index=False)
    options = ["--preset", "fast", "--hidden", "4", "--max-updates", "400"]
    options.append("--training-rows")
    columns = ["--target", "price", "--id", "address"]
    outcome = run("fit", data, *columns, *options, "--out", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    loaded = TableModel.load(tmp_path / "out")
    pd.testing.assert_frame_equal(loaded.predict(frame), model.predict(frame))


def test_held_out_rows_judge_the_model(model):
    (target,) = model.assessment.targets
    assert target.name == "price"
    assert len(model.assessment.target) == 16
    assert target.scores["this model"].rmse < target.scores["constant"].rmse


def test_the_report_is_a_page(model):
    report = model.report(data="houses.csv")
    assert report.title == "price"
    page = report.html()
    assert page.startswith("<!doctype html>")
    for text in ("houses.csv", "held-out rows", "rooms"):
        assert text in page


def test_a_loaded_model_has_no_report(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = TableModel.load(tmp_path / "model")
    assert loaded.assessment is None
    with pytest.raises(ValueError, match="a report needs held-out rows"):
        loaded.report()


def test_notes_are_kept(frame):
    table = TrainingTable.read(frame.assign(id=range(80), one=1), "price")
    assert "column 'one' has one value and says nothing." in table.column_notes
    assert [n for n in table.column_notes if "'id' counts the rows" in n]
    model = TableModel.fit(frame.assign(one=1), "price", **QUICK)
    assert "column 'one' has one value and says nothing." in model.notes
    assert [line.kind for line in model.columns] == [
        *("number", "number", "category", "number")
    ]


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__"])
def test_the_index_of_an_earlier_table_is_named(frame, tmp_path, name):
    """Shuffled rows do not count, but the name says what the column is."""
    shuffled = np.random.default_rng(0).permutation(len(frame))
    frame = frame.drop(columns="address").assign(**{name: shuffled**2})
    frame.to_csv(tmp_path / "data.csv", index=False)
    for data in (frame, tmp_path / "data.csv"):
        (note,) = TrainingTable.read(data, "price").column_notes
        assert note == (
            f"column {name!r} is called as pandas calls an index and is used as an "
            "input; if it is only a row number, leave it out with "
            f"--drop {shlex.quote(name)}."
        )
        assert not TrainingTable.read(data, "price", drop=[name]).column_notes


@pytest.mark.parametrize(
    ("changes", "target", "message"),
    [
        ({}, "prise", r"the table: there is no column 'prise' \(did you mean 'price'"),
        ({"price": 1.0}, "price", "the table: target 'price' is always 1: there is no"),
        ({"price": np.nan}, "price", "the table"),
    ],
)
def test_useless_tables_are_refused(frame, changes, target, message):
    with pytest.raises(TableError, match=message):
        TableModel.fit(frame.assign(**changes), target, **QUICK)


def test_few_rows_are_refused(frame, tmp_path):
    frame[:9].to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(
        TableError, match="9 rows with a target; at least 10 are needed"
    ):
        TableModel.fit(tmp_path / "few.csv", "price")


def test_tables_are_read_without_jax():
    import subprocess
    import sys

    code = "import sys, betanll.tables; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"
