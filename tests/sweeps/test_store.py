import contextlib
import csv
import hashlib
import math
import sqlite3

import pytest

from betanll.sweeps import Store, StoreError, Task

TASKS = [Task.of("betanll.sweeps._task:echo", number=i) for i in range(5)]


def fill(store, tasks=TASKS):
    for i, task in enumerate(tasks):
        store.add_result(task, [{"number": i, "root": math.sqrt(i)}], seconds=i / 7)


def test_results_come_back_in_the_order_of_the_tasks(store):
    fill(store)
    rows = store.rows([TASKS[3], TASKS[1]])
    assert rows == [{"number": i, "root": math.sqrt(i)} for i in (3, 1)]
    assert store.rows([Task.of("betanll.sweeps._task:echo", number=9)]) == []
    assert store.done() == {task.key for task in TASKS}


def test_values_keep_their_bits(store):
    values = [0.1 + 0.2, 5e-324, -0.0, math.inf, 2**70, None, True, 'β\n,"']
    store.add_result(TASKS[0], [{"value": value} for value in values], seconds=0.0)
    assert [repr(r["value"]) for r in store.rows(TASKS)] == [repr(v) for v in values]
    store.add_result(TASKS[1], [{"value": math.nan}], seconds=0.0)
    assert math.isnan(store.rows(TASKS[1:])[0]["value"])


def test_the_first_result_stays(store):
    store.add_result(TASKS[0], [{"a": 1}], seconds=0.0)
    store.add_result(TASKS[0], [{"a": 2}], seconds=0.0)
    assert store.rows(TASKS) == [{"a": 1}]


def test_every_addition_is_seen_by_others_at_once(store):
    with Store(store.path) as other:
        for i, task in enumerate(TASKS, 1):
            store.add_result(task, [], seconds=0.0)
            assert len(other.done()) == i
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    # 2 is full: on the disk when a call returns.
    assert store._connection.execute("pragma synchronous").fetchone() == (2,)


def test_failures_are_counted_and_forgotten(store):
    for text in ("first", "second"):
        store.add_failure(TASKS[0], text)
    store.add_failure(TASKS[1], "third")
    assert store.n_failures() == {TASKS[0].key: 2, TASKS[1].key: 1}
    assert store.failures() == [
        (TASKS[0], "first"),
        (TASKS[0], "second"),
        (TASKS[1], "third"),
    ]
    store.forget_failures()
    assert store.n_failures() == {}


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
        lambda content: content.replace(b"seconds\r\n", b"seconds\r\n1,2\r\n"),
        lambda content: content + b"{},[],0.1\r\n",
        lambda content: content + b'"{""function"":""f"",""settings"":{}}",5,0.1\r\n',
        lambda content: content + b'"{""function"":""f"",""settings"":{}}",[],x\r\n',
        lambda content: content + b"\xff\xfe",
        lambda content: content + b'"open',
        lambda content: bytes(range(256)),
    ],
)
def test_a_damaged_export_adds_nothing(store, tmp_path, damage):
    fill(store)
    path = tmp_path / "export.csv"
    store.export_csv(path)
    path.write_bytes(damage(path.read_bytes()))
    with Store(tmp_path / "other.db") as other:
        with pytest.raises(StoreError, match=r"damaged|not an export") as caught:
            other.import_csv(path)
        assert "\n" not in str(caught.value)
        assert other.done() == set()


def foreign_database(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("create table results (mine text)")
        connection.commit()


def truncated_store(path):
    with Store(path) as store:
        for i in range(300):
            task = Task.of("betanll.sweeps._task:echo", number=i)
            store.add_result(task, [{"text": "x" * 100}], seconds=0.0)
    path.write_bytes(path.read_bytes()[:-9000])


def overwritten_store(path):
    truncated_store(path)
    content = bytearray(path.read_bytes())
    content[8192:16384] = b"\x5a" * 8192
    path.write_bytes(content)


@pytest.mark.parametrize(
    "make",
    [
        foreign_database,
        truncated_store,
        overwritten_store,
        lambda path: path.write_text("a,b\n1,2\n"),
        lambda path: path.write_bytes(bytes(range(256)) * 40),
        lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(50)),
    ],
    ids=["database", "truncated", "overwritten", "text", "bytes", "header"],
)
def test_a_foreign_or_damaged_file_is_left_alone(tmp_path, make):
    path = tmp_path / "store.db"
    make(path)
    before = hashlib.sha256(path.read_bytes()).digest()
    with pytest.raises(StoreError, match=r"store\.db (is not|cannot be used as) a res"):
        Store(path)
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="cannot be used as a result store"):
        Store(tmp_path)


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "store.db").touch()
    with Store(tmp_path / "store.db") as store:
        fill(store)
    with Store(tmp_path / "store.db") as store:
        assert len(store.done()) == len(TASKS)


def test_a_store_is_known_as_such_from_its_first_byte(tmp_path):
    """A driver that is killed while it makes the file does not block the next one."""
    path = tmp_path / "store.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        statements = []
        connection.set_trace_callback(statements.append)
        store = Store.__new__(Store)
        store.path, store._connection = path, connection
        store._prepare(is_new=True)
    assert "application_id =" in statements[0]


def test_a_full_disk_is_one_clear_error(store):
    fill(store, TASKS[:2])
    (n_pages,) = store._connection.execute("pragma page_count").fetchone()
    store._connection.execute(f"pragma max_page_count = {n_pages}")
    with pytest.raises(OSError, match=r"store\.db cannot be written: .* is full"):
        store.add_result(TASKS[2], [{"text": "x" * 100_000}], seconds=0.0)
    assert len(store.rows(TASKS)) == 2
    store._connection.execute("pragma max_page_count = 1000000")
    fill(store)
    assert len(store.rows(TASKS)) == len(TASKS)


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
