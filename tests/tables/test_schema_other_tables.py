"""The encoded matrices of other tables, and of chunks of files."""

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableError, TableSchema, open_table

# Other tables


def test_another_table(infer):
    _, schema = infer(
        a=[1, 2, 3], b=["x", "y", "x"], c=[True, False, True], i=[7, 8, 9]
    )
    schema = TableSchema(schema.targets, schema.features[:3], ("i",))
    other = pd.DataFrame(
        {
            "c": ["no", None, "1"],
            "new": [1, 2, 3],
            "b": ["z", " y ", None],
            "a": ["5", "NA", None],
        }
    )
    expected = [[5, 0, 0, 0], [2, 1, 0, 1], [2, 1, 0, 0]]
    np.testing.assert_array_equal(schema.encode(other), expected)
    missing = "column 'b': 1 missing cell (none in training)"
    assert schema.notes(other) == [
        "column 'a': 2 missing cells (none in training), taken as 2",
        "column 'b': 1 cell with a category that is not among the 2 known ones",
        f"{missing}, taken as none of its categories",
        "column 'c': 1 missing cell (none in training), taken as 1",
    ]
    total = schema.surprises(other) + schema.surprises(other)
    assert schema.notes(total)[0].startswith("column 'a': 4 missing cells")
    with pytest.raises(TableError, match="the table lacks the columns 'a', 'c'"):
        schema.encode(other[["b"]])
    with pytest.raises(TableError, match="the table lacks the column 'i'"):
        schema.id_frame(other)
    for cell in ("perhaps", "2"):
        with pytest.raises(
            TableError, match=f"'c', row 1: '{cell}' is neither true no"
        ):
            schema.encode(other.assign(c=cell))


def test_categories_do_not_depend_on_how_they_are_stored(infer):
    _, schema = infer(a=["1", "2.50", "x", "y", "true", "z"])
    assert schema.features[0].categories == ("1", "2.5", "true", "x", "y", "z")
    for cells in ([1, 1], [1.0, 1.0], ["1", "1.0"], ["01", " 1"], pd.array([1, 1])):
        encoded = schema.encode(pd.DataFrame({"a": cells}))
        np.testing.assert_array_equal(encoded, [[1, 0, 0, 0, 0, 0]] * 2)
    for cells in ([True, True], ["True", "TRUE"]):
        encoded = schema.encode(pd.DataFrame({"a": cells}))
        np.testing.assert_array_equal(encoded, [[0, 0, 1, 0, 0, 0]] * 2)


def test_rows_in_errors(infer):
    _, schema = infer(a=[1, 2, 3])
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
            schema.encode(frame, first_row=first_row)
    infinite = pd.DataFrame({"a": [1, np.inf]}, index=pd.RangeIndex(10, 12))
    with pytest.raises(TableError, match=r"column 'a', row 12: inf is not a finite"):
        schema.encode(infinite)


def test_plain_numbers_are_copied(infer):
    frame, schema = infer(a=[1.0, 2.0], b=[3, 4])
    encoded = schema.encode(frame)
    np.testing.assert_array_equal(encoded, [[1, 3], [2, 4]])
    assert encoded.flags.c_contiguous
    encoded[:] = 0
    np.testing.assert_array_equal(schema.encode(frame), [[1, 3], [2, 4]])
    # One column is its own transpose, so that a view would look like a copy.
    frame, schema = infer(a=[1.0, 2.0])
    schema.encode(frame)[:] = 0
    assert frame["a"].tolist() == [1, 2]


# Chunks of files


def test_chunks_with_different_types(tmp_path):
    rows = [f"{i},{i % 2},{'yes' if i % 3 else 'no'},{i % 5},{i}" for i in range(50)]
    rows += [f"{i}.5,,,{'abc'[i % 3]},{i}" for i in range(50)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["a,b,c,d,y", *rows]))
    table = open_table(path)
    frame = table.read()
    # Half of the cells of d are numbers.
    with pytest.raises(TableError, match=r"column 'd', row 51: 'a' is not a number"):
        TableSchema.infer(frame, targets=["y"])
    rows += ["0,0,yes,a,0"]
    path.write_text("\n".join(["a,b,c,d,y", *rows]))
    frame = table.read()
    schema = TableSchema.infer(frame, targets=["y"])
    kinds = ["numeric", "numeric", "boolean", "categorical"]
    assert [column.kind for column in schema.features] == kinds
    expected = schema.encode(frame)
    assert expected[3].tolist() == [3, 1, 0, 0, 0, *[0, 0, 0, 1, 0, 0, 0, 0]]
    for n_rows in (1, 7, 50):
        pieces = [schema.encode(chunk) for chunk in table.chunks(n_rows)]
        np.testing.assert_array_equal(np.concatenate(pieces), expected)


def test_a_bad_cell_in_a_later_chunk(tmp_path):
    path = tmp_path / "data.csv"
    rows = [f"{i},{i}" for i in range(3000)]
    path.write_text("\n".join(["a,y", *rows]))
    table = open_table(path)
    schema = TableSchema.infer(table.read(), targets=["y"])
    for cell, complaint in [
        ("oops", "'oops' is not a number"),
        ("1e999", "(inf|'1e999') is not a finite number"),
    ]:
        rows[2344] = f"{cell},{cell}"
        path.write_text("\n".join(["a,y", *rows]))
        for use in (schema.encode, schema.target_values):
            with pytest.raises(TableError, match=f"row 2345: {complaint}"):
                list(map(use, table.chunks(1000)))
