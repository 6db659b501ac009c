import contextlib
import hashlib
import json
import math
import re
import sqlite3

import pytest

from betanll.sweeps import Store, StoreError, Task
from betanll.sweeps._task import echo

TASKS = [Task.of(echo, number=i) for i in range(5)]


def fill(store, tasks=TASKS):
    for i, task in enumerate(tasks):
        store.add_result(task, [{"number": i, "root": math.sqrt(i)}], seconds=i / 7)


def test_results_come_back_in_the_order_of_the_tasks(store):
    fill(store)
    rows = store.rows([TASKS[3], TASKS[1]])
    assert rows == [{"number": i, "root": math.sqrt(i)} for i in (3, 1)]
    assert store.rows([Task.of(echo, number=9)]) == []
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


def test_forgotten_results_can_be_stored_again(store):
    fill(store)
    store.forget_results(TASKS[:2])
    assert store.done() == {task.key for task in TASKS[2:]}
    store.add_result(TASKS[0], [{"a": 2}], seconds=0.0)
    assert store.rows(TASKS[:2]) == [{"a": 2}]


def test_what_cannot_be_read_back_is_not_stored(store):
    for value in (10**400, "\ud800", object(), {1: 2}):
        with pytest.raises((ValueError, TypeError)):
            store.add_result(TASKS[0], [{"value": value}], seconds=0.0)
    with pytest.raises(ValueError, match="duration"):
        store.add_result(TASKS[0], [], seconds=math.nan)
    assert store.done() == set()
    # What went wrong is told, whatever it says.
    store.add_failure(TASKS[0], "no file \udcff")
    assert store.failures() == [(TASKS[0], "no file \\udcff")]


def old_store(path):
    """Make a store as it was before there were checksums."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            pragma application_id = 0x62657461;
            pragma journal_mode = wal;
            create table results (key text primary key, task text not null,
                                  rows text not null, seconds real not null);
            create table failures (key text not null, task text not null,
                                   traceback text not null);
            """
        )
        for i, task in enumerate(TASKS):
            values = (task.key, task.to_json(), json.dumps([{"number": i}]), i / 7)
            connection.execute("insert into results values (?, ?, ?, ?)", values)
        values = (TASKS[0].key, TASKS[0].to_json(), "once")
        connection.execute("insert into failures values (?, ?, ?)", values)
        connection.commit()


def test_an_old_store_goes_on(tmp_path):
    path = tmp_path / "store.db"
    old_store(path)
    for _ in range(2):
        with Store(path) as store:
            assert store.rows(TASKS) == [{"number": i} for i in range(5)]
            assert store.failures() == [(TASKS[0], "once")]
    with Store(path) as store:
        task = Task.of(echo, number=9)
        store.add_result(task, [{"number": 9}], seconds=0.0)
        assert store.export_csv(tmp_path / "export.csv") == 6
    with Store(tmp_path / "other.db") as other:
        assert other.import_csv(tmp_path / "export.csv") == 6


def test_an_old_store_whose_making_was_interrupted(tmp_path):
    path = tmp_path / "store.db"
    old_store(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("drop table failures")
    with Store(path) as store:
        assert len(store.done()) == 5
        assert store.n_failures() == {}


def change(path, statement, *values):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


CHANGES = [
    ("update results set rows = '[{}]' where rowid = 3", ()),
    ("update results set seconds = 0.5 where rowid = 3", ()),
    ("update results set seconds = 'x' where rowid = 3", ()),
    ("update results set key = 'x' where rowid = 3", ()),
    ("update results set task = ? where rowid = 3", (TASKS[4].to_json(),)),
    ("update results set checksum = 7 where rowid = 3", ()),
    ("update results set rows = x'ff00' where rowid = 3", ()),
    ("update results set rows = cast(x'ff' as text) where rowid = 3", ()),
    ("update failures set traceback = 'twice'", ()),
    ("update failures set key = 'x'", ()),
    ("update failures set task = 5", ()),
    ("alter table results rename column rows to lines", ()),
]
ANOTHER_SCHEMA = [
    ("alter table results add column more text", ()),
    ("alter table failures drop column traceback", ()),
]


@pytest.mark.parametrize(("statement", "values"), CHANGES)
def test_changed_results_are_noticed(store, tmp_path, statement, values):
    fill(store)
    store.add_failure(TASKS[0], "once")
    before = dict(zip(TASKS, [[row] for row in store.rows(TASKS)], strict=True))
    change(store.path, statement, *values)
    # When the file is opened,
    with pytest.raises(StoreError, match=r"store\.db") as caught:
        Store(store.path)
    assert "\n" not in str(caught.value)
    # and by whoever has it open already.
    refusals = 0
    for task in TASKS:
        try:
            assert store.rows([task]) in (before[task], [])
        except StoreError:
            refusals += 1
    for read in (store.failures, lambda: store.export_csv(tmp_path / "out.csv")):
        try:
            read()
        except StoreError:
            refusals += 1
    assert refusals
    assert not (tmp_path / "out.csv").exists() or "failures" in statement


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        *(
            ("update results set rows = ? where rowid = 3", (rows,))
            for rows in ("[null]", "[[1]]", "[" * 100_000, f'[{{"a": {10**400}}}]')
        ),
        ("update results set task = '{}' where rowid = 3", ()),
        *CHANGES[2:5],
        CHANGES[7],
        *CHANGES[9:],
        *ANOTHER_SCHEMA,
    ],
)
def test_a_damaged_old_store_stays_as_it_is(tmp_path, statement, values):
    path = tmp_path / "store.db"
    old_store(path)
    change(path, statement, *values)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"store\.db") as caught:
            Store(path)
        assert "\n" not in str(caught.value)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        columns = connection.execute("pragma table_info(results)").fetchall()
    assert "checksum" not in [column[1] for column in columns]


def test_damaged_rows_can_be_removed_as_the_message_says(store):
    fill(store)
    change(store.path, "update results set rows = '[{}]' where rowid in (2, 4)")
    change(store.path, "update results set task = cast(x'ff' as text) where rowid = 5")
    with pytest.raises(StoreError, match=r"3 in all, first row 2: its") as error:
        Store(store.path)
    command = re.search(r": sqlite3 (\S+) '(.*)'$", str(error.value))
    assert command[1] == str(store.path)
    change(store.path, command[2])
    with Store(store.path) as mended:
        assert mended.done() == {TASKS[0].key, TASKS[2].key}
        assert len(mended.rows(TASKS)) == 2


def foreign_database(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("create table results (mine text)")
        connection.commit()


def truncated_store(path):
    with Store(path) as store:
        for i in range(300):
            task = Task.of(echo, number=i)
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
