"""Numbers written for people: which columns are read so, and which must not be."""

import json
import math
import re

import pandas as pd
import pytest

from betanll.columns import ColumnEncoder, Notation, TableError
from betanll.columns._notation import find_notation
from betanll.tables import TableSchema, open_table


@pytest.mark.parametrize(
    ("cells", "unit", "decimal", "numbers"),
    [
        (["$5,700", "$90"], "$", ".", [5700, 90]),
        (["$1,234.50", "$2", "300"], "$", ".", [1234.5, 2, 300]),
        (["-$5", "$-6", "−$7", "+8 $"], "$", ".", [-5, -6, -7, 8]),
        (["EUR 5", "6 EUR", "1e5"], "EUR", ".", [5, 6, 1e5]),
        (["$.50", "$1.234"], "$", ".", [0.5, 1.234]),
        (["12%", "3.5 %", "-4%", "0"], "%", ".", [12, 3.5, -4, 0]),
        (["1.200,50 €", "900 €", "7,25 €"], "€", ",", [1200.5, 900, 7.25]),
        (["1.200,50 €", "1.200"], "€", ",", [1200.5, 1200]),
        (["12,5%", "3%"], "%", ",", [12.5, 3]),
        (["1,202", "12,345", "1,234,567", "999"], "", ".", [1202, 12345, 1234567, 999]),
        (["101,202.5", "303,404"], "", ".", [101202.5, 303404]),
        (["1.200,50", "7,25"], "", ",", [1200.5, 7.25]),
        (["1.200.000", "900.000"], "", ",", [1200000, 900000]),
        (["1'200", "12’000", "900"], "", ".", [1200, 12000, 900]),
        (["1\u00a0200,5 €", "12\u202f000 €"], "€", ",", [1200.5, 12000]),
    ],
)
def test_columns_of_written_numbers(cells, unit, decimal, numbers):
    notation = find_notation("a", [*cells, "NA", " "], ".")
    assert notation == Notation("a", unit, decimal)
    assert [notation.number(cell) for cell in cells] == numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["101,202", "303,404"],  # lists of codes
        ["101", "101,202", "101,202,303"],
        ["1,202", "1202"],
        ["3,5", "2,7"],
        ["1,2,3", "4"],
        ["0,123", "1,234"],
        ["1.234 €", "900 €"],  # a thousand or one and a quarter
        ["1,234 €", "1.234 €"],
        ["1,23,456 $"],
        ["1,234'567 $"],
        ["12%", "3"],  # perhaps 300 %
        ["12%", "$5"],
        ["$5", "€5"],  # not of one size
        ["$5", "free"],
        ["$5", "yes"],
        ["$5", True],
        ["$5$"],
        ["--5 $"],
        ["$"],
        ["5 kg"],
        ["2024-05-01"],
        ["1.2.2024"],
        ["12:30"],
        ["٣٤ $"],
    ],
)
def test_columns_that_may_mean_something_else(cells):
    assert find_notation("a", cells, ".") is None


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1.200 €", "900 €"], [1200, 900]),
        (["1,659 €", "1 €"], [1.659, 1]),
        (["$1.25", "$3"], [1.25, 3]),
        (["$1,234.50", "$2"], None),
        (["1,234,567"], None),
    ],
)
def test_decimal_commas_of_the_file_decide(cells, numbers):
    notation = find_notation("a", cells, ",")
    assert (notation and [notation.number(cell) for cell in cells]) == numbers


@pytest.mark.parametrize(
    ("unit", "decimal", "text"),
    [
        *(("$", ".", text) for text in ("€5", "5%", "5,70", "1.2.3", "five", "")),
        *(("€", ",", text) for text in ("5.7", "1.5e3", "5.70 €", ".5")),
        *(("%", ".", text) for text in ("5", "$5", "0.05", "1,5")),
    ],
)
def test_cells_of_another_notation(unit, decimal, text):
    assert Notation("a", unit, decimal).number(text) is None


def test_long_numbers_are_infinite():
    assert Notation("a", "$", ".").number("$" + "9" * 400) == math.inf
    assert Notation("a", "$", ".").number("-" + "9" * 5000) == -math.inf


