"""What columns mean, and training tables that are refused."""

import datetime
import re

import numpy as np
import pandas as pd
import pytest

from betanll.columns import Column, ColumnEncoder, TableError, as_pandas

DAYS = pd.date_range("2020-01-31", periods=4, freq="40D")


def test_kinds(kind):
    assert kind([1, 2, 3]) == kind([0, 1, 1]) == kind(["0", "1", "1"]) == "number"
    assert kind(["1.5", None, "1e3", "?"]) == "number"
    assert kind(np.array([1, 2], np.uint8)) == kind(pd.array([1, None])) == "number"
    for pair in (["true", "FALSE"], ["Yes", "no"], ["t", "F"], ["y", "N"]):
        assert kind([*pair, None, pair[0]]) == "boolean"
    assert kind([True, False]) == kind([True, None]) == kind(["yes"]) == "boolean"
    assert kind(pd.array([True, None])) == "boolean"
    assert kind(["red", "blue"]) == kind(["yes", "maybe"]) == "category"
    # A lone letter, and letters of different pairs
    assert kind(["F", "F"]) == kind(["T", "N"]) == "category"
    # Less than half are numbers.
    assert kind(["a", "b", "1"]) == "category"
    assert kind(pd.Categorical(["a", "b", "a"])) == "category"
    assert kind([None, "NA"]) == "ignored"


def test_dates(kind, infer):
    assert kind(DAYS) == kind(DAYS.tz_localize("Asia/Tokyo")) == "date"
    assert kind([datetime.date(2020, 1, 1), None]) == kind(["2020-01-31", ""]) == "date"
    assert kind(["31.12.2020", "1.2.2021"]) == kind(["Jan 5, 2020"] * 2) == "date"
    assert kind([datetime.timedelta(hours=6)] * 2) == "number"
    assert kind(["1-2", "3-4"]) == kind(["555-1234", "555-9999"]) == "category"
    # The same dates in several spellings give the same numbers.
    expected = infer(a=DAYS)[1].encode(pd.DataFrame({"a": DAYS}))
    for cells in (
        DAYS.strftime("%Y-%m-%d"),
        DAYS.strftime("%d.%m.%Y"),
        DAYS.strftime("%d %b %Y"),
        DAYS.date,
        DAYS.tz_localize("UTC"),
    ):
        frame, encoder = infer(a=cells)
        np.testing.assert_array_equal(encoder.encode(frame), expected)


def test_parts_of_dates(infer):
    frame, encoder = infer(a=["2020-03-01 06:00", "2021-03-01 18:00", "2021-03-03"])
    names = [name.removeprefix("a: ") for name in encoder.encoded_names]
    found = dict(zip(names, encoder.encode(frame).T, strict=True))
    assert found["elapsed days"].tolist() == [-365.5, 0, 1.25]
    assert found["year"].tolist() == [2020, 2021, 2021]
    assert found["weekday"].tolist() == [6, 0, 2]  # Sunday, Monday, Wednesday
    assert found["hour"].tolist() == [6, 18, 0]
    np.testing.assert_allclose(found["day sine"], [1, -1, 0], atol=1e-9)
    np.testing.assert_allclose(found["day cosine"], [0, 0, 1], atol=1e-9)
    # All are in March.
    assert "month" not in found


def test_days_before_months_are_said(notes, infer):
    assert notes(["13.02.2020", "14.03.2020"]) == ()
    assert notes(["13/02/2020", "14/03/2020"]) == ()
    (note,) = notes(["01/02/2020", "03/04/2020"])
    assert note == (
        "is read as dates of the format %m/%d/%Y, but %d/%m/%Y fits as well: choose "
        "with --as a=date:%d/%m/%Y"
    )
    cells = ["01/02/2020", "03/04/2020"]
    frame, encoder = infer({"a": "date:%d/%m/%Y"}, a=cells)
    month = encoder.encoded_names.index("a: month")
    assert encoder.encode(frame)[:, month].tolist() == [2, 4]


