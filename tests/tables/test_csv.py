"""Text files: how they are written, what is read, and the sentence of each fault."""

import gzip
import os
import re
import socket

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableError, TableSchema, open_table


@pytest.fixture
def write(tmp_path):
    """A function that writes text or bytes into a file and returns its path."""

    def write(content, name="data.csv"):
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def lists(table):
    return table.read().to_dict("list")


# Reading


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a,b\n1,2.5\n3,-4\n", "data.csv"),
        ("a,b\n1,2.5\n3,-4", "data.csv"),
        ("a,b\r\n1,2.5\r\n3,-4\r\n", "data.csv"),
        ("a,b\r1,2.5\r3,-4\r", "data.csv"),
        ("\ufeffa,b\n1,2.5\n3,-4\n", "data.csv"),
        ('\ufeff"a","b"\n"1","2.5"\n"3","-4"\n', "data.csv"),
        ("a;b\n1;2.5\n3;-4\n", "data.csv"),
        ("a;b\n1;2,5\n3;-4\n", "data.csv"),
        ("a|b\n1|2.5\n3|-4\n", "data.txt"),
        ("a\tb\n1\t2.5\n3\t-4\n", "data.tsv"),
        ("a\tb\n1\t2,5\n3\t-4\n", "DATA.TXT"),
        ("a,b\n1,2.5\n3,-4\n", "data.csv.gz"),
        ("a\tb\n1\t2.5\n3\t-4\n", "data.tsv.gz"),
        ("\n\na, b\n1 , 2.5\n   \n 3, -4\n\n\n", "data.csv"),
    ],
)
def test_spellings_of_one_table(write, content, name):
    table = open_table(write(content, name))
    assert table.columns == ("a", "b")
    assert table.has_header
    assert table.nameless == ()
    assert lists(table) == {"a": [1, 3], "b": [2.5, -4.0]}


def test_an_explicit_delimiter(write):
    for given in (" ", ":"):
        path = write(f"a{given}b\n1{given}2\n")
        assert lists(open_table(path, delimiter=given)) == {"a": [1], "b": [2]}
    path = write("a\tb\n1\t2\n")
    for given in ("\t", "tab", "\\t"):
        assert lists(open_table(path, delimiter=given)) == {"a": [1], "b": [2]}
    # A comma in all rows does not beat the delimiter, with or without header.
    assert lists(open_table(write("1,5;2,5\n3,5;4,5\n"))) == {
        "column_1": [1.5, 3.5],
        "column_2": [2.5, 4.5],
    }


def test_numbers_are_rounded_correctly(write):
    cells = ["1e30", "1e-30", "0.1", "1.7976931348623157e308", "5e-324", "-1E+05"]
    cells += ["2.2250738585072011e-308", "0.30000000000000004", ".5", "+7."]
    table = open_table(write("a,b\n" + "".join(f"{c},x\n" for c in cells)))
    assert table.read()["a"].tolist() == [float(cell) for cell in cells]
    rng = np.random.default_rng(0)
    values = rng.normal(size=2000) * 10.0 ** rng.integers(-300, 300, 2000)
    text = "a;b\n" + "".join(f"{v!r};0\n" for v in values.tolist())
    assert open_table(write(text)).read()["a"].tolist() == values.tolist()
    commas = open_table(write(text.replace(".", ",")))
    assert commas.read()["a"].tolist() == values.tolist()


def test_quoted_cells(write):
    content = 'a,"b, with comma",c\n1,"x, y",2\n3,"two\nlines",4\n5,"a ""b""",6\n'
    table = open_table(write(content))
    assert table.columns == ("a", "b, with comma", "c")
    assert table.read()[table.columns[1]].tolist() == ["x, y", "two\nlines", 'a "b"']
    assert len(list(table.chunks(1))) == 3


@pytest.mark.parametrize(
    "cell", ["", "NA", "N/A", "NaN", "null", "None", "?", "-", " ", '"NA"']
)
def test_missing_cells(write, cell):
    frame = open_table(write(f"a,b,c\n{cell},x,1\n2,{cell},2\n")).read()
    np.testing.assert_array_equal(frame["a"], [np.nan, 2])
    assert frame["b"].isna().tolist() == [False, True]


