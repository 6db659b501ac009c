"""Columns of dates: odd cells, dates that are numbers, and other ways to store them."""

import datetime

import numpy as np
import pandas as pd
import pytest

from betanll.columns import ColumnEncoder, TableError

TEXTS = [f"2020-0{1 + i % 6}-{10 + i % 17}" for i in range(59)]


def by_day(texts):
    return [pd.Timestamp(text).strftime("%d/%m/%Y") for text in texts]


@pytest.mark.parametrize("bad", ["2020-13-45", "0000-00-00", "unknown", "0", 7])
def test_few_bad_dates_count_as_missing(infer, notes, bad):
    cells = [bad, *TEXTS]
    frame, encoder = infer(a=cells)
    column = encoder.columns[0]
    assert (column.kind, column.has_missing, column.has_text) == ("date", True, True)
    (note,) = notes(cells)
    assert note == (
        f"is read as dates; row 1: {bad!r} is not of the format ISO8601 and counts "
        "as missing"
    )
    encoded = encoder.encode(frame)
    assert encoded[:2, -1].tolist() == [1, 0]
    # Later tables are read alike, also some rows of the same table.
    np.testing.assert_array_equal(encoder.encode(frame[:1]), encoded[:1])
    some = ColumnEncoder.infer(frame[1:], {"a": column})
    assert some.columns[0].has_text
    assert not some.notes


def test_bad_dates_of_a_format(notes):
    cells = ["31/02/2020", *by_day(TEXTS), "30/02/2020"]
    (note,) = notes(cells)
    assert "row 1: '31/02/2020' and 1 more cells are not of the format %d/%m/%Y" in note


def test_many_bad_dates_make_no_dates(kind, infer):
    assert kind([*TEXTS, *(f"x-{i}" for i in range(9)), *TEXTS * 2]) == "category"
    assert kind(["2020-01-01"] * 9 + ["2020-13-45"] * 3) == "category"
    with pytest.raises(TableError, match="row 1: '2020-13-45' is not a date of the"):
        infer({"a": "date:%Y-%m-%d"}, a=["2020-13-45", *TEXTS])


def test_formats_that_agree_are_not_doubted(notes):
    assert notes(["2020/01/31", "2020/02/28"]) == ()


@pytest.mark.parametrize("far", ["9999-12-31", "1900-01-01"])
def test_dates_that_stand_for_none(infer, notes, far):
    (note,) = notes([*TEXTS, far, far])
    assert note == (
        f"has 2 cells {far}, far from the other dates: if they stand for no date, give "
        f"--na-values {far}"
    )
    near = [f"{year}-01-01" for year in range(1880, 1990)]
    assert notes(near) == ()


@pytest.mark.parametrize(
    ("form", "numbers", "later"),
    [
        ("%Y%m%d", [19580329, 20200131, 20200131], 20200131.0),
        ("%m%d%y", [111597, 10297, 60788], "010297"),
        ("%Y", [1999, 2004, 2010], "2004"),
    ],
)
def test_numbers_as_dates(infer, form, numbers, later):
    texts = [str(number).zfill(8 if form == "%Y%m%d" else 6) for number in numbers]
    texts = list(map(str, numbers)) if form == "%Y" else texts
    expected, other = infer(
        {"a": "date"}, a=[datetime.datetime.strptime(text, form) for text in texts]
    )
    for cells in (numbers, [float(number) for number in numbers], texts):
        frame, encoder = infer({"a": f"date:{form}"}, a=cells)
        np.testing.assert_array_equal(encoder.encode(frame), other.encode(expected))
        row = encoder.encode(pd.DataFrame({"a": [later]}))
        np.testing.assert_array_equal(row, encoder.encode(frame)[1:2])
    with pytest.raises(TableError, match=r"row 2: 12\.5 is not a date of the format"):
        infer({"a": f"date:{form}"}, a=[numbers[0], 12.5])


def test_numbers_that_look_like_dates_get_a_note(infer, notes):
    days = [20200101 + i for i in range(9)]
    assert notes(days) == (
        "looks like dates of the form 20200131; --as a=date:%Y%m%d reads it so",
    )
    assert notes([*days, 20200132]) == notes(days[:3]) == ()
    _, encoder = infer({"a": "date"}, a=days)
    assert encoder.columns[0].date_format == "%Y%m%d"


def test_typed_dates_in_training_and_texts_later(infer):
    frame, encoder = infer(a=pd.to_datetime(TEXTS))
    texts = pd.DataFrame({"a": TEXTS})
    np.testing.assert_array_equal(encoder.encode(texts), encoder.encode(frame))
    with pytest.raises(TableError, match="row 1: 'soon' is not a date"):
        encoder.encode(pd.DataFrame({"a": ["soon"]}))
