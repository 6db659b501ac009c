"""Excel files: the same tables as from text, and the sentence of each fault."""

import datetime
import io
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableError, TableSchema, _packing, open_table

openpyxl = pytest.importorskip("openpyxl")
HEADER = ["id", "a", "b", "when", "yes"]
DAY = datetime.datetime(2024, 5, 1)
ROWS = [
    [7, 1.5, "red", DAY + datetime.timedelta(i), bool(i % 2)] if i % 5 else
    [i, None, None, None, None]
    for i in range(30)
]  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def write(name="data.xlsx", **sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in (sheets or {"Sheet": [HEADER, *ROWS]}).items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def changed(path, change):
    """Rewrite the members of a workbook with a function of name and content."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if (new := change(name, content)) is not None:
                archive.writestr(name, new)
    return path


def test_cells_of_all_types(write):
    table = open_table(write())
    assert table.columns == tuple(HEADER)
    assert table.has_header
    assert table.notes == ()
    frame = table.read(text=["id"])
    assert len(frame) == 30
    assert frame["id"].tolist()[:3] == [0, 7, 7]
    schema = TableSchema.infer(frame, targets=["a"], ids=["id"])
    kinds = {column.name: column.kind for column in schema.encoder.columns}
    assert kinds == {"b": "category", "when": "date", "yes": "boolean"}
    X = schema.encoder.encode(frame)
    for n_rows in (1, 7, 100):
        pieces = list(table.chunks(n_rows, text=["id"]))
        assert pd.concat(pieces).index.tolist() == list(range(30))
        matrices = [schema.encoder.encode(piece) for piece in pieces]
        np.testing.assert_array_equal(np.concatenate(matrices), X)
    assert len(table.read(5)) == 5


def test_tables_that_do_not_begin_at_the_corner(write):
    rows = [[], ["Report"], [], [None, "a", "b"], [None, 1, 2], [], [None, 3, None]]
    table = open_table(write(Sheet=rows), skip_rows=2)
    assert table.columns == ("column_1", "a", "b")
    assert table.nameless == ("column_1",)
    frame = table.read()
    assert frame["a"].tolist() == [1, 3]
    np.testing.assert_array_equal(frame["b"], [2, np.nan])
    # Without names, and with repeated ones
    assert open_table(write(Sheet=[[1, 2], [3, 4]])).columns == ("column_1", "column_2")
    table = open_table(write(Sheet=[["a", "b", "a"], [1, 2, 3]]))
    assert table.columns == ("a", "b", "a.2")
    assert "the name 'a' is shared by 2 columns" in table.notes[0]
    assert not open_table(write(Sheet=[["a"], ["b"]]), header=False).has_header


def test_sheets(write):
    path = write(First=[["a"], [1]], Second=[["b"], [2]])
    table = open_table(path)
    assert table.columns == ("a",)
    assert table.notes == (
        "the sheet 'First' is read; --sheet chooses another one among 'First', "
        "'Second'.",
    )
    table = open_table(path, sheet="Second")
    assert (table.columns, table.notes) == (("b",), ())
    with pytest.raises(TableError) as caught:
        open_table(path, sheet="Secnd")
    assert str(caught.value) == (
        "data.xlsx: there is no sheet 'Secnd' (did you mean 'Second'?) among 'First', "
        "'Second'"
    )


def test_markers_of_missing_cells(write):
    path = write(Sheet=[["id", "a", "b"], [-99, -99, "?!"], [2, 1.5, "x"]])
    for frame in (
        open_table(path, na_values=[-99, "?!"]).read(text=["id"]),
        *open_table(path, na_values=[-99, "?!"]).chunks(5, text=["id"]),
    ):
        np.testing.assert_array_equal(frame["a"], [np.nan, 1.5])
        assert frame["b"].isna().tolist() == [True, False]
        assert frame["id"].tolist() == [-99, 2]


def test_the_stored_size_is_not_believed(write):
    def shrink(name, content):
        return content.replace(b'ref="A1:E31"', b'ref="A1:A2"')

    path = changed(write(), shrink)
    assert open_table(path).read().shape == (30, 5)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "the sheet 'Sheet' is empty"),
        ([[None], []], "the sheet 'Sheet' is empty"),
        ([["a", "b"]], "the sheet 'Sheet' has column names but no rows"),
        ([["a"], *[[1]] * 1500, [1, 2]], "row 1501 has 2 cells instead of 1"),
    ],
)
def test_faults_of_the_table(write, rows, sentence):
    path = write(Sheet=rows)
    with pytest.raises(TableError, match=f"^data.xlsx: {sentence}$"):
        open_table(path).read()


def test_faults_of_options(write):
    path = write()
    for options, flag in (
        ({"encoding": "utf-8"}, "encoding"),
        ({"delimiter": ";"}, "d"),
    ):
        with pytest.raises(
            TableError, match=rf"--{flag}\w* means nothing in Excel fil"
        ):
            open_table(path, **options)
    (path.parent / "t.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match="--sheet means nothing in text files"):
        open_table(path.parent / "t.csv", sheet="x")


def test_damaged_files(write):
    path = write()
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(TableError, match=r"the zip archive is broken or cut off$"):
        open_table(path)
    path.write_bytes(whole)
    changed(path, lambda name, text: b"<oops" if "sheet1" in name else text)
    with pytest.raises(
        TableError, match=r"^data.xlsx: the file is broken or not Excel"
    ):
        open_table(path).read()
    path.write_bytes(whole)
    changed(path, lambda name, text: None if name == "xl/workbook.xml" else text)
    with pytest.raises(TableError, match="the file is another document than"):
        open_table(path)


def test_entities_are_not_expanded_without_end(write):
    entities = "".join(
        f'<!ENTITY x{i} "{f"&x{i - 1};" * 30 if i else "lol" * 30}">' for i in range(9)
    )

    def bomb(name, content):
        if "sheet1" not in name:
            return content
        start = f"<!DOCTYPE bomb [{entities}]>".encode()
        return start + content.replace(b"<v>7</v>", b"<v>&x8;</v>")

    path = changed(write(), bomb)
    with pytest.raises(TableError, match="the file is broken or not Excel"):
        open_table(path).read()


def test_what_grows_without_end_is_refused(write, monkeypatch):
    monkeypatch.setattr(_packing, "MAX_BYTES", 2**16)
    path = changed(write(), lambda name, text: text + b" " * 2**22)
    with pytest.raises(TableError, match="unpacks to more than 200 times its size"):
        open_table(path)


def test_formulas_are_values_and_links_stay_closed(write):
    """A formula that no program has computed is missing; nothing is executed."""
    path = write(Sheet=[["a", "b"], ["=1+1", 1], ["=HYPERLINK()", 2]])
    assert open_table(path).read()["a"].isna().all()


def test_without_openpyxl(write, monkeypatch):
    path = write()
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(TableError) as caught:
        open_table(path)
    assert str(caught.value) == (
        "data.xlsx: Excel files need openpyxl: install betanll[excel]"
    )


def test_inside_an_archive(write, tmp_path):
    content = write().read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("data.xlsx", content)
    (tmp_path / "t.zip").write_bytes(buffer.getvalue())
    with pytest.raises(
        TableError, match="there is Excel inside the zip file: unpack it"
    ):
        open_table(tmp_path / "t.zip")
