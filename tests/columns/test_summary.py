"""What is said about each column of a training table."""

import pandas as pd

from betanll.columns import ColumnSummary, summarise


def line(infer, cells):
    frame, encoder = infer(a=cells, other=[1.5, 2.5] * (len(cells) // 2))
    return summarise(encoder, frame)[0]


def test_numbers_dates_and_booleans(infer):
    assert line(infer, [1, None, 3.5, 2]) == ColumnSummary(
        "a", "number", 0.25, "1 to 3.5", 2, ()
    )
    dates = pd.date_range("2020-01-01", periods=4, freq="36h")
    found = line(infer, dates)
    assert found.content == "2020-01-01 to 2020-01-05 12:00:00"
    assert line(infer, ["yes", "no", "yes", "yes"]).content == "75% true"


def test_levels(infer):
    assert line(infer, ["x", "y"] * 4).content == "'x', 'y'"
    cities = [f"c{i}" for i in range(10)] * 3
    assert line(infer, cities).content == "10 levels"
    rare = [*cities, "u", "v"]
    assert (
        line(infer, rare).content == "10 levels (93% of the rows), rare ones together"
    )
    many = [f"c{i}" for i in range(40)] * 3
    found = line(infer, many)
    assert found.content == "40 levels, by what they say about the target"


def test_a_small_cut_is_never_all_of_the_rows(infer):
    cells = ["x", "y"] * 1000 + ["z", "z"]
    assert "(99% of the rows)" in line(infer, cells).content


def test_notes(infer):
    assert line(infer, ["$5,700", "$90"]).notes == (
        "is read as numbers: '$5,700' is 5700",
    )
    assert line(infer, [3, 3]).notes == ("has one value and says nothing",)
    empty = line(infer, [None, None])
    assert (empty.kind, empty.missing, empty.n_inputs) == ("not used", 1, 0)
    assert empty.notes == ("has no values and is not used",)
