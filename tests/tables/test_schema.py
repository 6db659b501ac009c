"""What columns mean, and choices and training tables that are refused."""

import re

import numpy as np
import pandas as pd
import pytest

from betanll.tables import Column, TableError, TableSchema

# Kinds of columns


def test_kinds(kind):
    assert kind([1, 2, 3]) == kind([0, 1, 1]) == kind(["0", "1", "1"]) == "numeric"
    assert kind(["1.5", None, "1e3", "?"]) == "numeric"
    assert kind(np.array([1, 2], np.uint8)) == kind(pd.array([1, None])) == "numeric"
    for pair in (["true", "FALSE"], ["Yes", "no"], ["t", "F"], ["y", "N"]):
        assert kind([*pair, None, pair[0]]) == "boolean"
    assert kind([True, False]) == kind([True, None]) == kind(["yes"]) == "boolean"
    assert kind(pd.array([True, None])) == "boolean"
    assert kind(["red", "blue"]) == kind(["yes", "maybe"]) == "categorical"
    # A lone letter, and letters of different pairs
    assert kind(["F", "F"]) == kind(["T", "N"]) == "categorical"
    # Less than half are numbers.
    assert kind(["a", "b", "1"]) == "categorical"
    assert kind(pd.Categorical(["a", "b", "a"])) == "categorical"


def test_columns_in_full(infer):
    frame, schema = infer(
        age=[1.0, np.nan, 4.0, 2.0],
        smokes=["yes", "no", "", "yes"],
        eyes=["blue", "brown", "blue", "NA"],
        size=[3, 3, 3, 3],
        name=["p", "q", "r", "s"],
        junk=["a", None, "c", "d"],
        ids=["name"],
        drop=["junk"],
    )
    assert schema.targets == ("y",)
    assert schema.ids == ("name",)
    assert schema.features == (
        Column("age", "numeric", fill=2.0, has_missing=True),
        Column("smokes", "boolean", fill=1.0, has_missing=True),
        Column("eyes", "categorical", categories=("blue", "brown"), has_missing=True),
        Column("size", "numeric", fill=3.0, is_constant=True),
    )
    assert schema.constant_features == ("size",)
    assert schema.encoded_names == (
        *("age", "smokes", "size", "age is missing", "smokes is missing"),
        *("eyes=blue", "eyes=brown", "eyes is missing"),
    )
    expected = [
        [1, 1, 3, 0, 0, 1, 0, 0],
        [2, 0, 3, 1, 0, 0, 1, 0],
        [4, 1, 3, 0, 1, 1, 0, 0],
        [2, 1, 3, 0, 0, 0, 0, 1],
    ]
    encoded = schema.encode(frame)
    np.testing.assert_array_equal(encoded, expected)
    assert encoded.dtype == np.float64
    assert schema.notes(frame) == []
    np.testing.assert_array_equal(schema.target_values(frame), [[0], [1], [2], [3]])
    assert schema.id_frame(frame)["name"].tolist() == ["p", "q", "r", "s"]
    assert schema.encode(frame[:0]).shape == (0, 8)


def test_constant_features(infer):
    _, schema = infer(a=["x", "x"], b=[True, True], c=[1, 1], d=[1, None], e=[1, 2])
    assert schema.constant_features == ("a", "b", "c")


def test_the_thirty_most_frequent_categories(infer):
    texts = [f"c{i:02d}" for i in range(40)]
    # c00 to c09 once, c10 to c39 twice; then also c09 thrice, which displaces c39.
    cells = texts + texts[10:]
    assert infer(a=cells)[1].features[0].categories == tuple(texts[10:])
    frame, schema = infer(a=cells + ["c09"] * 2)
    assert schema.features[0].categories == tuple(texts[9:39])
    encoded = schema.encode(frame)
    assert encoded.shape == (72, 30)
    assert encoded.sum() == 72 - 9 - 2
    assert not encoded[:9].any()
    assert encoded[9, 0] == 1
    (note,) = schema.notes(frame)
    assert note == (
        "column 'a': 11 cells with a category that is not among the 30 known ones"
    )


