"""JSON: records one a line or in an array, and the sentence of each fault."""

import json

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableError, TableSchema, _json_stream, open_table

RECORDS = [
    {"id": "007", "a": i / 2, "b": ["red", "größe", None][i % 3], "c": i % 2 == 0}
    for i in range(40)
]
RECORDS[7].pop("a")
RECORDS[9]["late"] = 3


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.jsonl"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def lines(records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (lines(RECORDS), "t.jsonl"),
        (lines(RECORDS).replace("\n", "\r\n\r\n"), "t.ndjson"),
        ("\ufeff" + lines(RECORDS), "t.json"),
        (lines(RECORDS).encode("utf-16"), "t.jsonl"),
        (json.dumps(RECORDS), "t.json"),
        (json.dumps(RECORDS, indent=4), "t.jsonl"),
        (lines(RECORDS), "t"),
        (f"\n {json.dumps(RECORDS)} \n", "t"),
    ],
)
@pytest.mark.parametrize("block", [1, 10, 2**16])
def test_spellings_of_one_table(write, monkeypatch, content, name, block):
    monkeypatch.setattr(_json_stream, "_BLOCK", block)
    table = open_table(write(content, name))
    assert table.columns == ("id", "a", "b", "c", "late")
    assert table.has_header
    frame = table.read(text=["id"])
    assert frame["id"].tolist() == ["007"] * 40
    assert frame["a"].isna().tolist() == [i == 7 for i in range(40)]
    assert frame["b"].fillna("").tolist()[:3] == ["red", "größe", ""]
    assert frame["c"].dtype == bool
    assert frame["late"].dropna().tolist() == [3]
    assert len(table.read(5)) == 5


def test_chunks_equal_the_whole(write):
    table = open_table(write(lines(RECORDS)))
    frame = table.read()
    schema = TableSchema.infer(frame, targets=["a"], ids=["id"])
    X = schema.encoder.encode(frame)
    for n_rows in (1, 7, 100):
        pieces = list(table.chunks(n_rows))
        assert pd.concat(pieces).index.tolist() == list(range(40))
        matrices = [schema.encoder.encode(piece) for piece in pieces]
        np.testing.assert_array_equal(np.concatenate(matrices), X)


def test_a_nested_value_is_found_where_it_is_used(write):
    frame = open_table(write('{"a": 1, "y": 2}\n{"a": [1, 2], "y": 3}\n')).read()
    with pytest.raises(TableError, match=r"'a', row 2: \[1, 2\] is neither.*--drop a"):
        TableSchema.infer(frame.assign(x=1), targets=["y"])
    schema = TableSchema.infer(frame.assign(x=[1, 2]), targets=["y"], drop=["a"])
    assert schema.encoder.encoded_names == ("x",)
    frame = open_table(write('{"a": {"b": 1}, "y": 2}\n')).read()
    with pytest.raises(TableError, match=r"'a', row 1: .*'b': 1.* is neither a number"):
        TableSchema.infer(frame.assign(x=1), targets=["y"])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            '{"a": 1}\n{"a": \n',
            "row 2: is not JSON (Expecting value): write one record",
        ),
        ('{"a": 1}\n[1]\n', "row 2: '[1]' is not a record like {\"x\": 1}"),
        ('{"a": 1}\n3\n', "row 2: '3' is not a record"),
        (
            '{"a": 1} {"a": 2}\n',
            "row 1: is not JSON (Extra data): write one record a l",
        ),
        ('{\n  "a": [1, 2],\n  "b": [3, 4]\n}\n', "row 1: is not JSON (Expecting prop"),
        ("a,b\n1,2\n", "row 1: is not JSON (Expecting value): write one record a line"),
        ("[1, 2]", "row 1: '1' is not a record"),
        (
            '[{"a": 1}, {"a": 2}',
            "row 3: is not JSON: ',' is expected, not the end of t",
        ),
        ('[{"a": 1} {"a": 2}]', "row 2: is not JSON: ',' is expected, not '{'"),
        ('[{"a": 1}]]', "row 2: something follows the array"),
        ('[{"a": 1}, {"a"', "row 2: is not JSON (Expecting ':' delimiter): write one"),
        ('{"a": 1}\n{"a": 1, "a": 2}\n', "row 2: has the name 'a' twice"),
        ('{"a": "\\ud800"}\n', "row 1: the text of 'a' is not Unicode"),
        ('{"\\ud800": 1}\n', "row 1: the text of '\\ud800' is not Unicode"),
        ('{"a": ' + "[" * 100_000, "row 1 is nested too deeply"),
        ("[]", "the records have no names"),
        ("{}\n{}\n", "the records have no names"),
        (" \n", "the file is empty"),
    ],
)
def test_faults(write, content, sentence):
    with pytest.raises(TableError) as caught:
        open_table(write(content))
    assert str(caught.value).startswith(f"data.jsonl: {sentence}")


def test_records_without_end(write, monkeypatch):
    monkeypatch.setattr(_json_stream, "_MAX_VALUE", 1000)
    record = json.dumps({"a": "x" * 2000})
    with pytest.raises(TableError, match="row 1: the line is too long"):
        open_table(write(record))
    monkeypatch.setattr(_json_stream, "_BLOCK", 10)
    with pytest.raises(TableError, match="row 1: is not JSON, or too long"):
        open_table(write(f"[{record}]"))


def test_huge_numbers_are_found_later(write):
    frame = open_table(write(f'{{"a": {"9" * 5000}, "y": 1}}\n')).read()
    with pytest.raises(TableError, match="'a', row 1: inf is not a finite number"):
        TableSchema.infer(frame, targets=["y"])


def test_names_and_markers(write):
    table = open_table(
        write('{"": -99, "a": "x"}\n{"": 1, "a": "?!"}\n'), na_values=[-99]
    )
    assert (table.columns, table.nameless) == (("column_1", "a"), ("column_1",))
    np.testing.assert_array_equal(table.read()["column_1"], [np.nan, 1])


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        ({"delimiter": ";"}, "--delimiter"),
        ({"header": True}, "--header"),
        ({"skip_rows": 1}, "--skip-rows"),
        ({"sheet": "x"}, "--sheet"),
    ],
)
def test_options_without_meaning(write, options, flag):
    with pytest.raises(TableError, match=f"{flag} means nothing in JSON files"):
        open_table(write('{"a": 1}\n'), **options)
