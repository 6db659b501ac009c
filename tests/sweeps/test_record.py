import math

import pytest

from betanll.sweeps import Task
from betanll.sweeps._record import Record, checksum, rows_from_json, rows_to_json
from betanll.sweeps._task import echo

TASK = Task.of(echo, word="β")


def test_a_record_is_read_as_it_was_made():
    rows = [{"a": 0.1, "b": [1, [2.5, None]], "c": "β", "d": True}, {}]
    assert Record.of(TASK, rows, 1).read() == (TASK, rows)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": '[{"a": 2}]'},
        {"rows": b"[]"},
        {"rows": None},
        {"task": TASK.to_json().replace("word", "ward")},
        {"task": 5},
        {"seconds": math.nextafter(0.1, 1)},
        {"seconds": "0.1"},
        {"seconds": None},
        {"checksum": ""},
        {"checksum": None},
    ],
)
def test_any_change_is_noticed(changes):
    record = Record.of(TASK, [{"a": 1}], 0.1)
    with pytest.raises(ValueError, match=r"checksum|not text|not a number"):
        record._replace(**changes).read()


def test_checksums_know_where_texts_end():
    texts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ('a", "bc',)]
    assert len({checksum(*parts) for parts in texts}) == len(texts)


def test_rows_may_be_nested_but_not_without_end():
    deep = value = []
    for _ in range(15):
        value.append([])
        value = value[0]
    rows = [{"a": deep}]
    assert rows_from_json(rows_to_json(rows)) == rows
    for _ in range(10):
        deep = [deep]
    with pytest.raises(ValueError, match="nested more than 20 times"):
        rows_to_json([{"a": deep}])
    circle = []
    circle.append(circle)
    with pytest.raises(ValueError, match="nested more than 20 times"):
        rows_to_json([{"a": circle}])


@pytest.mark.parametrize("value", [10**400, -(10**400), "\ud800", {"\udfff": 1}])
def test_values_that_nobody_can_write_again(value):
    with pytest.raises(ValueError, match=r"larger than any float|surrogates"):
        rows_to_json([{"a": value}])


def test_a_long_value_is_cut_in_messages():
    with pytest.raises(TypeError, match="not a dictionary") as caught:
        rows_to_json(["x" * 10_000])
    assert len(str(caught.value)) < 200
