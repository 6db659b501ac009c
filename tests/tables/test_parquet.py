"""Parquet files: the same tables as from text, and the sentence of each fault."""

import datetime
import sys

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableError, TableSchema, open_table

FRAME = pd.DataFrame(
    {
        "a": [1.5, np.nan, 1e30, 1e-30] * 25,
        "b": ["red", None, "blue", "red"] * 25,
        "c": [True, False, None, True] * 25,
        "y": [i * i for i in range(100)],
    }
)


@pytest.fixture
def write(tmp_path):
    pytest.importorskip("pyarrow")

    def write(frame, **options):
        frame.to_parquet(tmp_path / "data.parquet", engine="pyarrow", **options)
        return tmp_path / "data.parquet"

    return write


def test_chunks_equal_the_whole(write):
    table = open_table(write(FRAME, row_group_size=30))
    assert table.columns == ("a", "b", "c", "y")
    assert table.has_header
    whole = table.read()
    np.testing.assert_array_equal(whole["a"], FRAME["a"])
    assert whole["y"].tolist() == FRAME["y"].tolist()
    for n_rows in (7, 30, 100, 1000):
        chunks = list(table.chunks(n_rows))
        assert max(len(chunk) for chunk in chunks) <= n_rows
        joined = pd.concat(chunks)
        assert joined.index.tolist() == list(range(100))
        np.testing.assert_array_equal(joined["a"], FRAME["a"])
        assert joined["b"].fillna("").tolist() == FRAME["b"].fillna("").tolist()
    for n_rows in (1, 31, 100, 1000):
        some = table.read(n_rows)
        pd.testing.assert_frame_equal(some, whole[:n_rows], check_dtype=False)


def test_the_same_matrix_as_from_text(write, tmp_path):
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    text, parquet = open_table(tmp_path / "data.csv"), open_table(write(FRAME))
    schema = TableSchema.infer(text.read(), targets=["y"])
    assert TableSchema.infer(parquet.read(), targets=["y"]) == schema
    expected = schema.encode(text.read())
    np.testing.assert_array_equal(schema.encode(parquet.read()), expected)
    pieces = [schema.encode(chunk) for chunk in parquet.chunks(7)]
    np.testing.assert_array_equal(np.concatenate(pieces), expected)
    # Dictionaries, narrow numbers and an index of pandas
    narrow = FRAME.astype({"b": "category", "y": "int16"}).set_index("y")
    table = open_table(write(narrow))
    assert set(table.columns) == {"a", "b", "c", "y"}
    np.testing.assert_array_equal(schema.encode(table.read()), expected)
    np.testing.assert_array_equal(schema.target_values(table.read())[:, 0], FRAME["y"])


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (
            pd.to_datetime(["2020-01-01"] * 3),
            "'when' holds dates or times.*--drop when",
        ),
        (pd.to_timedelta([1, 2, 3], unit="s"), "'when' holds dates or times"),
        ([datetime.date(2020, 1, 1)] * 3, "'when' holds dates or times"),
        ([datetime.time(12)] * 3, "'when' holds dates or times"),
        ([[1], [2], [3]], "'when' holds neither numbers nor text: .*--drop when"),
        ([b"a", b"b", b"c"], "'when' holds neither numbers nor text"),
    ],
)
def test_columns_that_cannot_be_used(write, cells, sentence):
    frame = pd.DataFrame({"when": cells, "x": [1, 2, 3], "y": [1, 2, 3]})
    read = open_table(write(frame)).read()
    with pytest.raises(TableError, match=sentence):
        TableSchema.infer(read, targets=["y"])
    with pytest.raises(TableError, match=sentence):
        TableSchema.infer(read, targets=["when"])
    schema = TableSchema.infer(read, targets=["y"], drop=["when"])
    assert schema.encode(read).tolist() == [[1], [2], [3]]


def test_decimals_are_numbers(write):
    from decimal import Decimal

    frame = pd.DataFrame(
        {"x": [Decimal("1.50"), None, Decimal("3.25")], "y": [1, 2, 3]}
    )
    read = open_table(write(frame)).read()
    schema = TableSchema.infer(read, targets=["y"])
    assert schema.encode(read).tolist() == [[1.5, 0], [2.375, 1], [3.25, 0]]


def test_faults(write, tmp_path):
    with pytest.raises(TableError, match=r"data.parquet: the file has column names b"):
        open_table(write(FRAME[:0]))
    path = write(FRAME)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(
        TableError, match=r"data.parquet: the file is broken or no Parq"
    ):
        open_table(path)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(
        TableError, match=r"data.parquet: the file is broken or no Parq"
    ):
        open_table(path)
    path.write_bytes(b"")
    with pytest.raises(
        TableError, match=r"data.parquet: the file is broken or no Parq"
    ):
        open_table(path)
    # The foot is whole, the data is not.
    path = write(FRAME)
    data = bytearray(path.read_bytes())
    data[4:300] = b"\xff" * 296
    path.write_bytes(data)
    table = open_table(path)
    for read in (table.read, lambda: table.read(5), lambda: list(table.chunks())):
        with pytest.raises(TableError, match=r"data.parquet: the file is broken"):
            read()


def test_repeated_names(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = [pyarrow.array([1, 2]), pyarrow.array([3, 4])]
    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.Table.from_arrays(columns, names=["a", "a"]), path)
    with pytest.raises(TableError, match="the name 'a' is shared by columns 1 and 2"):
        open_table(path)


def test_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "data.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"pyarrow: install betanll\[parquet\]$"):
        open_table(tmp_path / "data.parquet")
