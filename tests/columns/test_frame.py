"""Tables of other libraries, and cells of rarer types."""

import io
import uuid
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest

from betanll.columns import ColumnEncoder, TableError, as_pandas, is_frame

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")


def test_an_index_in_a_table_of_arrow():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 8], name="id"))
    with pytest.warns(UserWarning, match="'id' is the index of a pandas table"):
        assert list(as_pandas(pyarrow.Table.from_pandas(frame))) == ["a"]
    # Where nothing but the name tells.
    hidden = io.BytesIO()
    frame.rename_axis(None).to_parquet(hidden)
    hidden.seek(0)
    table = polars.read_parquet(hidden)
    assert "__index_level_0__" in table.columns
    with pytest.warns(UserWarning, match="'__index_level_0__' is the index"):
        assert list(as_pandas(table)) == ["a"]
    damaged = pyarrow.table({"a": [1]}).replace_schema_metadata({"pandas": "[{"})
    assert list(as_pandas(damaged)) == ["a"]


def test_a_name_twice():
    table = pyarrow.table([[1], [2]], names=["a", "a"])
    with pytest.raises(TableError, match="the name 'a' is shared by several columns"):
        as_pandas(table)


def test_nearly_tables():
    for data, sentence in [
        (polars.LazyFrame({"a": [1]}), "call collect"),
        (pd.Series([1]), "got a Series, a single column"),
        (polars.Series([1]), "got a Series, a single column"),
        (pyarrow.RecordBatch.from_pydict({"a": [1]}), "got a RecordBatch: make it"),
    ]:
        with pytest.raises(TableError, match=sentence):
            is_frame(data)


@pytest.mark.parametrize(
    "table",
    [
        polars.DataFrame({"a": [[1, 2], [3, 4]], "b": [1, 2]}),
        polars.DataFrame({"a": [{"k": 1}, {"k": 2}], "b": [1, 2]}),
        polars.DataFrame(
            {"a": [[1, 2], [3, 4]], "b": [1, 2]},
            schema_overrides={"a": polars.Array(polars.Int64, 2)},
        ),
        pyarrow.table({"a": [[1, 2], [3, 4]], "b": [1, 2]}),
        pyarrow.table({"a": [[1, 2], [3, 4]]}).to_pandas(types_mapper=pd.ArrowDtype),
    ],
)
def test_nested_columns(table):
    with pytest.raises(TableError, match=r"column 'a', row 1: .* is neither a number"):
        ColumnEncoder.infer(as_pandas(table))


def test_cells_of_rarer_types(kind, infer):
    assert kind(pd.cut([1, 2, 3, 4], 2)) == "category"
    assert kind(pd.interval_range(0, 2)) == "category"
    assert kind(pd.period_range("2020-01", periods=3, freq="M")) == "date"
    assert kind([uuid.uuid4(), uuid.uuid4()]) == "category"
    assert kind([b"red", b"blue"]) == "category"
    frame, encoder = infer(a=[Fraction(1, 2), Fraction(3, 2), None], b=[b"1", b"2", 3])
    assert encoder.encode(frame).tolist() == [[0.5, 0, 1], [1.5, 0, 2], [1, 1, 3]]
    frame, encoder = infer(a=[Decimal("sNaN"), Decimal("NaN"), Decimal(3)])
    assert encoder.encode(frame).tolist() == [[3, 1], [3, 1], [3, 0]]
