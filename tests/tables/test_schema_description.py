"""The stored description of a table, whole and malformed."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betanll.tables import TableError, TableSchema


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


def test_the_description_is_plain(infer):
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
        ({"targets": ["\ud800"]}, r"the targets must be Unicode text, got '\ud800'"),
        ({"targets": ["a"]}, "the table schema uses column 'a' twice"),
        ({"features": []}, "a table schema needs a target and a feature"),
        ({"features": [3]}, "a feature of the table schema must be an object"),
        ({"ids": ["i", "i"]}, "the ids must differ, got 'i' twice"),
        ({"version": 2}, "the table schema has the unknown entry 'version'"),
    ],
)
def test_malformed_descriptions(infer, change, sentence):
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
        ({"categories": ["\udfff"]}, "of feature 'a' must be Unicode text, got"),
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
def test_malformed_features(infer, change, sentence):
    good = infer(a=[3, None])[1].to_dict()
    good["features"][0].update(change)
    with pytest.raises(TableError, match=re.escape(sentence)):
        TableSchema.from_dict(good)
    for key in list(good):
        with pytest.raises(TableError, match=f"the table schema lacks '{key}'"):
            TableSchema.from_dict({k: v for k, v in good.items() if k != key})
