"""Which columns count the rows, and which are measurements."""

import numpy as np
import pandas as pd
import pytest

from betanll.columns import ColumnEncoder
from betanll.columns._counters import counts_rows, row_counters

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(10),
        1 + np.arange(50),
        1000 + 10 * np.arange(50),
        -np.arange(50),
        RNG.permutation(50),
        np.delete(np.arange(60), [3, 4, 17, 40]),
        2**40 + np.arange(20),
    ],
    ids=["from 0", "from 1", "tens", "down", "shuffled", "gaps", "large"],
)
def test_row_numbers(values):
    assert counts_rows(np.asarray(values, float))


@pytest.mark.parametrize(
    "values",
    [
        np.arange(9),
        np.linspace(0, 1, 50),
        np.arange(50) + 0.5,
        np.repeat(np.arange(25), 2),
        np.zeros(50),
        np.sort(RNG.choice(10_000, 50, replace=False)),
        RNG.integers(0, 60, 50),
        np.append(np.arange(49.0), np.nan),
    ],
    ids=["few", "fractions", "halves", "twice", "constant", "sparse", "random", "nan"],
)
def test_measurements(values):
    assert not counts_rows(np.asarray(values, float))


def test_only_numeric_inputs_are_named():
    n = 20
    frame = pd.DataFrame(
        {
            "number": [str(i) for i in range(n)],  # text that is a number
            "code": [f"r{i}" for i in range(n)],
            "some": [float(i) if i else None for i in range(n)],
            "out": range(n),
            "x": RNG.normal(size=n),
            "y": range(n),
        }
    )
    frame = frame.drop(columns=["out", "y"])
    assert row_counters(ColumnEncoder.infer(frame), frame) == ["number"]
