"""What the columns of a table are for: choices and targets that are refused."""

import re

import numpy as np
import pandas as pd
import pytest

from betanll.columns import TableError
from betanll.tables import TableSchema


@pytest.fixture(scope="module")
def infer():
    """A function of columns that returns their table and its schema."""

    def describe(targets=("y",), drop=(), ids=(), kinds=None, **columns):
        columns.setdefault("y", np.arange(float(len(next(iter(columns.values()))))))
        frame = pd.DataFrame(columns)
        return frame, TableSchema.infer(
            frame, targets=targets, drop=drop, ids=ids, kinds=kinds
        )

    return describe


def test_roles_of_columns(infer):
    frame, schema = infer(
        age=[1.0, np.nan], name=["p", "q"], junk=["a", None], ids=["name"], drop="junk"
    )
    assert (schema.targets, schema.ids) == (("y",), ("name",))
    assert [column.name for column in schema.encoder.columns] == ["age"]
    np.testing.assert_array_equal(schema.target_values(frame), [[0], [1]])
    assert schema.id_frame(frame)["name"].tolist() == ["p", "q"]
    with pytest.raises(TableError, match="the table lacks the column 'name'"):
        schema.id_frame(frame[["age"]])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"targets": ["hight"]},
            "no column 'hight' (did you mean 'height'?) among 'he",
        ),
        ({"targets": ["zzz"]}, "there is no column 'zzz' among 'height', 'a', 'y'"),
        ({"drop": ["zzz"]}, "there is no column 'zzz' among"),
        ({"ids": ["zzz"]}, "there is no column 'zzz' among"),
        ({"kinds": {"zzz": "number"}}, "there is no column 'zzz' among"),
        ({"kinds": {"y": "number"}}, "column 'y' is not an input"),
        ({"targets": []}, "no target is given"),
        ({"targets": ["y", "y"]}, "column 'y' is given twice as target"),
        ({"drop": ["y"]}, "column 'y' cannot be a target and dropped"),
        ({"ids": ["y"]}, "column 'y' cannot be a target and an id"),
        ({"drop": ["height", "a"]}, "no input is left among the columns 'height', "),
    ],
)
def test_faults_of_the_choice(infer, arguments, sentence):
    with pytest.raises(TableError, match=re.escape(sentence)):
        infer(height=[1, 2], a=[1, 2], y=[1, 2], **arguments)


def test_a_lone_column_hints_at_the_delimiter(infer):
    with pytest.raises(TableError, match="left among the columns 'y', so --delimiter"):
        infer(y=[1, 2])


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["a", "b"], "column 'y', row 1: 'a' is not a number"),
        (["1", "b"], "column 'y', row 2: 'b' is not a number"),
        ([1.5, True], "column 'y', row 2: True is not a number"),
        ([1.5, np.inf], "column 'y', row 2: inf is not a finite number"),
        ([1, 10**400], "is not a finite number"),
        (["2020-01-01", "2020-01-02"], "column 'y', row 1: '2020-01-01' is not a num"),
        ([None, None], "target 'y' has no values"),
    ],
)
def test_faults_of_targets(infer, cells, sentence):
    with pytest.raises(TableError, match=sentence):
        infer(a=[1, 2], y=cells)


def test_target_values(infer):
    frame, schema = infer(a=[1, 2, 3], y=["yes", None, "no"], z=[1, 2, None])
    np.testing.assert_array_equal(schema.target_values(frame), [[1], [np.nan], [0]])
    schema = TableSchema.infer(frame, targets=["z", "y"])
    expected = [[1, 1], [2, np.nan], [np.nan, 0]]
    np.testing.assert_array_equal(schema.target_values(frame), expected)
    with pytest.raises(TableError, match="the table lacks the column 'y'"):
        schema.target_values(frame[["z"]])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"targets": None}, "targets of the table schema must be a list, got None"),
        ({"targets": "y"}, "targets of the table schema must be a list, got 'y'"),
        ({"targets": []}, "a table schema needs a target and an input"),
        ({"targets": [1]}, "the targets must be text, got 1"),
        ({"targets": ["\ud800"]}, r"the targets must be Unicode text, got '\ud800'"),
        ({"targets": ["a"]}, "the table schema uses column 'a' twice"),
        ({"ids": ["i", "i"]}, "the ids must differ, got 'i' twice"),
        ({"notations": [3]}, "a notation of the table schema is 3"),
        ({"version": 2}, "the table schema must have the entries 'targets', 'ids', "),
    ],
)
def test_malformed_descriptions(infer, change, sentence):
    _, schema = infer(a=[1, None])
    with pytest.raises(TableError, match=re.escape(sentence)):
        TableSchema.from_dict({**schema.to_dict(), **change}, schema.encoder)
