"""The stored description of columns, whole and malformed."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betanll.columns import ColumnEncoder, TableError


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
        "d": column(st.dates().map(str)),
        "ü, \n": column(st.booleans()),
    }
    frame = pd.DataFrame({name: pd.Series(c) for name, c in columns.items()})
    # Drawn texts may be spelt like something else.
    frame["t"] = [None if cell is None else f"_{cell}" for cell in columns["t"]]
    return frame.assign(one=1.0)


@given(tables())
def test_round_trip_gives_the_same_bits(frame):
    encoder = ColumnEncoder.infer(frame)
    text = json.dumps(encoder.to_dict(), allow_nan=False)
    again = ColumnEncoder.from_dict(json.loads(text))
    assert again == encoder
    encoded = encoder.encode(frame)
    assert encoded.tobytes() == again.encode(frame).tobytes()
    assert encoded.shape == (len(frame), len(encoder.encoded_names))
    assert np.isfinite(encoded).all()
    # Rows do not depend on each other.
    for i in range(len(frame)):
        assert again.encode(frame[i : i + 1]).tobytes() == encoded[i].tobytes()


def test_the_description_is_plain(infer):
    _, encoder = infer(a=[1, None, 3], b=["x", "y", "x"], c=["$5", "$6,000", ""])
    assert encoder.to_dict() == [
        {"name": "a", "kind": "number", "has_missing": True, "fill": 2.0},
        {"name": "b", "kind": "category", "levels": ["x", "y"]},
        {
            **{"name": "c", "kind": "number", "has_missing": True, "fill": 3002.5},
            "notation": {"unit": "$", "decimal": "."},
        },
    ]


def test_statistics_are_kept():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": [f"l{i % 40}" for i in range(400)]})
    encoder, _ = ColumnEncoder.infer(frame).fit_encode(frame, rng.normal(size=(400, 1)))
    again = ColumnEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again == encoder
    np.testing.assert_array_equal(again.encode(frame), encoder.encode(frame))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 3}, "the name of a column must be text, got 3"),
        (
            {"name": "\ud800"},
            r"must be Unicode text, got '\ud800'",
        ),
        ({"kind": "colour"}, "column 'a' has the unknown kind 'colour'"),
        ({"kind": ["number"]}, "column 'a' has the unknown kind"),
        (
            {"kind": "category"},
            "'a' is read as category, which does not go with",
        ),
        ({"kind": "boolean"}, "is read as boolean, which does not go with fill 3"),
        ({"levels": "xy"}, "levels of a column must be a list"),
        ({"levels": [1]}, "levels of column 'a' must be text, got 1"),
        ({"levels": ["x", "x"]}, "must differ, got 'x' twice"),
        (
            {"levels": ["x"]},
            "'a' is read as number, which does not go with fill",
        ),
        ({"fill": None}, "does not go with fill None and 0 levels"),
        ({"fill": True}, "does not go with fill True"),
        ({"fill": "1"}, "does not go with fill '1'"),
        ({"fill": float("nan")}, "does not go with fill nan"),
        ({"fill": 10**400}, "does not go with fill 1000"),
        ({"has_missing": 1}, "has_missing of column 'a' must be true or false"),
        ({"has_rare": None}, "has_rare of column 'a' must be true or false"),
        ({"parts": ["year"]}, "column 'a' is read as number, which does not go with"),
        ({"kind": "date", "parts": ["era"]}, "column 'a' has the unknown part 'era'"),
        ({"kind": "date", "date_format": "%q"}, "unknown date format '%q'"),
        ({"statistics": [[1.0]]}, "column 'a' is read as number, which does not go"),
        ({"statistics": 3}, "statistics of a column must be a list, got 3"),
        ({"notation": 3}, "a notation has a unit and a decimal, got 3"),
        ({"notation": {"unit": "kg", "decimal": "."}}, "the unknown unit 'kg'"),
        ({"notation": {"unit": "$", "decimal": []}}, "unknown decimal mark []"),
        ({"extra": 1}, "a column has the unknown entry 'extra'"),
    ],
)
def test_malformed_columns(infer, change, sentence):
    (good,) = infer(a=[3, None])[1].to_dict()
    with pytest.raises(TableError, match=re.escape(sentence)):
        ColumnEncoder.from_dict([{**good, **change}])


def test_malformed_lists(infer):
    (good,) = infer(a=[3, None])[1].to_dict()
    for description, sentence in [
        (None, "the columns of a model must be a list, got NoneType"),
        ([3], "a column must be an object, got 3"),
        ([good, good], "the names of columns must differ, got 'a' twice"),
        ([{"name": "a"}], "a column lacks 'kind'"),
    ]:
        with pytest.raises(TableError, match=re.escape(sentence)):
            ColumnEncoder.from_dict(description)


def test_malformed_statistics():
    levels = [f"l{i}" for i in range(31)]
    good = {"name": "a", "kind": "category", "levels": levels}
    rows = [[0.0, 0.0, 1.0]] * 32
    encoder = ColumnEncoder.from_dict([{**good, "statistics": rows}])
    assert len(encoder.encoded_names) == 3
    for wrong in (rows[1:], [[0.0, 1.0]] * 32, [[None] * 3] * 32, [*rows[1:], [1.0]]):
        with pytest.raises(TableError, match="does not go with"):
            ColumnEncoder.from_dict([{**good, "statistics": wrong}])
