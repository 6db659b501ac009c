"""Schemas of small tables."""

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableSchema


@pytest.fixture(scope="session")
def infer():
    """A function of columns that returns their table and its schema."""

    def describe(targets=("y",), drop=(), ids=(), **columns):
        columns.setdefault("y", np.arange(float(len(next(iter(columns.values()))))))
        frame = pd.DataFrame(columns)
        return frame, TableSchema.infer(frame, targets=targets, drop=drop, ids=ids)

    return describe


@pytest.fixture(scope="session")
def kind(infer):
    """A function of the cells of a column that returns what it is taken for."""
    return lambda cells: infer(a=cells)[1].features[0].kind
