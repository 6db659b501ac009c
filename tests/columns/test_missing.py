"""Markers of missing cells that only one table has."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest

from betanll.columns import (
    ColumnEncoder,
    TableError,
    as_markers,
    mark_missing,
    summarise,
)
from betanll.tables import TableSchema

COLUMNS = {
    "numbers": [1.5, -99.0, 3.0],
    "whole": [1, -99, 3],
    "texts": ["a", " unknown ", "b"],
    "mixed": [1.5, "-99.0", "x"],
    "dates": pd.to_datetime(["2020-01-01", "9999-12-31", "2020-01-03"]),
    "days": [datetime.date(2020, 1, 1), datetime.date(9999, 12, 31), None],
    "truths": [True, False, True],
}
MARKERS = ["-99", "unknown", "9999-12-31", "1"]


@pytest.fixture
def frame():
    return pd.DataFrame(COLUMNS)


@pytest.mark.parametrize(
    ("values", "markers"),
    [
        ((), ()),
        ("x", ("x",)),
        (-99, ("-99",)),
        (["x", -99, " x", 1.5], ("x", "-99", "1.5")),
    ],
)
def test_markers_are_texts(values, markers):
    assert as_markers(values) == markers


@pytest.mark.parametrize("odd", [None, [None], [["x"]], True, object()])
def test_odd_markers_are_refused(odd):
    with pytest.raises(TableError, match="na_values must be texts or numbers, got"):
        as_markers(odd)


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "truths"])
def test_cells_of_all_types_are_marked(frame, name):
    before = frame.copy()
    is_missing = mark_missing(frame, {name: MARKERS})[name].isna()
    expected = [False, True, name == "days"]
    if name == "whole":
        expected[0] = True  # 1 is a marker, too
    assert is_missing.tolist() == expected
    pd.testing.assert_frame_equal(frame, before)


def test_what_is_not_marked(frame):
    marked = mark_missing(frame, {"truths": ["1"], "nowhere": ["x"], "texts": []})
    pd.testing.assert_frame_equal(marked, frame)
    assert mark_missing(frame, {}) is frame
    frame = pd.DataFrame({"a": [[1], [2]]})
    pd.testing.assert_frame_equal(mark_missing(frame, {"a": ["1"]}), frame)
    frame.attrs["decimal"] = ","
    assert mark_missing(frame, {"a": ["1"]}).attrs == {"decimal": ","}


def test_the_encoder_remembers_the_markers():
    frame = pd.DataFrame(
        {"a": [1.0, -99.0, 3.0], "b": ["x", "y", "?!"], "c": ["$1", "$2,000", "-99"]}
    )
    encoder = ColumnEncoder.infer(frame, missing=["-99", "?!"])
    gaps = frame.replace({"-99": None, -99: np.nan, "?!": None})
    np.testing.assert_array_equal(
        encoder.encode(frame), ColumnEncoder.infer(gaps).encode(gaps)
    )
    again = ColumnEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again == encoder
    assert again.missing == ("-99", "?!")
    np.testing.assert_array_equal(again.encode(frame), encoder.encode(frame))
    assert not again.surprises(frame)
    assert [line.missing for line in summarise(again, frame)] == [1 / 3] * 3
    # Known columns keep theirs, as in a fit of the training rows.
    known = {column.name: column for column in encoder.columns}
    assert ColumnEncoder.infer(frame[1:], known).missing == ("-99", "?!")


def test_statistics_of_levels_leave_marked_cells_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": [f"level {i % 40}" for i in range(400)]})
    frame.loc[:9, "a"] = "unknown"
    y = rng.normal(size=(400, 1))
    encoder = ColumnEncoder.infer(frame, missing=["unknown"])
    gaps = frame.replace({"unknown": None})
    _, matrix = encoder.fit_encode(frame, y)
    _, expected = ColumnEncoder.infer(gaps).fit_encode(gaps, y)
    np.testing.assert_array_equal(matrix, expected)


def test_targets_too_but_not_ids():
    frame = pd.DataFrame({"a": [1, 2, -99], "y": [-99, 5, 6], "id": ["1", "-99", "3"]})
    schema = TableSchema.infer(frame, targets=["y"], ids=["id"], missing=["-99"])
    np.testing.assert_array_equal(schema.target_values(frame), [[np.nan], [5], [6]])
    assert schema.id_frame(frame)["id"].tolist() == ["1", "-99", "3"]
    assert schema.encoder.encoded_names == ("a", "a is missing")


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("x", "missing of a column must be a list, got 'x'"),
        ([1], "missing cells of column 'a' must be text, got 1"),
        (["x", "x"], "missing cells of column 'a' must differ, got 'x' twice"),
    ],
)
def test_malformed_descriptions(missing, sentence):
    column = {"name": "a", "kind": "number", "fill": 1.0, "missing": missing}
    with pytest.raises(TableError, match=sentence):
        ColumnEncoder.from_dict([column])
