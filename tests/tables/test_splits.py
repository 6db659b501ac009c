"""Which rows of a table judge a model: later ones, other groups, or folds."""

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableError, TableModel, TrainingTable

QUICK = {"preset": "fast", "hidden_layer_sizes": 4, "max_updates": 60}


def table(n=60, **columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, **columns, "y": 2 * x + rng.normal(size=n)})


def dated(n=60):
    days = pd.date_range("2020-01-01", periods=n).strftime("%d.%m.%Y")
    return table(n, day=np.random.default_rng(1).permutation(days))


def test_the_latest_rows_are_held_out():
    frame = dated()
    read = TrainingTable.read(frame, "y", time="day")
    ((train, held_out),) = read.splits(0.2)
    days = pd.to_datetime(frame.day, format="%d.%m.%Y")
    assert days[held_out].min() > days[train].max()
    assert len(held_out) == 12
    assert read.notes == []


def test_no_group_is_on_both_sides_and_the_column_is_no_input():
    city = np.resize(["Ulm", "Bonn", "Kiel", "Jena", "Trier"], 60)
    read = TrainingTable.read(table(city=city), "y", group="city")
    assert list(read.inputs) == ["x"]
    assert read.notes == ["column 'city' is no input: new groups have other labels."]
    splits = read.splits(n_folds=5)
    assert len(splits) == 5
    for train, held_out in splits:
        assert len({*city[held_out]}) == 1
        assert not {*city[train]} & {*city[held_out]}


def test_few_rows_are_judged_by_folds():
    assert len(TrainingTable.read(table(249), "y").splits()) == 5
    assert len(TrainingTable.read(table(250), "y").splits()) == 1
    assert len(TrainingTable.read(table(60), "y").splits(0.2)) == 1
    assert len(TrainingTable.read(dated(), "y", time="day").splits()) == 1


def test_dates_that_sort_a_table_are_noticed():
    frame = dated()
    shuffled = TrainingTable.read(frame, "y")
    assert shuffled.notes == []
    for step in (1, -1):
        order = np.argsort(pd.to_datetime(frame.day, format="%d.%m.%Y"))[::step]
        read = TrainingTable.read(frame.iloc[order].reset_index(drop=True), "y")
        assert read.notes == [
            "rows are sorted by 'day': if the model will predict later rows, judge it "
            "by --time day."
        ]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({}, {"time": "when"}, "there is no column 'when'"),
        (
            {"who": ["a", "b"] * 30},
            {"time": "who"},
            "column 'who' is read as category and cannot order rows by time",
        ),
        (
            {"day": ["2020-01-01", None, "2020-01-03"] * 20},
            {"time": "day"},
            "column 'day', row 2: the cell is empty, so the row has no time "
            r"\(20 such rows\)",
        ),
        (
            {"who": ["a", "b", None] * 20},
            {"group": "who"},
            "column 'who', row 3: the cell is empty, so the row has no group",
        ),
        ({"who": ["a"] * 60}, {"group": "who"}, "'who' has a single group"),
        ({"day": [7] * 60}, {"time": "day"}, "'day' has a single time"),
        (
            {"day": range(60), "who": range(60)},
            {"time": "day", "group": "who"},
            "by time or by group: give one of them",
        ),
    ],
)
def test_useless_columns_are_refused(columns, options, message):
    with pytest.raises(TableError, match=message):
        TrainingTable.read(table(**columns), "y", **options)


@pytest.mark.parametrize("n_folds", [1, 31])
def test_useless_numbers_of_folds_are_refused(n_folds):
    with pytest.raises(ValueError, match="n_folds must lie between 2 and 30 for 60"):
        TrainingTable.read(table(), "y").splits(n_folds=n_folds)
    with pytest.raises(ValueError, match="give test_fraction or n_folds, not both"):
        TrainingTable.read(table(), "y").splits(0.3, 3)


def test_the_report_says_which_rows_its_numbers_are_of():
    model = TableModel.fit(table(), "y", n_folds=2, **QUICK)
    report = model.report()
    assert report.configuration["held-out rows"] == "60 in 2 folds, drawn at random"
    assert report.configuration["rows the model trained on"] == "60"
    (note,) = [f.text for f in report.findings if "delivered model" in f.text]
    assert note.startswith("Scores and pictures are those of 2 models on 60 held-out")
    model = TableModel.fit(
        dated(), "y", time="day", test_fraction=0.25, all_rows=False, **QUICK
    )
    report = model.report()
    assert report.configuration["held-out rows"] == "15, the latest"
    assert report.configuration["rows the model trained on"] == "45"
    assert not [f for f in report.findings if "delivered model" in f.text]