def test_decimal_commas_beside_text(write):
    content = "a;b;c\n1,5;x 1,5;0,5\n2;y;abc\n-1,5e3;z;2\n"
    frame = open_table(write(content)).read()
    assert frame["a"].tolist() == [1.5, 2.0, -1500.0]
    assert frame["b"].tolist() == ["x 1,5", "y", "z"]
    assert frame["c"].tolist() == [0.5, "abc", "2"]
    # With points in other cells, a comma is not taken for a decimal mark.
    frame = open_table(write("a;b\n1,234;0.5\n2,345;1.5\n")).read()
    assert frame["a"].tolist() == ["1,234", "2,345"]
    # A point beyond the sample could mean thousands.
    path = write("a;b\n" + "1,5;2\n" * 60_000 + "1,5;2\n1.234;2\n")
    with pytest.raises(TableError, match=r"'a', row 60002: '1.234' has a decimal po"):
        open_table(path).read()


def test_text_columns_keep_their_spelling(write):
    table = open_table(write("id;x\n007;1,5\n1,50;2\n;3\n"))
    cells = table.read(text=["id"])["id"]
    assert cells.tolist()[:2] == ["007", "1,50"]
    assert cells.isna().tolist() == [False, False, True]
    assert next(table.chunks(text=["id"]))["id"][0] == "007"
    with pytest.raises(TableError, match=r"data.csv: there is no column 'key'"):
        table.read(text=["key"])


# Header


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("a,b\n1,2\n", ("a", "b")),
        ("a,b\nx,y\n", ("a", "b")),
        # Years as names, below which stand numbers, beside a text over numbers
        ("x,2019,2020\n1,2,3\n", ("x", "2019", "2020")),
        ("0,1,y\n1.5,2,3\n", ("0", "1", "y")),
        # ... or beside a text that does not occur again
        ("city,2019,2020\nRome,2,3\nOslo,3,4\n", ("city", "2019", "2020")),
        # The index of pandas
        (",a\n0,5\n1,6\n", ("column_1", "a")),
    ],
)
def test_a_header(write, content, columns):
    table = open_table(write(content))
    assert (table.has_header, table.columns) == (True, columns)
    assert len(table.read()) == len(content.splitlines()) - 1
    assert table.nameless == (("column_1",) if content.startswith(",") else ())


@pytest.mark.parametrize(
    "content",
    [
        "1,2,3\n4,5,6\n",
        "2019,2020,2021\n1,2,3\n",
        "M,0.455,15\nF,0.35,7\n",
        "M,2019,15\nF,2020,7\nM,2021,8\n",
        "NA,2,3\n4,5,6\n",
        "?,?,?\n4,5,6\n",
        "1.5;abc;2\n2;3;4\n",
    ],
)
def test_no_header(write, content):
    path = write(content)
    table = open_table(path)
    assert not table.has_header
    assert table.columns == ("column_1", "column_2", "column_3")
    assert len(table.read()) == len(content.splitlines())
    # The guess can be overruled.
    if "?" not in content:
        assert (
            open_table(path, header=True).columns[2] == re.split("[,;\n]", content)[2]
        )
    assert not open_table(write("a,b\nc,d\n"), header=False).has_header


def test_a_single_column_of_plain_cells(write):
    assert lists(open_table(write("x\n1\n2\n"))) == {"x": [1, 2]}
    assert lists(open_table(write("the x\nred\nblue\n"))) == {"the x": ["red", "blue"]}


# Chunks


def test_chunks_equal_the_whole(write):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(5000, 3)), columns=["a", "b", "c"])
    frame["d"] = rng.choice(["red", "green, dark", None], 5000)
    frame.loc[rng.random(5000) < 0.1, "b"] = np.nan
    for name in ("data.csv", "data.csv.gz"):
        table = open_table(write(frame.to_csv(index=False), name))
        chunks = list(table.chunks(777))
        assert [len(chunk) for chunk in chunks] == [777] * 6 + [338]
        assert [chunk.index[0] for chunk in chunks] == list(range(0, 5000, 777))
        whole = table.read()
        pd.testing.assert_frame_equal(pd.concat(chunks), whole)
        np.testing.assert_array_equal(whole[["a", "b", "c"]], frame[["a", "b", "c"]])
        pd.testing.assert_frame_equal(table.read(nrows=50), whole[:50])
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="n_rows must be at least 1"):
            next(table.chunks(wrong))


def test_types_differ_between_chunks(write):
    content = "a,b,c\n1,1,\n2,2,\n1.5,x,yes\n,y,no\n"
    first, second = open_table(write(content)).chunks(2)
    assert first["a"].tolist() == [1, 2]
    assert first["c"].isna().all()
    np.testing.assert_array_equal(second["a"], [1.5, np.nan])
    assert second["b"].tolist() == ["x", "y"]