def test_columns_in_full(infer):
    frame, encoder = infer(
        age=[1.0, np.nan, 4.0, 2.0],
        smokes=["yes", "no", "", "yes"],
        eyes=["blue", "brown", "blue", "NA"],
        size=[3, 3, 3, 3],
    )
    assert encoder.columns == (
        Column("age", "number", fill=2.0, has_missing=True),
        Column("smokes", "boolean", fill=1.0, has_missing=True),
        Column("eyes", "category", levels=("blue", "brown"), has_missing=True),
        Column("size", "number", fill=3.0),
    )
    assert encoder.encoded_names == (
        *("age", "age is missing", "smokes", "smokes is missing"),
        *("eyes=blue", "eyes=brown", "eyes is missing", "size"),
    )
    assert encoder.sources == (
        *("age", "age", "smokes", "smokes", "eyes", "eyes", "eyes", "size"),
    )
    expected = [
        [1, 0, 1, 0, 1, 0, 0, 3],
        [2, 1, 0, 0, 0, 1, 0, 3],
        [4, 0, 1, 1, 1, 0, 0, 3],
        [2, 0, 1, 0, 0, 0, 1, 3],
    ]
    encoded = encoder.encode(frame)
    np.testing.assert_array_equal(encoded, expected)
    assert encoded.dtype == np.float32
    assert encoder.surprise_notes(frame) == []
    assert encoder.encode(frame[:0]).shape == (0, 8)


def test_rare_levels_are_one_level(infer):
    cells = ["a"] * 5 + ["b"] * 3 + ["c", "d", "d"]
    frame, encoder = infer(x=cells)
    assert encoder.columns[0] == Column(
        "x", "category", levels=("a", "b"), has_rare=True
    )
    assert encoder.encoded_names == ("x=a", "x=b", "x is rare")
    assert encoder.encode(frame)[-1].tolist() == [0, 0, 1]
    # Unseen levels are rare ones.
    assert encoder.encode(pd.DataFrame({"x": ["new", "a"]})).tolist() == [
        [0, 0, 1],
        [1, 0, 0],
    ]
    # In a table of rare levels alone, each is kept.
    assert infer(x=list("abcd"))[1].columns[0].levels == tuple("abcd")


def test_texts_among_numbers_count_as_missing(infer, notes):
    cells = [*map(str, range(30)), "unknown", "unknown", None]
    frame, encoder = infer(a=cells)
    assert encoder.columns[0] == Column(
        "a", "number", has_missing=True, fill=14.5, has_text=True
    )
    assert encoder.encode(frame)[-3:].tolist() == [[14.5, 1]] * 3
    (note,) = notes(cells)
    assert note == (
        "is read as numbers; row 31: 'unknown' and 1 more cells count as missing; "
        "--as a=category reads it as categories"
    )
    # Whatever the other rows of the same call are.
    assert encoder.encode(pd.DataFrame({"a": ["x", "y"]})).tolist() == [[14.5, 1]] * 2
    assert encoder.encode(pd.DataFrame({"a": ["x", "3"]})).tolist()[0] == [14.5, 1]
    # Other rows of the table need not have such texts.
    some = ColumnEncoder.infer(frame[:30], {"a": encoder.columns[0]})
    assert some.columns[0].has_text
    assert not some.notes
    # Many different texts are no marks of missing numbers.
    tickets = [*map(str, range(30)), *(f"A{i}" for i in range(20))]
    assert infer(a=tickets * 2)[1].columns[0].kind == "category"


def test_chosen_kinds(infer):
    cells = ["1", "2", "2"]
    assert infer({"a": "category"}, a=cells)[1].columns[0].levels == ("1", "2")
    with pytest.raises(TableError, match="none of the columns 'a' can be used"):
        infer({"a": "ignored"}, a=cells)
    for kinds, sentence in [
        ({"b": "number"}, "there is no column 'b'"),
        ({"a": "text"}, "column 'a' cannot be read as 'text': choose one of number"),
        ({"a": "number:%d"}, "column 'a' cannot be read as 'number:%d'"),
        ({"a": "date:%Q%Y"}, "column 'a' cannot be read as 'date:%Q%Y'"),
        (["a"], "kinds of columns must be a mapping such as {'zip': 'category'}"),
        ({"a": "date:day"}, "column 'a' cannot be read as 'date:day'"),
        ({"a": "date"}, "column 'a', row 1: '1' is not a date"),
        ({"a": "boolean"}, "column 'a', row 2: '2' is neither true nor false"),
    ]:
        with pytest.raises(TableError, match=re.escape(sentence)):
            infer(kinds, a=cells)
    with pytest.raises(TableError, match="column 'a', row 3: 'x' is not a number"):
        infer({"a": "number"}, a=["1", "2", "x"])


