import csv
import gzip
import json
import math
from pathlib import Path

import pytest

from betanll.sweeps import Store, StoreError, Task
from betanll.sweeps._task import echo

TASKS = [Task.of(echo, number=i) for i in range(5)]


def fill(store, tasks=TASKS):
    for i, task in enumerate(tasks):
        store.add_result(task, [{"number": i, "root": math.sqrt(i)}], seconds=i / 7)


def test_export_and_import_move_a_run(store, tmp_path):
    fill(store)
    path = tmp_path / "deep" / "export.csv"
    assert store.export_csv(path) == len(TASKS)
    with Store(tmp_path / "elsewhere.db") as other:
        other.add_result(TASKS[0], [{"mine": 1}], seconds=0.0)
        assert other.import_csv(path) == len(TASKS) - 1
        assert other.import_csv(path) == 0
        assert other.rows(TASKS[:1]) == [{"mine": 1}]
        assert other.rows(TASKS[1:]) == store.rows(TASKS[1:])
    with Store(tmp_path / "third.db") as third:
        third.import_csv(path)
        third.export_csv(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()


def test_an_empty_store_moves_as_well(store, tmp_path):
    assert store.export_csv(tmp_path / "none.csv") == 0
    assert store.import_csv(tmp_path / "none.csv") == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"a,b\n1,2\n",
        lambda content: content[:-40],
        lambda content: content.replace(b"checksum\r\n", b"checksum\r\n1,2\r\n"),
        lambda content: content.replace(
            b"checksum\r\n", b"checksum\r\n{},[],1.0,a\r\n"
        ),
        lambda content: content.replace(b"1.0", b"1.5"),
        lambda content: content.replace(b"echo", b"ecko"),
        lambda content: content + b"\xff\xfe",
        lambda content: content + b'"open',
        lambda content: bytes(range(256)),
        gzip.compress,
    ],
)
def test_a_damaged_export_adds_nothing(store, tmp_path, damage):
    fill(store)
    path = tmp_path / "export.csv"
    store.export_csv(path)
    path.write_bytes(damage(path.read_bytes()))
    refuse(path, tmp_path)


def test_the_damaged_line_is_named(store, tmp_path):
    fill(store)
    path = tmp_path / "export.csv"
    store.export_csv(path)
    lines = path.read_bytes().split(b"\r\n")
    lines[3] = lines[3].replace(b"echo", b"ech\xff")
    path.write_bytes(b"\r\n".join(lines))
    with (
        Store(tmp_path / "other.db") as other,
        pytest.raises(StoreError, match="line 4 is damaged: it is not UTF-8; export"),
    ):
        other.import_csv(path)


def refuse(path, tmp_path):
    with Store(tmp_path / "other.db") as other:
        with pytest.raises(StoreError, match=r"damaged|not an export") as caught:
            other.import_csv(path)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500
        assert other.done() == set()


TASK = '{"function":"f","settings":{}}'
HUGE = "1" + "0" * 400
BAD_ROWS = [
    *("5", "null", "[null]", "[[1]]", '["a"]', '[{"a": 1}, 2]', "{}", "", "[{]"),
    *("[" * 100_000, '[{"a": ' + "[" * 1000 + "]" * 1000 + "}]", '[{"a": "\\ud800"}]'),
    *(f'[{{"a": {HUGE}}}]', f'[{{"a": [-{HUGE}]}}]', '[{"a": ' + "1" * 5000 + "}]"),
]
BAD_TASKS = [
    *("5", "null", "{}", "[]", "", "[" * 100_000, '{"function":5,"settings":{}}'),
    *('{"function":"f","settings":[]}', '{"function":"f","settings":{"a":[1]}}'),
    '{"function":"f","settings":{},"more":1}',
    '{"function":"f","settings":{"a":[' + "1," * 1000 + "1]}}",
]


def write_old_export(path, task=TASK, rows="[]", seconds="0.1"):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["task", "rows", "seconds"], [task, rows, seconds]])


@pytest.mark.parametrize("rows", BAD_ROWS, ids=lambda text: text[:12])
def test_results_of_an_import_that_are_no_rows(tmp_path, rows):
    write_old_export(tmp_path / "export.csv", rows=rows)
    refuse(tmp_path / "export.csv", tmp_path)


@pytest.mark.parametrize("task", BAD_TASKS, ids=lambda text: text[:12])
def test_tasks_of_an_import_that_are_none(tmp_path, task):
    write_old_export(tmp_path / "export.csv", task=task)
    refuse(tmp_path / "export.csv", tmp_path)


@pytest.mark.parametrize("seconds", ["x", "", "nan", "inf", "-1.0", HUGE])
def test_durations_of_an_import_that_are_none(tmp_path, seconds):
    write_old_export(tmp_path / "export.csv", seconds=seconds)
    refuse(tmp_path / "export.csv", tmp_path)


def test_exports_without_checksums_are_imported(store, tmp_path):
    write_old_export(tmp_path / "old.csv", rows='[{"a":0.1}]')
    assert store.import_csv(tmp_path / "old.csv") == 1
    assert store.rows([Task("f", ())]) == [{"a": 0.1}]


ROOT = Path(__file__).parents[2]
PUBLISHED = sorted(ROOT.glob("results/*/results.csv.gz"))
PUBLISHED += sorted(ROOT.glob("paper/results/*/results.csv.gz"))


@pytest.mark.parametrize("packed", PUBLISHED, ids=lambda path: path.parent.name)
def test_published_results_are_imported(store, tmp_path, packed):
    path = tmp_path / "results.csv"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert store.import_csv(path) == len(lines)
    tasks = [Task.from_json(line["task"]) for line in lines]
    expected = [row for line in lines for row in json.loads(line["rows"])]
    assert store.rows(tasks) == expected


def test_an_import_leaves_the_csv_module_as_it_was(store, tmp_path):
    """Its limit is one for the process; other readers rely on it."""
    before = csv.field_size_limit()
    store.add_result(TASKS[0], [{"text": "x" * (2 * before)}], seconds=0.0)
    store.export_csv(tmp_path / "export.csv")
    with Store(tmp_path / "other.db") as other:
        assert other.import_csv(tmp_path / "export.csv") == 1
    assert csv.field_size_limit() == before


def test_an_import_to_a_full_disk_adds_nothing(store, tmp_path):
    for task in TASKS:
        store.add_result(task, [{"text": "x" * 100_000}], seconds=0.0)
    store.export_csv(tmp_path / "export.csv")
    with Store(tmp_path / "other.db") as other:
        other._connection.execute("pragma max_page_count = 60")
        with pytest.raises(OSError, match="is full"):
            other.import_csv(tmp_path / "export.csv")
        assert other.done() == set()
        other._connection.execute("pragma max_page_count = 1000000")
        assert other.import_csv(tmp_path / "export.csv") == len(TASKS)