# Faults


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "data.csv: the file is empty"),
        (" \n\n", "data.csv: the file is empty"),
        ('""\n', "data.csv: the file is empty"),
        ("\ufeff", "data.csv: the file is empty"),
        ("a,b\n", "data.csv: the file has column names but no rows"),
        (b"a,b\n1,\0\n", "data.csv: the file is not text"),
        ("a,b\n1,2\n1,2,3\n", "data.csv: row 2 has 3 cells instead of 2"),
        ("a,b\n1,2,3\n1,2,3\n", "data.csv: row 1 has 3 cells instead of 2"),
        ("a,b\n1,2,\n1,2,\n", "data.csv: row 1 has 3 cells instead of 2"),
        ("a,b\n1,2\n1\n", "data.csv: row 2 has 1 cell instead of 2"),
        ("1,2\n1\n", "data.csv: row 2 has 1 cell instead of 2"),
        ("a b\n1 2\n", "data.csv: there is a single column in 'a b': if the delimiter"),
        ("a:b\n1:2\n", "is wrong, give it with --delimiter"),
        (f"{'a ' * 99}\n1 2\n", f"column in '{('a ' * 99)[:37]}...': if the"),
        ('a,b\n1,"2\n3,4\n', "data.csv: a quotation mark is left open"),
        ('a,b,c\n1,"2,3\n4,5,6\n', "row 1 has 2 cells instead of 3 (is a quotation"),
        ('a,b\n1,"' + "x" * 200_000, "a cell is too long, so a quotation mark may be"),
    ],
)
def test_faults_of_the_content(write, content, sentence):
    with pytest.raises(TableError, match=re.escape(sentence)) as caught:
        open_table(write(content)).read()
    assert "\n" not in str(caught.value)


def test_faults_of_the_path(tmp_path, write):
    with pytest.raises(TableError, match=r"^no.csv: there is no such file in "):
        open_table(tmp_path / "no.csv")
    (tmp_path / "sub.csv").mkdir()
    with pytest.raises(TableError, match=r"^sub.csv: is a folder, not a file$"):
        open_table(tmp_path / "sub.csv")
    for name in ("data.doc", "data.csv.old", "data.doc.gz"):
        with pytest.raises(TableError, match=f"^{name}: the name must end in .csv, "):
            open_table(write("a,b\n1,2\n", name))
    for name in ("data", "data.gz"):
        assert lists(open_table(write("a,b\n1,2\n", name))) == {"a": [1], "b": [2]}
    for wrong in ("::", "", '"', "\n", "\0", "é", "\ud800"):
        with pytest.raises(TableError, match="must be one ASCII character, got"):
            open_table(write("a,b\n1,2\n"), delimiter=wrong)


@pytest.mark.skipif(os.name == "nt", reason="no such files")
@pytest.mark.parametrize("extension", [".csv", ".csv.gz", ".parquet"])
def test_what_is_not_a_file(tmp_path, extension, monkeypatch):
    pipe, link = tmp_path / f"pipe{extension}", tmp_path / f"link{extension}"
    os.mkfifo(pipe)
    with pytest.raises(TableError, match=r"is a pipe, not a file: write the table to"):
        open_table(pipe)
    link.symlink_to("/dev/zero")
    with pytest.raises(TableError, match="is a device, not a file"):
        open_table(link)
    with socket.socket(socket.AF_UNIX) as server:
        link.unlink()
        monkeypatch.chdir(tmp_path)  # the address of a socket must be short
        server.bind(link.name)
        with pytest.raises(TableError, match="is a socket, not a file"):
            open_table(link)
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(TableError, match=r"cannot be opened: .*symbolic links"):
        open_table(link)


@pytest.mark.parametrize(
    "name", ["~nouser/x.csv", "x" * 300 + ".csv", "file.csv/x.csv", "a\0b.csv"]
)
def test_paths_that_name_no_file(write, tmp_path, name):
    write("a,b\n1,2\n", "file.csv")
    with pytest.raises(TableError, match=r"no such file|cannot be"):
        open_table(tmp_path / name)


