"""Encodings, lines before the table, and names of columns."""

import codecs

import numpy as np
import pytest

from betanll.tables import TableError, open_table

TEXT = "größe,ort\n1.5,Köln\n2.5,Łódź\n"
NAMES = {"größe": [1.5, 2.5], "ort": ["Köln", "Łódź"]}


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def lists(table):
    return table.read().to_dict("list")


# Encodings


@pytest.mark.parametrize(
    "content",
    [
        *(TEXT.encode(name) for name in ("utf-8", "utf-8-sig", "utf-16", "utf-32")),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
    ],
)
def test_unicode_is_found(write, content):
    table = open_table(write(content))
    assert table.notes == ()
    assert lists(table) == NAMES
    assert [len(piece) for piece in table.chunks(1)] == [1, 1]


def test_windows_is_found_and_said(write):
    table = open_table(write("größe,ort\n1.5,Köln – Süd\n".encode("cp1252")))
    assert lists(table) == {"größe": [1.5], "ort": ["Köln – Süd"]}
    assert table.notes == (
        "the text is not UTF-8 and is read as Windows-1252, as in 'größe'; if that is "
        "wrong, name its encoding with --encoding.",
    )


def test_windows_beyond_the_sample(write):
    content = b"a,b\n" + b"1,x\n" * 400_000 + "2,Süd\n".encode("cp1252")
    table = open_table(write(content))
    assert "as in 'Süd'" in table.notes[0]
    assert table.read()["b"].iloc[-1] == "Süd"
    assert list(table.chunks())[-1]["b"].iloc[-1] == "Süd"
    # at the very end of the file, where a character may be cut
    assert "as in 'é'" in open_table(write("a,b\n1,é".encode("cp1252"))).notes[0]


def test_a_given_encoding(write):
    path = write(TEXT.encode("cp1250", "replace"))
    table = open_table(path, encoding="cp1250")
    assert table.notes == ()
    assert lists(table) == NAMES
    for name in ("UTF-8", "utf_8", "u8", "utf-8-sig"):
        for mark in (b"", codecs.BOM_UTF8):
            assert (
                lists(open_table(write(mark + TEXT.encode()), encoding=name)) == NAMES
            )
    assert lists(open_table(write(TEXT.encode("utf-16-le")), encoding="utf-16-le"))
    path = write(TEXT.encode())
    with pytest.raises(TableError, match="the text is not ascii: name its encoding wi"):
        open_table(path, encoding="ascii")


@pytest.mark.parametrize("name", ["", "klingon", "rot13", "base64", "a\0b", "\ud800"])
def test_unknown_encodings(write, name):
    with pytest.raises(TableError, match=r"there is no encoding .*: take for instance"):
        open_table(write(TEXT), encoding=name)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\0\n1,2\n", "the file is not text"),
        (
            TEXT.encode("utf-16-le"),
            "the file seems to be UTF-16 .* --encoding utf-16-le",
        ),
        (
            TEXT.encode("utf-16-be"),
            "the file seems to be UTF-16 .* --encoding utf-16-be",
        ),
        (
            TEXT.encode() + b"1,\xff\n",
            "the text is UTF-8, but not in line 4: repair it",
        ),
        (TEXT.encode()[:-2] + b"\xc5", "the text is UTF-8, but not in line 3: repair"),
        (b"a,b\n1,\xff\x81\n", "is not text in UTF-8 or Windows-1252; if it is text, "),
    ],
)
def test_faults_of_encodings(write, content, sentence):
    with pytest.raises(TableError, match=f"^data.csv: {sentence}"):
        open_table(write(content))


