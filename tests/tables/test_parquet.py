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
    expected = schema.encoder.encode(text.read())
    np.testing.assert_array_equal(schema.encoder.encode(parquet.read()), expected)
    pieces = [schema.encoder.encode(chunk) for chunk in parquet.chunks(7)]
    np.testing.assert_array_equal(np.concatenate(pieces), expected)
    # Dictionaries and narrow numbers
    narrow = FRAME.astype({"b": "category", "y": "int16"})
    table = open_table(write(narrow))
    np.testing.assert_array_equal(schema.encoder.encode(table.read()), expected)
    np.testing.assert_array_equal(schema.target_values(table.read())[:, 0], FRAME["y"])


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (pd.to_datetime(["2020-01-01", "2020-02-01", None]), "date"),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), None], "date"),
        (pd.to_timedelta([1, 2, 3], unit="s"), "number"),
        ([datetime.time(12), datetime.time(13), None], "number"),
    ],
)
def test_times(write, cells, kind):
    frame = pd.DataFrame({"when": cells, "y": [1, 2, 3]})
    read = open_table(write(frame)).read()
    schema = TableSchema.infer(read, targets=["y"])
    assert schema.encoder.columns[0].kind == kind
    assert len(np.unique(schema.encoder.encode(read)[:2, 0])) == 2


@pytest.mark.parametrize("cells", [[[1], [2], [3]], [{"k": 1}, {"k": 2}, {"k": 3}]])
def test_columns_that_cannot_be_used(write, cells):
    frame = pd.DataFrame({"when": cells, "x": [1, 2, 3], "y": [1, 2, 3]})
    read = open_table(write(frame)).read()
    sentence = "'when', row 1: .* is neither a number nor text.*--drop when"
    for target in ("y", "when"):
        with pytest.raises(TableError, match=sentence):
            TableSchema.infer(read, targets=[target])
    schema = TableSchema.infer(read, targets=["y"], drop=["when"])
    assert schema.encoder.encode(read).tolist() == [[1], [2], [3]]


def test_decimals_are_numbers(write):
    from decimal import Decimal

    frame = pd.DataFrame(
        {"x": [Decimal("1.50"), None, Decimal("3.25")], "y": [1, 2, 3]}
    )
    read = open_table(write(frame)).read()
    schema = TableSchema.infer(read, targets=["y"])
    assert schema.encoder.encode(read).tolist() == [[1.5, 0], [2.375, 1], [3.25, 0]]


def test_faults(write, tmp_path):
    with pytest.raises(TableError, match=r"data.parquet: the file has column names b"):
        open_table(write(FRAME[:0]))
    path = write(FRAME)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(
        TableError, match=r"data.parquet: the file is broken or not Parq"
    ):
        open_table(path)
    path.write_bytes(b"")
    with pytest.raises(TableError, match=r"data.parquet: the file is empty"):
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


# The index of pandas


def changed_metadata(path, change):
    """Rewrite a file with other metadata of pandas: bytes, or None for none at all."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(path)
    metadata = {**table.schema.metadata, b"pandas": change}
    kept = {key: value for key, value in metadata.items() if value is not None}
    parquet.write_table(table.replace_schema_metadata(kept), path)
    return path


@pytest.mark.parametrize(
    ("frame", "columns", "index"),
    [
        (FRAME, "abcy", []),
        (FRAME[::2], "abcy", []),  # still a range
        (FRAME.sample(100, random_state=0), "abcy", ["__index_level_0__"]),
        (FRAME.set_index("b"), "acy", ["b"]),
        (FRAME.set_index(["y", "b"]), "ac", ["b", "y"]),
        (FRAME.set_index(["b", -FRAME.index]), "acy", ["__index_level_1__", "b"]),
        (FRAME.rename(columns={"a": "b.x"}).set_index("b"), ["b.x", "c", "y"], ["b"]),
    ],
)
def test_the_index_of_pandas_is_not_a_column(write, frame, columns, index):
    table = open_table(write(frame, row_group_size=30))
    assert (list(table.columns), sorted(table.index)) == (list(columns), index)
    pieces = [table.read(), table.read(nrows=50), *table.chunks(7)]
    assert all(list(piece.columns) == list(columns) for piece in pieces)
    assert pd.concat(pieces[2:]).index.tolist() == list(range(len(frame)))
    np.testing.assert_array_equal(pieces[0]["c"], frame["c"])
    # Other programs write files without metadata, in which names alone tell an index.
    plain = open_table(changed_metadata(table.path, None))
    named = [name for name in index if name in FRAME]
    assert set(plain.columns) == {*columns, *named}
    assert set(plain.index) == {*index} - {*named}


def test_nothing_but_an_index(write):
    with pytest.raises(TableError, match=r"belong to the index .*: call reset_index()"):
        open_table(write(FRAME[["b"]].set_index("b")))


@pytest.mark.parametrize(
    "metadata",
    [
        *(b"", b"\xff\xfe", b"null", b"[]", b"3", b"{", b'"text"', b"[" * 100_000),
        *(b'{"index_columns": %s}' % odd for odd in (b"null", b"3", b"{}", b'"a"')),
        b'{"index_columns": [null, 3, {"kind": "range"}, ["a"], "nowhere"]}',
        b'{"index_columns": %s}' % (b"9" * 5000),
    ],
)
def test_damaged_metadata_of_pandas(write, metadata):
    table = open_table(changed_metadata(write(FRAME), metadata))
    assert table.columns == ("a", "b", "c", "y")
    assert table.read()["y"].tolist() == FRAME["y"].tolist()


def test_text_that_is_not_utf8(write):
    path = write(pd.DataFrame({"a": ["größe", "länge", "x"], "y": [1, 2, 3]}))
    path.write_bytes(path.read_bytes().replace("ö".encode(), b"\xff\xfe"))
    table = open_table(path)
    for read in (table.read, lambda: table.read(1), lambda: list(table.chunks(2))):
        with pytest.raises(TableError, match=r"broken or not Parquet: .*UTF8"):
            read()


def test_a_tilde_in_a_path_is_a_name(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for user in ("~", "~nouser"):
        (tmp_path / user).mkdir()
        write(FRAME).rename(tmp_path / user / "data.parquet")
        assert len(open_table(f"{user}/data.parquet").read()) == 100


def test_repeated_names(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = [pyarrow.array([1, 2]), pyarrow.array([3, 4])]
    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.Table.from_arrays(columns, names=["a", "a"]), path)
    table = open_table(path)
    assert table.columns == ("a", "a.2")
    assert table.notes == (
        "the name 'a' is shared by 2 columns, which are called 'a', 'a.2'.",
    )
    for frame in (table.read(), table.read(2), *table.chunks(5)):
        assert frame.to_dict("list") == {"a": [1, 2], "a.2": [3, 4]}


def test_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "data.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"pyarrow: install betanll\[parquet\]$"):
        open_table(tmp_path / "data.parquet")
