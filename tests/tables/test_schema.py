"""What columns mean, the encoded matrices, and the stored description."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betanll.tables import Column, TableError, TableSchema, open_table


def infer(targets=("y",), drop=(), ids=(), **columns):
    columns.setdefault("y", np.arange(float(len(next(iter(columns.values()))))))
    frame = pd.DataFrame(columns)
    return frame, TableSchema.infer(frame, targets=targets, drop=drop, ids=ids)


def kind(cells):
    return infer(a=cells)[1].features[0].kind


# Kinds of columns


def test_kinds():
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


def test_columns_in_full():
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


def test_constant_features():
    _, schema = infer(a=["x", "x"], b=[True, True], c=[1, 1], d=[1, None], e=[1, 2])
    assert schema.constant_features == ("a", "b", "c")


def test_the_thirty_most_frequent_categories():
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


def test_extreme_numbers():
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
def test_faults_of_the_choice(arguments, sentence):
    with pytest.raises(TableError, match=re.escape(sentence)):
        infer(height=[1, 2], a=[1, 2], y=[1, 2], **arguments)


def test_a_lone_column_hints_at_the_delimiter():
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
def test_faults_of_features(cells, sentence):
    with pytest.raises(TableError, match=re.escape(sentence)):
        infer(**{"a b": cells})


def test_identifiers_are_no_categories():
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
def test_faults_of_targets(cells, sentence):
    with pytest.raises(TableError, match=sentence):
        infer(a=[1, 2], y=cells)


def test_target_values():
    frame, schema = infer(a=[1, 2, 3], y=["yes", None, "no"], z=[1, 2, None])
    np.testing.assert_array_equal(schema.target_values(frame), [[1], [np.nan], [0]])
    schema = TableSchema.infer(frame, targets=["z", "y"])
    expected = [[1, 1], [2, np.nan], [np.nan, 0]]
    np.testing.assert_array_equal(schema.target_values(frame), expected)
    with pytest.raises(TableError, match="the table lacks the column 'y'"):
        schema.target_values(frame[["z"]])


# Other tables


def test_another_table():
    _, schema = infer(
        a=[1, 2, 3], b=["x", "y", "x"], c=[True, False, True], i=[7, 8, 9]
    )
    schema = TableSchema(schema.targets, schema.features[:3], ("i",))
    other = pd.DataFrame(
        {
            "c": ["no", None, "1"],
            "new": [1, 2, 3],
            "b": ["z", " y ", None],
            "a": ["5", "NA", None],
        }
    )
    expected = [[5, 0, 0, 0], [2, 1, 0, 1], [2, 1, 0, 0]]
    np.testing.assert_array_equal(schema.encode(other), expected)
    missing = "column 'b': 1 missing cell (none in training)"
    assert schema.notes(other) == [
        "column 'a': 2 missing cells (none in training), taken as 2",
        "column 'b': 1 cell with a category that is not among the 2 known ones",
        f"{missing}, taken as none of its categories",
        "column 'c': 1 missing cell (none in training), taken as 1",
    ]
    total = schema.surprises(other) + schema.surprises(other)
    assert schema.notes(total)[0].startswith("column 'a': 4 missing cells")
    with pytest.raises(TableError, match="the table lacks the columns 'a', 'c'"):
        schema.encode(other[["b"]])
    with pytest.raises(TableError, match="the table lacks the column 'i'"):
        schema.id_frame(other)
    for cell in ("perhaps", "2"):
        with pytest.raises(
            TableError, match=f"'c', row 1: '{cell}' is neither true no"
        ):
            schema.encode(other.assign(c=cell))


def test_categories_do_not_depend_on_how_they_are_stored():
    _, schema = infer(a=["1", "2.50", "x", "y", "true", "z"])
    assert schema.features[0].categories == ("1", "2.5", "true", "x", "y", "z")
    for cells in ([1, 1], [1.0, 1.0], ["1", "1.0"], ["01", " 1"], pd.array([1, 1])):
        encoded = schema.encode(pd.DataFrame({"a": cells}))
        np.testing.assert_array_equal(encoded, [[1, 0, 0, 0, 0, 0]] * 2)
    for cells in ([True, True], ["True", "TRUE"]):
        encoded = schema.encode(pd.DataFrame({"a": cells}))
        np.testing.assert_array_equal(encoded, [[0, 0, 1, 0, 0, 0]] * 2)


def test_rows_in_errors():
    _, schema = infer(a=[1, 2, 3])
    text = pd.DataFrame({"a": [1, 2, "x", "y"]})
    for frame, first_row, row in [
        (text, 0, 3),
        (text, 100, 103),
        (text.set_axis(pd.RangeIndex(500, 504)), 0, 503),
        # Selected rows keep their numbers.
        (text[1:][[False, False, True]], 0, 4),
        (text.set_axis(list("abcd")), 10, 13),
    ]:
        with pytest.raises(TableError, match=rf"^column 'a', row {row}: '[xy]' is not"):
            schema.encode(frame, first_row=first_row)
    infinite = pd.DataFrame({"a": [1, np.inf]}, index=pd.RangeIndex(10, 12))
    with pytest.raises(TableError, match=r"column 'a', row 12: inf is not a finite"):
        schema.encode(infinite)


def test_plain_numbers_are_copied():
    frame, schema = infer(a=[1.0, 2.0], b=[3, 4])
    encoded = schema.encode(frame)
    np.testing.assert_array_equal(encoded, [[1, 3], [2, 4]])
    assert encoded.flags.c_contiguous
    encoded[:] = 0
    np.testing.assert_array_equal(schema.encode(frame), [[1, 3], [2, 4]])
    # One column is its own transpose, so that a view would look like a copy.
    frame, schema = infer(a=[1.0, 2.0])
    schema.encode(frame)[:] = 0
    assert frame["a"].tolist() == [1, 2]


# Chunks of files


def test_chunks_with_different_types(tmp_path):
    rows = [f"{i},{i % 2},{'yes' if i % 3 else 'no'},{i % 5},{i}" for i in range(50)]
    rows += [f"{i}.5,,,{'abc'[i % 3]},{i}" for i in range(50)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["a,b,c,d,y", *rows]))
    table = open_table(path)
    frame = table.read()
    # Half of the cells of d are numbers.
    with pytest.raises(TableError, match=r"column 'd', row 51: 'a' is not a number"):
        TableSchema.infer(frame, targets=["y"])
    rows += ["0,0,yes,a,0"]
    path.write_text("\n".join(["a,b,c,d,y", *rows]))
    frame = table.read()
    schema = TableSchema.infer(frame, targets=["y"])
    kinds = ["numeric", "numeric", "boolean", "categorical"]
    assert [column.kind for column in schema.features] == kinds
    expected = schema.encode(frame)
    assert expected[3].tolist() == [3, 1, 0, 0, 0, *[0, 0, 0, 1, 0, 0, 0, 0]]
    for n_rows in (1, 7, 50):
        pieces = [schema.encode(chunk) for chunk in table.chunks(n_rows)]
        np.testing.assert_array_equal(np.concatenate(pieces), expected)


def test_a_bad_cell_in_a_later_chunk(tmp_path):
    path = tmp_path / "data.csv"
    rows = [f"{i},{i}" for i in range(3000)]
    path.write_text("\n".join(["a,y", *rows]))
    table = open_table(path)
    schema = TableSchema.infer(table.read(), targets=["y"])
    for cell, complaint in [
        ("oops", "'oops' is not a number"),
        ("1e999", "(inf|'1e999') is not a finite number"),
    ]:
        rows[2344] = f"{cell},{cell}"
        path.write_text("\n".join(["a,y", *rows]))
        for use in (schema.encode, schema.target_values):
            with pytest.raises(TableError, match=f"row 2345: {complaint}"):
                list(map(use, table.chunks(1000)))


# The stored description


@st.composite
def tables(draw):
    """Tables with all kinds of columns, and missing cells in some of them."""
    n = draw(st.integers(1, 6))

    def column(cells, missing=None):
        cells = st.one_of(cells, st.just(missing)) if draw(st.booleans()) else cells
        return draw(st.lists(cells, min_size=n, max_size=n))

    finite = st.floats(allow_nan=False, allow_infinity=False)
    columns = {
        "f": column(finite, np.nan),
        "i": column(st.integers(-(2**62), 2**62)),
        "t": column(st.text(max_size=4)),
        "b": column(st.sampled_from(["yes", "No"])),
        "ü, \n": column(st.booleans()),
    }
    frame = pd.DataFrame({name: pd.Series(c) for name, c in columns.items()})
    # Drawn texts may be spelt like something else.
    frame["t"] = [None if cell is None else f"_{cell}" for cell in columns["t"]]
    return frame.assign(y=draw(finite)).dropna(axis=1, how="all")


@given(tables())
def test_round_trip_gives_the_same_bits(frame):
    if frame.shape[1] < 2:
        return
    schema = TableSchema.infer(frame, targets=["y"])
    text = json.dumps(schema.to_dict(), allow_nan=False)
    again = TableSchema.from_dict(json.loads(text))
    assert again == schema
    encoded = schema.encode(frame)
    assert encoded.tobytes() == again.encode(frame).tobytes()
    assert encoded.shape == (len(frame), len(schema.encoded_names))
    assert np.isfinite(encoded).all()
    # Rows do not depend on each other.
    for i in range(len(frame)):
        assert again.encode(frame[i : i + 1]).tobytes() == encoded[i].tobytes()


def test_the_description_is_plain():
    _, schema = infer(a=[1, None], b=["x", "y"])
    assert schema.to_dict() == {
        "targets": ["y"],
        "features": [
            {
                **{"name": "a", "kind": "numeric", "categories": [], "fill": 1.0},
                **{"has_missing": True, "is_constant": False},
            },
            {
                **{"name": "b", "kind": "categorical", "categories": ["x", "y"]},
                **{"fill": None, "has_missing": False, "is_constant": False},
            },
        ],
        "ids": [],
    }


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"targets": None}, "targets of the table schema must be a list, got None"),
        ({"targets": "y"}, "targets of the table schema must be a list, got 'y'"),
        ({"targets": []}, "a table schema needs a target and a feature"),
        ({"targets": [1]}, "the targets must be text, got 1"),
        ({"targets": ["a"]}, "the table schema uses column 'a' twice"),
        ({"features": []}, "a table schema needs a target and a feature"),
        ({"features": [3]}, "a feature of the table schema must be an object"),
        ({"ids": ["i", "i"]}, "the ids must differ, got 'i' twice"),
        ({"version": 2}, "the table schema has the unknown entry 'version'"),
    ],
)
def test_malformed_descriptions(change, sentence):
    good = infer(a=[1, None])[1].to_dict()
    with pytest.raises(TableError, match=re.escape(sentence)):
        TableSchema.from_dict({**good, **change})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 3}, "the name of a feature must be text, got 3"),
        ({"kind": "date"}, "feature 'a' has the unknown kind 'date'"),
        ({"kind": ["numeric"]}, "feature 'a' has the unknown kind"),
        ({"kind": "categorical"}, "feature 'a' is categorical, which does not go with"),
        ({"kind": "boolean"}, "feature 'a' is boolean, which does not go with fill 3"),
        ({"categories": "xy"}, "categories of the table schema must be a list"),
        ({"categories": [1]}, "categories of feature 'a' must be text, got 1"),
        ({"categories": ["x", "x"]}, "must differ, got 'x' twice"),
        ({"categories": ["x"]}, "feature 'a' is numeric, which does not go with fill"),
        ({"fill": None}, "does not go with fill None and 0 categories"),
        ({"fill": True}, "does not go with fill True"),
        ({"fill": "1"}, "does not go with fill '1'"),
        ({"fill": float("nan")}, "does not go with fill nan"),
        ({"fill": 10**400}, "does not go with fill 1000"),
        ({"has_missing": 1}, "has_missing of feature 'a' must be true or false"),
        ({"is_constant": None}, "is_constant of feature 'a' must be true or false"),
        ({"extra": 1}, "a feature of the table schema has the unknown entry 'extra'"),
    ],
)
def test_malformed_features(change, sentence):
    good = infer(a=[3, None])[1].to_dict()
    good["features"][0].update(change)
    with pytest.raises(TableError, match=re.escape(sentence)):
        TableSchema.from_dict(good)
    for key in list(good):
        with pytest.raises(TableError, match=f"the table schema lacks '{key}'"):
            TableSchema.from_dict({k: v for k, v in good.items() if k != key})
