import numpy as np
import pandas as pd

from betanll.columns import ColumnEncoder, read_values


def test_cells_are_read_as_in_training():
    frame = pd.DataFrame(
        {
            "price": ["$5,700", "$90", None],
            "colour": ["red", None, " red "],
            "sold": ["31.12.2020", None, "01.02.2021"],
            "new": ["yes", "no", None],
            "code": [7, 7.0, np.nan],
        }
    )
    kinds = {"code": "category"}
    columns = ColumnEncoder.infer(frame, kinds).columns
    found = {column.name: read_values(column, frame) for column in columns}
    shown = {
        name: [cells.shown(value) for value in cells.values.tolist()]
        for name, cells in found.items()
    }
    assert shown == {
        "price": ["5700", "90", "missing"],
        "colour": ["'red'", "missing", "'red'"],
        "sold": ["2020-12-31", "missing", "2021-02-01"],
        "new": ["true", "false", "missing"],
        "code": ["'7'", "'7'", "missing"],
    }


def test_unseen_levels_are_levels():
    frame = pd.DataFrame({"colour": ["red", "blue"] * 3})
    (column,) = ColumnEncoder.infer(frame).columns
    cells = read_values(column, pd.DataFrame({"colour": ["green", "red"]}))
    assert cells.levels == ("green", "red")