def test_extreme_numbers(infer):
    big = 1.7976931348623157e308
    frame, encoder = infer(a=[1e30, -1e30, 1e-30, 5e-324], b=[big, big, big, None])
    assert [column.fill for column in encoder.columns] == [0.5e-30, big]
    expected = [[1e30, big, 0], [-1e30, big, 0], [1e-30, big, 0], [5e-324, big, 1]]
    np.testing.assert_array_equal(encoder.encode(frame), expected)
    assert infer(a=[big, big, -big, -big])[1].columns[0].fill == 0
    assert infer(a=[10**30, 1, 2])[1].columns[0].fill == 2


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([1, np.inf], "column 'a b', row 2: inf is not a finite number"),
        (["1e400", "1"], "column 'a b', row 1: '1e400' is not a finite number"),
        ([1j, 2j], "column 'a b' holds complex numbers"),
        (["x", [1, 2]], "column 'a b', row 2: [1, 2] is neither a number nor text"),
        ([{"k": 1}, None], "leave the column out with --drop 'a b'"),
        ([object(), 1], "is neither a number nor text nor a date"),
    ],
)
def test_faults_of_columns(infer, cells, sentence):
    with pytest.raises(TableError, match=re.escape(sentence)):
        infer(**{"a b": cells})


def test_all_faults_are_in_one_message(infer):
    with pytest.raises(TableError, match=r"'a', row 1: .*; column 'b', row 2: "):
        infer(a=[np.inf, 1], b=["x", [1]], c=[1, 2])


def test_identifiers_are_not_used(infer, kind, notes):
    texts = [f"z-{i:03d}" for i in range(51)]
    assert kind(texts + texts[:50]) == "ignored"
    assert notes(texts + texts[:50]) == (
        "has 51 different texts in 101 rows, so it is not used; "
        "--as a=category uses it",
    )
    # Few texts, or texts that occur twice, are categories.
    assert kind(texts + texts) == kind(texts[:50]) == "category"


def test_names(infer):
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "y"])
    with pytest.raises(TableError, match="the name 'a' is shared by several columns"):
        as_pandas(frame)
    assert list(as_pandas(pd.DataFrame([[1, 2]])).columns) == ["0", "1"]
    frame.columns = ["a", (5, 6), "y"]
    with pytest.raises(TableError, match=r"column names must be text, got \(5, 6\)"):
        as_pandas(frame)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n", [309, 400, 5000])
def test_whole_numbers_beyond_the_largest_float(infer, n, sign):
    """Also those with more digits than Python spells out."""
    cell = sign * 10**n
    with pytest.raises(TableError, match=r"row 3: .{,45} is not a finite number$"):
        infer(a=[1, 2, cell])
    _, encoder = infer(a=["x", "y", "z"], b=["yes", "no", "no"])
    with pytest.raises(TableError, match=r"'b', row 1: .{,45} is neither true nor"):
        encoder.encode(pd.DataFrame({"a": [cell], "b": [cell]}))


@pytest.mark.parametrize("module", ["polars", "pyarrow"])
def test_frames_of_other_libraries(module):
    library = pytest.importorskip(module)
    columns = {
        "i": [1, None, 3, 4],
        "b": [True, None, False, True],
        "s": ["a", None, "b", "a"],
        "d": [datetime.date(2020, 1, 1), None, *[datetime.date(2021, 2, 3)] * 2],
        "t": [datetime.datetime(2020, 1, 1, 5), None, *DAYS[:2].to_pydatetime()],
    }
    make = library.DataFrame if module == "polars" else library.table
    frame = as_pandas(make(columns))
    expected = pd.DataFrame(columns)
    encoder = ColumnEncoder.infer(expected)
    assert ColumnEncoder.infer(frame) == encoder
    np.testing.assert_array_equal(encoder.encode(frame), encoder.encode(expected))


def test_precision(infer):
    other = ["a", "b", "a"]

    def dtype(cells, **columns):
        frame, encoder = infer(a=cells, **columns)
        return encoder.encode(frame).dtype

    assert dtype([1.0, 2.0, 3.0]) == dtype([1.0, None, 3.0]) == np.float64
    assert dtype([1.0, 2.0, 3.0], b=other) == np.float32
    # Time stamps in seconds, large ids, and numbers outside of single precision
    for cells in (
        [1.6e9 + 0.5, 1.6e9 + 1, 1.6e9 + 2],
        [2**24 + 1, 1, 2],
        [1e-35, 1, 2],
    ):
        frame, encoder = infer(a=cells, b=other)
        assert encoder.encode(frame)[:, 0].tolist() == cells
        # Later rows have the same precision.
        assert encoder.encode(frame[1:2]).dtype == np.float64