# Lines before the table


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("# by Ann\na,b\n1,2\n", "the comment '# by Ann' before the table is skipped."),
        (
            "\n#one\r\n# two\n\n#,,\na,b\n1,2\n",
            "3 comments before the table are skipped, first '#one'.",
        ),
        ("# a, b\n1,2\n", "the names come from the comment '# a,b'."),
        ("#a,b\n\n1,2\n", "the names come from the comment '#a,b'."),
    ],
)
def test_comments_are_skipped_and_said(write, content, note):
    for text in (content, content.encode("utf-16")):
        table = open_table(write(text))
        assert table.notes == (note,)
        assert lists(table) == {"a": [1], "b": [2]}
        assert table.read(1)["b"].tolist() == [2]


def test_comments_before_rows_without_names(write):
    table = open_table(write("# by Ann\n1,2\n3,4\n"))
    assert lists(table) == {"column_1": [1, 3], "column_2": [2, 4]}
    # Only before the table
    assert lists(open_table(write("a,b\n#1,2\n"))) == {"a": ["#1"], "b": [2]}
    with pytest.raises(TableError, match="row 2 has 1 cell instead of 2"):
        open_table(write("# x\na,b\n1,2\n3\n"))
    with pytest.raises(TableError, match="nothing follows the skipped 2 lines"):
        open_table(write("# x\n# y\n"))


def test_rows_are_skipped_on_demand(write):
    content = 'Report of\n"May\n# note\na;b\n1;2\n'
    path = write(content)
    table = open_table(path, skip_rows=2)
    assert lists(table) == {"a": [1], "b": [2]}
    assert table.notes == ("the comment '# note' before the table is skipped.",)
    assert lists(open_table(path, skip_rows=4, header=False)) == {
        "column_1": [1],
        "column_2": [2],
    }
    for n in (99, 10**30):
        with pytest.raises(TableError, match=f"nothing follows the skipped {n} lines"):
            open_table(path, skip_rows=n)
    for odd in (-1, 1.5, True, "2"):
        with pytest.raises(TableError, match="skip_rows must be a whole number of at"):
            open_table(path, skip_rows=odd)


# Names


@pytest.mark.parametrize(
    ("header", "columns", "nameless"),
    [
        ("a,b,a,a", ("a", "b", "a.2", "a.3"), ()),
        ("a,a.2,a,x", ("a", "a.2", "a.3", "x"), ()),
        ("a,b,,", ("a", "b", "column_3", "column_4"), ("column_3", "column_4")),
        (",column_1,x,y", ("column_1.2", "column_1", "x", "y"), ("column_1.2",)),
        ("a, a ,b,b", ("a", "a.2", "b", "b.2"), ()),
    ],
)
def test_every_column_has_a_name_of_its_own(write, header, columns, nameless):
    table = open_table(write(f"{header}\n1,2,3,4\n"))
    assert (table.columns, table.nameless) == (columns, nameless)
    assert table.read().to_numpy().tolist() == [[1, 2, 3, 4]]


def test_shared_names_are_said(write):
    assert open_table(write("a,b,a,b\n1,2,3,4\n")).notes == (
        "the name 'a' is shared by 2 columns, which are called 'a', 'a.2'.",
        "the name 'b' is shared by 2 columns, which are called 'b', 'b.2'.",
    )


# Missing cells


def test_markers_of_missing_cells(write):
    path = write("id;a;b\n-99;-99;x\n2;-99,0;*\n3;1,5;-99\n")
    for values in (["-99", "*"], [-99, " * "], ("*", -99.0)):
        table = open_table(path, na_values=values)
        for frame in (table.read(text=["id"]), *table.chunks(9, text=["id"])):
            assert frame["id"].tolist() == ["-99", "2", "3"]
            np.testing.assert_array_equal(frame["a"], [np.nan, np.nan, 1.5])
            assert frame["b"].isna().tolist() == [False, True, True]
            assert frame["a"].dtype == float
    assert open_table(path).read()["a"].tolist() == [-99, -99, 1.5]


def test_numbers_beside_a_marker_of_text_are_numbers(write):
    table = open_table(write("a,b\n1.5,2\nn.d.,3\n"), na_values="n.d.")
    assert table.read()["a"].dtype == float
