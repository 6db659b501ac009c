"""Columns of very long cells."""

import time

import pytest

LONG = 200_000


@pytest.mark.parametrize(
    "cell",
    ["a-" * LONG, "1" * LONG + "x", "1-" * LONG + "x", "a 1" + " b" * LONG, "x" * LONG],
)
def test_reading_takes_time_in_proportion_to_the_length(kind, cell):
    start = time.process_time()
    assert kind([cell, cell + "z", "b"]) == "category"
    assert time.process_time() - start < 5
