"""Packed files: found by content, read as a stream, and refused in one sentence."""

import bz2
import gzip
import io
import lzma
import sys
import zipfile

import pytest

from betanll.tables import TableError, _packing, open_table

TEXT = b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(60_000))


def zipped(members):
    """Return an archive of members by name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def zstandard(content):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.compress(content, codec="zstd", asbytes=True)


PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard,
    ".zip": lambda content: zipped({"data.csv": content}),
}


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def complaint(write):
    def complain(content, name="data.csv", **options):
        with pytest.raises(TableError) as caught:
            open_table(write(content, name), **options).read()
        return str(caught.value)

    return complain


@pytest.mark.parametrize("suffix", PACK)
def test_every_packing_by_content(write, suffix):
    packed = PACK[suffix](TEXT)
    for name in (f"data.csv{suffix}", f"DATA{suffix.upper()}", "data.csv", "data"):
        table = open_table(write(packed, name))
        assert table.columns == ("a", "b")
        assert table.read()["b"].iloc[-1] == 59_999**2
        pieces = list(table.chunks(40_000))
        assert [len(piece) for piece in pieces] == [40_000, 20_000]
    # A wrong suffix of packing does not matter.
    other = ".xz" if suffix == ".gz" else ".gz"
    assert len(open_table(write(packed, f"data.csv{other}")).read(5)) == 5


@pytest.mark.parametrize("suffix", PACK)
def test_cut_and_damaged(complaint, suffix):
    packed = PACK[suffix](TEXT)
    name = f"d{suffix}"
    is_zip = suffix == ".zip"
    end = "zip archive is broken or cut off" if is_zip else "compressed file is cut off"
    for n in (len(packed) // 2, len(packed) - 5):
        assert complaint(packed[:n], name) == f"{name}: the {end}"
    middle = len(packed) // 2
    damaged = packed[:middle] + b"\xff" * 50 + packed[middle + 50 :]
    line = complaint(damaged, name)
    # Without checksum, damage may only show in the text.
    sentences = ("compressed file is broken (", "not text in UTF-8", "cells instead of")
    assert suffix == ".zst" or any(sentence in line for sentence in sentences)


@pytest.mark.parametrize("suffix", PACK)
def test_a_plain_text_with_a_packed_name(complaint, suffix):
    line = complaint(b"a,b\n1,2\n", f"data.csv{suffix}")
    packing = _packing.SUFFIXES[suffix]
    assert line == (
        f"data.csv{suffix}: the name says {packing}, but the file is not packed: "
        "rename it"
    )


# Archives


def test_the_only_table_of_an_archive(write):
    content = b"a\tb\n1\t2\n"
    for members in (
        {"data.tsv": content},
        {"folder/data.tsv": content, "README.md": b"words", "about.txt": b"words"},
        {"data.tsv": content, "__MACOSX/._data.tsv": b"x", "folder/": b""},
        {"data.txt": content, "licence.md": b"words"},
    ):
        archive = zipped(members)
        assert open_table(write(archive, "t.zip")).read().to_dict("list") == {
            "a": [1],
            "b": [2],
        }


def test_archives_without_one_table(complaint):
    for members, listed in (
        ({"a.csv": b"x", "b.csv": b"x"}, "'a.csv', 'b.csv'"),
        ({"a.txt": b"x", "b.txt": b"x"}, "'a.txt', 'b.txt'"),
        ({"a.png": b"x", "b.md": b"x"}, "'a.png', 'b.md'"),
    ):
        assert complaint(zipped(members), "t.zip") == (
            "t.zip: the zip archive must contain one table, but it contains "
            f"{listed}: unpack it first"
        )
    assert complaint(zipped({}), "t.zip") == "t.zip: the zip archive is empty"
    assert "the name must end in .csv" in complaint(zipped({"a.png": b"x"}), "t.zip")
    assert complaint(zipped({"a.csv": b" \n"}), "t.zip") == "t.zip: the file is empty"


def test_packed_twice(complaint):
    inner = zipped({"data.csv": gzip.compress(b"a,b\n1,2\n")})
    line = complaint(inner, "t.zip")
    assert line == "t.zip: there is gzip inside the zip file: unpack it first"


def test_an_encrypted_member(complaint):
    archive = bytearray(zipped({"data.csv": b"a,b\n1,2\n"}))
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        archive[archive.index(signature) + place] |= 1
    assert complaint(bytes(archive), "t.zip") == (
        "t.zip: 'data.csv' is encrypted: unpack it with its password first"
    )


def test_an_unknown_method(complaint):
    archive = bytearray(zipped({"data.csv": b"a,b\n1,2\n"}))
    for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        archive[archive.index(signature) + place] = 99
    assert "is packed in a way that cannot be read" in complaint(
        bytes(archive), "t.zip"
    )


@pytest.mark.parametrize("suffix", PACK)
def test_what_grows_without_end_is_stopped(complaint, monkeypatch, suffix):
    monkeypatch.setattr(_packing, "MAX_BYTES", 2**20)
    bomb = PACK[suffix](b"a,b\n" + b"1,2\n" * 2**21)
    monkeypatch.setattr(_packing, "MAX_RATIO", 50)
    assert complaint(bomb, f"t{suffix}") == (
        f"t{suffix}: unpacks to more than 50 times its size, as no table does: if you "
        "trust it, unpack it first"
    )


def test_zstandard_without_a_library(complaint, monkeypatch):
    content = zstandard(b"a,b\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    if sys.version_info < (3, 14):
        assert complaint(content, "t.zst") == (
            "t.zst: Zstandard files need Python 3.14 or pyarrow: install "
            "betanll[parquet]"
        )


# Names that promise another format


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.xlsx", b"a,b\n1,2\n", "the name says Excel, but the file is text: rename "),
        ("t.xls", b"a\tb\n1\t2\n", "is text: rename it to end in .csv"),
        ("t.parquet", b"a,b\n1,2\n", "the name says Parquet, but the file is text"),
        (
            "t.parquet",
            zipped({"t.csv": b"a,b\n1,2\n"}),
            "but the file is packed with zip",
        ),
        ("t.xlsx", zipped({"t.csv": b"a,b\n1,2\n"}), "but the file is packed with zip"),
        (
            "t.parquet.gz",
            gzip.compress(b"a,b\n1,2\n", mtime=0),
            "says Parquet, but the file is",
        ),
        ("t.csv", b"PAR1 and so on", "the name says text, but the file is Parquet"),
        (
            "t.csv.gz",
            gzip.compress(b"PAR1...", mtime=0),
            "there is Parquet inside the gzip file",
        ),
        (
            "t.csv",
            b'{"a": 1}\n{"a": 2}\n',
            "the file is JSON: rename it to end in .json",
        ),
        (
            "t.xls",
            b"\xd0\xcf\x11\xe0" * 99,
            "is an Excel file of before 2007, or one w",
        ),
        ("t.csv", b"%PDF-1.4", "the file is a PDF file: save the table as .csv or .xl"),
        (
            "t.csv",
            b"\n<!DOCTYPE html>",
            "the file is a web page or XML: save the table",
        ),
        (
            "t.txt",
            b"SQLite format 3\0",
            "the file is an SQLite database: save the tabl",
        ),
        ("t.parquet", b"ARROW1\0\0", "the file is an Arrow file: save the table as .p"),
        ("t.csv", b"\x89HDF\r\n", "the file is an HDF5 file: save the table as .csv"),
        ("t.xlsx", b"", "the file is empty"),
        ("t.zip", b"", "the file is empty"),
    ],
)
def test_another_format(complaint, name, content, sentence):
    line = complaint(content, name)
    assert line.startswith(f"{name}: ")
    assert sentence in line