def test_messages_are_short_and_printable(write):
    for content in (
        f"{'x' * 60_000},{'x' * 60_000}\n1,2\n",
        "a\x1b[31mb,a\x1b[31mb\n1,2\n",
        f"{','.join('y' * i for i in range(1, 99))},y\n{'1,' * 98}1\n",
    ):
        (note,) = open_table(write(content)).notes
        assert len(note) <= 300
        assert note.isprintable()
        assert note.startswith("the name ")


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("n", [309, 400, 5000])
def test_whole_numbers_beyond_the_largest_float(write, monkeypatch, n, sign):
    cell = sign + "9" * n
    table = open_table(write("a,y\n" + f"{cell},1\n" * 3))
    for frame in (table.read(), *table.chunks(2)):
        with pytest.raises(TableError, match=r"column 'a', row [13]: .* not a finite"):
            TableSchema.infer(frame, targets=["y"])

    # Some versions of pandas cannot read them at all.
    def fail(self, nrows=None):
        raise OverflowError("int too large to convert to float")

    monkeypatch.setattr("pandas.io.parsers.readers.TextFileReader.read", fail)
    for read in (table.read, lambda: list(table.chunks(2))):
        with pytest.raises(TableError, match=r"^data.csv: column 'a', row 1: .* not a"):
            read()


def test_a_wrong_delimiter(write):
    with pytest.raises(TableError, match=r"single column in 'a,b': .*--delimiter"):
        open_table(write("a,b\n1,2\n"), delimiter=";")


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (b"1\n", "row 100001 has 1 cell instead of 2"),
        (b"1,2,3\n", "row 100001 has 3 cells instead of 2"),
        (b"1,2,\n", "row 100001 has 3 cells instead of 2"),
        (b'1,"2\n', "a quotation mark is left open"),
    ],
)
def test_faults_beyond_the_sample(write, bad, sentence):
    table = open_table(write(b"a,b\n" + b"1,2\n" * 100_000 + bad))
    for read in (table.read, lambda: list(table.chunks())):
        with pytest.raises(TableError, match=f"^data.csv: {sentence}"):
            read()
    # The rows before it can be read.
    assert len(table.read(nrows=1000)) == 1000


def test_a_long_row_anywhere_in_a_chunk(write, monkeypatch):
    monkeypatch.setattr("betanll.tables._text.SAMPLE_BYTES", 20)
    for first in ("a,b\n", ""):
        for n_before in range(10, 18):
            table = open_table(write(first + "1,2\n" * n_before + "1,2,3\n1,2\n"))
            for n_rows in (1, 2, 5, 100):
                with pytest.raises(TableError, match=f"row {n_before + 1} has 3 cells"):
                    list(table.chunks(n_rows))
            with pytest.raises(TableError, match=f"row {n_before + 1} has 3 cells"):
                table.read()


def test_a_missing_last_cell_is_no_short_row(write):
    table = open_table(write("a,b\n" + "1,\n" * 100_000 + "1,2\n"))
    assert table.read()["b"].isna().sum() == 100_000


def test_broken_gzip(write):
    path = write(
        "a,b\n" + "".join(f"{i},{i * i}\n" for i in range(100_000)), "d.csv.gz"
    )
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    with pytest.raises(TableError, match=r"^d.csv.gz: the compressed file is cut off$"):
        open_table(path)
    # Cut beyond the sample
    path.write_bytes(whole[:-1000])
    with pytest.raises(TableError, match="the compressed file is cut off"):
        open_table(path)
    table = open_table(path, encoding="utf-8")
    for read in (table.read, lambda: list(table.chunks())):
        with pytest.raises(TableError, match="the compressed file is cut off"):
            read()
    path.write_bytes(whole[:50] + b"garbage" * 100 + whole[700:])
    with pytest.raises(TableError, match=r"compressed file is broken \(gzip\)|UTF-8"):
        open_table(path).read()


def test_text_columns_keep_cells_that_look_missing(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("id,a\nNA,1\n-,NA\n007,3\n")
    frame = open_table(path).read(text=["id"])
    assert frame["id"].tolist() == ["NA", "-", "007"]
    assert frame["a"].isna().tolist() == [False, True, False]


def test_row_names_of_r(tmp_path):
    path = tmp_path / "cars.csv"
    path.write_text('"mpg","cyl"\n"Mazda RX4",21,6\n"Datsun",22.8,4\n"Valiant",18,6\n')
    table = open_table(path)
    assert table.columns == ("column_1", "mpg", "cyl")
    assert table.nameless == ("column_1",)
    assert "as R writes row names" in table.notes[0]
    expected = {"column_1": ["Mazda RX4", "Datsun", "Valiant"]}
    expected |= {"mpg": [21, 22.8, 18], "cyl": [6, 4, 6]}
    assert table.read().to_dict("list") == expected
    (chunk,) = table.chunks()
    assert chunk.to_dict("list") == expected