def test_features_and_targets():
    frame = pd.DataFrame(
        {
            "price": ["$5,700", "$90", None, "$1,000"],
            "share": ["12%", "7.5%", "0", "NA"],
            "codes": ["101,202", "101", "101,202", "303,404"],
            "plain": [1, 2, 3, 4],
            "y": ["1.200,50 €", "900 €", "", "1 €"],
            "z": [1, 2, 3, 4],
        }
    )
    schema = TableSchema.infer(frame, targets=["y", "z"])
    encoder = schema.encoder
    kinds = {column.name: column.kind for column in encoder.columns}
    assert kinds == dict.fromkeys(["price", "share", "plain"], "number") | {
        "codes": "category"
    }
    assert schema.notations == (Notation("y", "€", ","),)
    assert encoder.text_columns == schema.text_columns == ("price", "share")
    encoded = dict(zip(encoder.encoded_names, encoder.encode(frame).T, strict=True))
    assert encoded["price"].tolist() == [5700, 90, 1000, 1000]
    assert encoded["share"].tolist() == [12, 7.5, 0, 7.5]
    y = schema.target_values(frame)
    assert y[[0, 1, 3], 0].tolist() == [1200.5, 900, 1]
    assert math.isnan(y[2, 0])
    again = TableSchema.from_dict(json.loads(json.dumps(schema.to_dict())), encoder)
    assert again == schema


def test_later_tables_need_the_same_notation(infer):
    _, encoder = infer(a=["$5,700", "$90"], b=["12%", "3%"])

    def encode(a, b="1%"):
        return encoder.encode(pd.DataFrame({"a": [a], "b": [b]})).tolist()

    assert encode(5700) == encode("5700") == encode("$5,700") == [[5700, 1]]
    assert encode(1, "0") == encode(1, 0) == encode(1, 0.0) == [[1, 0]]
    for cells, sentence in {
        ("€90",): "column 'a', row 1: '€90' is not a number",
        ("5,70",): "column 'a', row 1: '5,70' is not a number",
        (True,): "column 'a', row 1: True is not a number",
        (1, "0.03"): "column 'b', row 1: '0.03' is not a percentage",
        (1, 0.03): "column 'b', row 1: 0.03 is not a percentage",
        ("9" * 400,): "is not a finite number",
    }.items():
        with pytest.raises(TableError, match=re.escape(sentence)):
            encode(*cells)


@pytest.mark.parametrize(
    "cells", [["1.200,50 €", "1.300 €"], ["1,200.50", "5,700"], ["$5", "$1,300"]]
)
def test_later_chunks_of_plain_cells(infer, tmp_path, cells):
    """The decimal mark of the file does not make decimals of thousands."""
    _, encoder = infer(a=cells, b=[1, 2])
    notation = encoder.columns[0].notation
    is_point = notation.decimal == "."
    first, later = ("1,5", "1,200") if is_point else ("1.5", "1.200")
    path = tmp_path / "later.csv"
    path.write_text(f"a;b\n{cells[0]};{first}\n7;2\n{later};3\n{later};4\n")
    chunks = open_table(path).chunks(2, text=encoder.text_columns)
    a, b = zip(*(row for c in chunks for row in encoder.encode(c)), strict=True)
    assert a == (notation.number(cells[0]), 7, 1200, 1200)
    assert b == (1.5, 2, 3, 4)


def test_decimal_commas_of_a_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;b;c;y\n1.200 €;1.200,50;x;0,5\n900 €;7,25;3,5;1\n1 €;8;z;2\n")
    frame = open_table(path).read()
    encoder = ColumnEncoder.infer(frame[["a", "b", "c"]])
    notations = tuple(column.notation for column in encoder.columns[:2])
    assert notations == (Notation("a", "€", ","), Notation("b", "", ","))
    expected = [[1200, 1200.5], [900, 7.25], [1, 8]]
    assert encoder.encode(frame)[:, :2].tolist() == expected
    assert encoder.columns[2].levels == ("3.5", "x", "z")


def test_other_rows_keep_the_notation(infer):
    """Among few training rows all cells may be plain."""
    frame, encoder = infer(a=["$5,700", "$90", "7", "8"])
    again = ColumnEncoder.infer(frame[2:], {"a": encoder.columns[0]})
    assert again.columns[0].notation == encoder.columns[0].notation
    assert again.columns[0].fill == 7.5
    assert again.encode(frame)[:, 0].tolist() == [5700, 90, 7, 8]
