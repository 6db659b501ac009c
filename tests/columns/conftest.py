"""Encoders of small tables."""

import pandas as pd
import pytest

from betanll.columns import ColumnEncoder


@pytest.fixture(scope="session")
def infer():
    """A function of columns that returns their table and its encoder."""

    def describe(kinds=None, **columns):
        frame = pd.DataFrame(columns)
        return frame, ColumnEncoder.infer(frame, kinds)

    return describe


@pytest.fixture(scope="session")
def kind(infer):
    """A function of the cells of a column that returns what it is taken for."""
    return lambda cells: infer(a=cells, other=[1.0] * len(cells))[1].columns[0].kind


@pytest.fixture(scope="session")
def notes(infer):
    """A function of the cells of a column that returns what is said about it."""
    return lambda cells: infer(a=cells, other=[1.0] * len(cells))[1].notes.get("a", ())