def test_extreme_numbers(infer):
    big = 1.7976931348623157e308
    frame, schema = infer(a=[1e30, -1e30, 1e-30, 5e-324], b=[big, big, big, None])
    assert [column.fill for column in schema.features] == [0.5e-30, big]
    expected = [[1e30, big, 0], [-1e30, big, 0], [1e-30, big, 0], [5e-324, big, 1]]
    np.testing.assert_array_equal(schema.encode(frame), expected)
    assert infer(a=[big, big, -big, -big])[1].features[0].fill == 0
    assert infer(a=[10**30, 1, 2])[1].features[0].fill == 2


# Faults of the choice and of the training table


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
        ({"targets": []}, "no target is given"),
        ({"targets": ["y", "y"]}, "column 'y' is given twice as target"),
        ({"drop": ["y"]}, "column 'y' cannot be a target and dropped"),
        ({"ids": ["y"]}, "column 'y' cannot be a target and an id"),
        ({"drop": ["height", "a"]}, "no feature is left among the columns 'height', "),
    ],
)
def test_faults_of_the_choice(infer, arguments, sentence):
    with pytest.raises(TableError, match=re.escape(sentence)):
        infer(height=[1, 2], a=[1, 2], y=[1, 2], **arguments)


def test_a_lone_column_hints_at_the_delimiter(infer):
    with pytest.raises(TableError, match="left among the columns 'y', so --delimiter"):
        infer(y=[1, 2])


def test_names_must_be_distinct_text():
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"])
    with pytest.raises(TableError, match="the name 'a' is shared by several columns"):
        TableSchema.infer(frame, targets=["y"])
    frame.columns = ["a", 5, "y"]
    with pytest.raises(TableError, match="column names must be text, got 5"):
        TableSchema.infer(frame, targets=["y"])


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([1, 2, "abc", None], "column 'a b', row 3: 'abc' is not a number"),
        (["1", "yes", "abc", "4"], "column 'a b', row 2: 'yes' is not a number"),
        (["1", "x" * 50], f"column 'a b', row 2: '{'x' * 37}...' is not a number"),
        ([1, np.inf], "column 'a b', row 2: inf is not a finite number"),
        (["-Infinity", "x"], "column 'a b', row 2: 'x' is not a number"),
        (["1e400", "1"], "column 'a b', row 1: '1e400' is not a finite number"),
        ([None, "NA"], "column 'a b' has no values: leave it out with --drop 'a b'"),
        ([1j, 2j], "column 'a b' holds complex numbers"),
    ],
)
def test_faults_of_features(infer, cells, sentence):
    with pytest.raises(TableError, match=re.escape(sentence)):
        infer(**{"a b": cells})


def test_identifiers_are_no_categories(infer, kind):
    texts = [f"2020-{i:03d}" for i in range(51)]
    with pytest.raises(
        TableError, match=r"51 different texts in 101 rows.*--drop a or"
    ):
        infer(a=texts + texts[:50])
    # Few texts, or texts that occur twice, are categories.
    assert kind(texts + texts) == kind(texts[:50]) == "categorical"


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["a", "b"], "column 'y', row 1: 'a' is not a number"),
        (["1", "b"], "column 'y', row 2: 'b' is not a number"),
        ([1.5, True], "column 'y', row 2: True is not a number"),
        ([1.5, np.inf], "column 'y', row 2: inf is not a finite number"),
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


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n", [309, 400, 5000])
def test_whole_numbers_beyond_the_largest_float(infer, n, sign):
    """Also those with more digits than Python spells out."""
    cell = sign * 10**n
    for columns in ({"a": [1, 2, cell]}, {"a": [1, 2, 3], "y": [1, 2, cell]}):
        with pytest.raises(TableError, match=r"row 3: .{,45} is not a finite number$"):
            infer(**columns)
    _, schema = infer(a=["x", "y", "z"], b=["yes", "no", "no"])
    with pytest.raises(TableError, match=r"'b', row 1: .{,45} is neither true nor"):
        schema.encode(pd.DataFrame({"a": [cell], "b": [cell]}))
    with pytest.raises(TableError, match="column names must be text, got "):
        TableSchema.infer(pd.DataFrame({"y": [1], cell: [2]}), targets=["y"])
