"""The encoded matrices of other tables, and of chunks of files."""

import numpy as np
import pandas as pd
import pytest

from betanll.columns import ColumnEncoder, TableError
from betanll.tables import open_table

# Other tables


def test_another_table(infer):
    _, encoder = infer(a=[1, 2, 3], b=["x", "y", "x"], c=[True, False, True])
    other = pd.DataFrame(
        {
            "c": ["no", None, "1"],
            "new": [1, 2, 3],
            "b": ["z", " y ", None],
            "a": ["5", "NA", None],
        }
    )
    expected = [[5, 0, 0, 0], [2, 0, 1, 1], [2, 0, 0, 1]]
    np.testing.assert_array_equal(encoder.encode(other), expected)
    notes = [
        "column 'a': 2 missing cells (none in training), taken as 2",
        "column 'b': 1 cell with a category that is not among the 2 known ones",
        "column 'b': 1 missing cell (none in training), taken as none of its "
        "categories",
        "column 'c': 1 missing cell (none in training), taken as 1",
    ]
    assert encoder.surprise_notes(other) == notes
    total = encoder.surprises(other) + encoder.surprises(other)
    assert encoder.surprise_notes(total)[0].startswith("column 'a': 4 missing cells")
    with pytest.raises(TableError, match="the table lacks the columns 'a', 'c'"):
        encoder.encode(other[["b"]])
    for cell in ("perhaps", "2"):
        with pytest.raises(
            TableError, match=f"'c', row 1: '{cell}' is neither true no"
        ):
            encoder.encode(other.assign(c=cell))


def test_dates_of_another_table(infer):
    _, encoder = infer(a=["31.12.2020", "1.2.2021", "3.4.2021"])
    typed = pd.DataFrame({"a": pd.to_datetime(["2020-12-31", "2021-02-01", None])})
    encoded = encoder.encode(typed)
    np.testing.assert_array_equal(
        encoded[:2], encoder.encode(pd.DataFrame({"a": ["31.12.2020", "1.2.2021"]}))
    )
    assert encoder.surprise_notes(typed)[0].startswith("column 'a': 1 missing cell")
    for cell in ("2020-12-31", "32.1.2020", "soon"):
        with pytest.raises(
            TableError, match=f"row 1: '{cell}' is not a date of the format %d.%m.%Y"
        ):
            encoder.encode(pd.DataFrame({"a": [cell]}))
    with pytest.raises(TableError, match="row 1: 5 is not a date"):
        encoder.encode(pd.DataFrame({"a": [5, 6]}))


def test_categories_do_not_depend_on_how_they_are_stored(infer):
    _, encoder = infer(a=["1", "2.50", "x", "y", "true", "z"])
    assert encoder.columns[0].levels == ("1", "2.5", "true", "x", "y", "z")
    for cells in ([1, 1], [1.0, 1.0], ["1", "1.0"], ["01", " 1"], pd.array([1, 1])):
        encoded = encoder.encode(pd.DataFrame({"a": cells}))
        np.testing.assert_array_equal(encoded, [[1, 0, 0, 0, 0, 0]] * 2)
    for cells in ([True, True], ["True", "TRUE"]):
        encoded = encoder.encode(pd.DataFrame({"a": cells}))
        np.testing.assert_array_equal(encoded, [[0, 0, 1, 0, 0, 0]] * 2)


def test_rows_in_errors(infer):
    _, encoder = infer(a=[1, 2, 3])
    text = pd.DataFrame({"a": [1, 2, "x", "y"]})
    for frame, first_row, row in [
        (text, 0, 3),
        (text, 100, 103),
        (text.set_axis(pd.RangeIndex(500, 504)), 0, 503),
        # Selected rows keep their numbers.
        (text[1:][[False, False, True]], 0, 4),
        (text.set_axis(list("abcd")), 10, 13),
    ]:
        with pytest.raises(TableError, match=rf"^column 'a', row {row}: '[xy]' is not"):
            encoder.encode(frame, first_row=first_row)
    infinite = pd.DataFrame({"a": [1, np.inf]}, index=pd.RangeIndex(10, 12))
    with pytest.raises(TableError, match=r"column 'a', row 12: inf is not a finite"):
        encoder.encode(infinite)


def test_plain_numbers_are_copied(infer):
    frame, encoder = infer(a=[1.0, 2.0], b=[3, 4])
    encoded = encoder.encode(frame)
    np.testing.assert_array_equal(encoded, [[1, 3], [2, 4]])
    assert encoded.flags.c_contiguous
    encoded[:] = 0
    np.testing.assert_array_equal(encoder.encode(frame), [[1, 3], [2, 4]])
    # One column is its own transpose, so that a view would look like a copy.
    frame, encoder = infer(a=[1.0, 2.0])
    encoder.encode(frame)[:] = 0
    assert frame["a"].tolist() == [1, 2]


# Chunks of files


def test_chunks_with_different_types(tmp_path):
    rows = [f"{i},{i % 2},{'yes' if i % 3 else 'no'},{i % 5}" for i in range(50)]
    rows += [f"{i}.5,,,{'abcdefgh'[i % 8]}" for i in range(50)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["a,b,c,d", *rows]))
    table = open_table(path)
    frame = table.read()
    encoder = ColumnEncoder.infer(frame)
    kinds = ["number", "number", "boolean", "category"]
    assert [column.kind for column in encoder.columns] == kinds
    expected = encoder.encode(frame)
    assert expected[3].tolist() == [3, 1, 0, 0, 0, *[0, 0, 0, 1], *[0] * 9]
    for n_rows in (1, 7, 50):
        pieces = [encoder.encode(chunk) for chunk in table.chunks(n_rows)]
        np.testing.assert_array_equal(np.concatenate(pieces), expected)


def test_a_bad_cell_in_a_later_chunk(tmp_path):
    path = tmp_path / "data.csv"
    rows = [f"{i}" for i in range(3000)]
    path.write_text("\n".join(["a", *rows]))
    table = open_table(path, delimiter=",")
    encoder = ColumnEncoder.infer(table.read())
    for cell, complaint in [
        ("oops", "'oops' is not a number"),
        ("1e999", "(inf|'1e999') is not a finite number"),
    ]:
        rows[2344] = cell
        path.write_text("\n".join(["a", *rows]))
        with pytest.raises(TableError, match=f"row 2345: {complaint}"):
            list(map(encoder.encode, table.chunks(1000)))
