"""Results of tasks in an SQLite file."""

from __future__ import annotations

import itertools
import shlex
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from betanll.sentences import shortened
from betanll.sweeps._export import read_export, write_export
from betanll.sweeps._record import Record, Rows, StoreError, checksum, verify
from betanll.sweeps._task import Task

_COLUMNS = {
    "results": (
        *("key text primary key", "task text not null", "rows text not null"),
        *("seconds real not null", "checksum text not null"),
    ),
    "failures": (
        *("key text not null", "task text not null", "traceback text not null"),
        "checksum text not null",
    ),
}
_NAMES = {t: [c.partition(" ")[0] for c in _COLUMNS[t]] for t in _COLUMNS}
_APPLICATION_ID = 0x62657461  # "beta"
#: Errors of a damaged file. UnicodeDecodeError comes from messages that quote it.
_FAULTS = (sqlite3.Error, UnicodeDecodeError)
#: Damaged rows named in one message.
_MAX_NAMED = 20


class Store:
    """Results and failures of tasks; additions are on the disk when they return.

    Opening a file compares every row with its checksum and refuses a damaged file. The
    message names the damaged rows and the command that removes them.

    Parameters
    ----------
    path : path
        An SQLite file; made if it does not exist.

    Raises
    ------
    StoreError
        If the file is not a store, or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from betanll.sweeps._task import echo
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     Store(Path(folder) / "s.db") as store,
    ... ):
    ...     task = Task.of(echo, word="hello")
    ...     store.add_result(task, task.run(), seconds=0.1)
    ...     store.rows([task])
    [{'word': 'hello'}]
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists() or self.path.stat().st_size == 0
        try:
            self._connection = sqlite3.connect(self.path, isolation_level=None)
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        try:
            self._prepare(is_new)
        except BaseException as error:
            self._connection.close()
            if isinstance(error, _FAULTS):
                raise self._unusable(error) from None
            raise

    def _prepare(self, is_new: bool) -> None:
        """Check a file that exists before anything is written to it."""
        # Bytes that are not UTF-8 must not hide which row they are in.
        self._connection.text_factory = lambda b: b.decode(errors="surrogateescape")
        execute = self._connection.execute
        if is_new:
            # First: a file without it is not recognised as a store.
            execute(f"pragma application_id = {_APPLICATION_ID}")
        elif execute("pragma application_id").fetchone() != (_APPLICATION_ID,):
            raise StoreError(f"{self.path} is not a result store of betanll")
        elif (found := execute("pragma integrity_check(1)").fetchone()) != ("ok",):
            raise self._unusable(found[0])
        is_old = any(map(self._is_old, _COLUMNS))
        if not is_old:
            self._check_all()
        execute("pragma journal_mode = wal")
        # Full: a result that was reported as stored survives a power cut.
        execute("pragma synchronous = full")
        if is_old:
            self._renew()

    def _check_all(self) -> None:
        for table in _COLUMNS:
            for _ in self._lines(table):
                pass

    def _is_old(self, table: str) -> bool:
        """Return whether a table is missing, or lacks checksums."""
        found = self._connection.execute(f"pragma table_info({table})").fetchall()
        names, expected = [column[1] for column in found], _NAMES[table]
        if names not in (expected, expected[:-1], []):
            raise self._unusable(f"its table {table} is of another version of betanll")
        return names != expected

    def _renew(self) -> None:
        """Create missing tables, and add checksums to old ones."""
        execute = self._connection.execute
        execute("begin immediate")
        try:
            for table, columns in _COLUMNS.items():
                execute(f"create table if not exists {table} ({', '.join(columns)})")
                if self._is_old(table):
                    execute(f"alter table {table} add column {columns[-1]} default ''")
                    self._add_checksums(table)
            # Damaged rows now have a checksum, but still cannot be read.
            self._check_all()
            execute("commit")
        except BaseException:
            if self._connection.in_transaction:
                execute("rollback")
            raise

    def _add_checksums(self, table: str) -> None:
        update = f"update {table} set checksum = ? where rowid = ?"
        lines = self._connection.execute(f"select rowid, * from {table}").fetchall()
        for rowid, _, *fields, _ in lines:
            texts = [str(field).encode(errors="replace").decode() for field in fields]
            self._connection.execute(update, (checksum(*texts), rowid))

    def _unusable(self, reason: object) -> StoreError:
        # SQLite's first line only names the database.
        line = shortened(str(reason).rpartition("\n")[2])
        # Operational errors are about access, such as a locked or unreadable file.
        if not isinstance(reason, sqlite3.OperationalError):
            line += "; restore a copy of the file, or move it away to start again"
        return StoreError(f"{self.path} cannot be used as a result store: {line}")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def add_result(self, task: Task, rows: Rows, *, seconds: float) -> None:
        """Store the result rows of a task; the first result of a task stays."""
        self._add(task, Record.of(task, rows, seconds))

    def _add(self, task: Task, record: Record) -> None:
        statement = "insert or ignore into results values (?, ?, ?, ?, ?)"
        self._write(statement, (task.key, *record))

    def add_failure(self, task: Task, traceback: str) -> None:
        """Store one failed attempt."""
        # File names in a traceback need not be valid text.
        traceback = traceback.encode(errors="backslashreplace").decode()
        texts = task.to_json(), traceback
        self._write(
            "insert into failures values (?, ?, ?, ?)",
            (task.key, *texts, checksum(*texts)),
        )

    def done(self) -> set[str]:
        """Return the keys of tasks that have a result."""
        return {key for (key,) in self._read("select key from results")}

    def is_done(self, task: Task) -> bool:
        """Return whether a task has a result."""
        query = "select 1 from results where key = ?"
        return any(True for _ in self._read(query, (task.key,)))

    def n_failures(self) -> dict[str, int]:
        """Return the number of failed attempts by key."""
        return dict(self._read("select key, count(*) from failures group by key"))

    def failures(self) -> list[tuple[Task, str]]:
        """Return failed attempts with their tracebacks, the oldest first."""
        return list(self._lines("failures", "order by rowid"))

    def forget_failures(self) -> None:
        """Forget all failed attempts, so that sweeps run their tasks again."""
        self._write("delete from failures", ())

    def forget_results(self, tasks: Iterable[Task]) -> None:
        """Delete the results of these tasks, so that a sweep runs them again."""
        for task in tasks:
            self._write("delete from results where key = ?", (task.key,))

    def rows(self, tasks: Iterable[Task]) -> Rows:
        """Return the result rows of these tasks, in the order of the tasks."""
        return [
            row
            for task in tasks
            for _, rows in self._lines("results", "where key = ?", (task.key,))
            for row in rows
        ]

    def export_csv(self, path: Path) -> int:
        """Write all results to a CSV file, to resume elsewhere; return their number."""
        results = self._lines("results", "order by key")
        return write_export(path, (record for record, _ in results))

    def import_csv(self, path: Path) -> int:
        """Add the missing results from an exported file; return how many."""
        before = len(self.done())
        results = read_export(path)  # nothing is added from a damaged file
        self._write("begin", ())
        try:
            for task, record in results:
                self._add(task, record)
            self._write("commit", ())
        except BaseException:
            if self._connection.in_transaction:  # a full disk ends the transaction
                self._connection.execute("rollback")
            raise
        return len(self.done()) - before

    def _lines(
        self, table: str, which: str = "", values: tuple[str, ...] = ()
    ) -> Iterator[Any]:
        """Yield the content of the rows of a table, then raise if any are damaged.

        The error comes last so that it can name all damaged rows.
        """
        query = f"select rowid, {', '.join(_NAMES[table])} from {table} {which}"
        damaged: dict[int, ValueError] = {}
        for rowid, *fields in self._read(query, values):
            try:
                content = _PARSERS[table](*fields)
            except ValueError as error:
                damaged[rowid] = error
            else:
                yield content
        if damaged:
            raise self._damaged(table, damaged)

    def _damaged(self, table: str, damaged: dict[int, ValueError]) -> StoreError:
        rowid, reason = next(iter(damaged.items()))
        rowids = ", ".join(map(str, itertools.islice(damaged, _MAX_NAMED)))
        return StoreError(
            f"{self.path}: damaged rows in the table {table} ({len(damaged)} in all, "
            f"first row {rowid}: {shortened(str(reason))}); restore a copy of the "
            "file, or remove the damaged rows and run their tasks again: sqlite3 "
            f"{shlex.quote(str(self.path))} 'delete from {table} where rowid in "
            f"({rowids})'"
        )

    def _read(self, query: str, values: tuple[str, ...] = ()) -> Iterator[Any]:
        try:
            yield from self._connection.execute(query, values)
        except _FAULTS as error:
            raise self._unusable(error) from None

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        try:
            self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise OSError(f"{self.path} cannot be written: {error}") from None


def _parse_result(key: object, *fields: Any) -> tuple[Record, Rows]:
    record = Record(*fields)
    task, rows = record.read()
    _check_key(task, key)
    return record, rows


def _parse_failure(
    key: object, task: str, traceback: str, found: object
) -> tuple[Task, str]:
    verify(found, task, traceback)
    parsed = Task.from_json(task)
    _check_key(parsed, key)
    return parsed, traceback


def _check_key(task: Task, key: object) -> None:
    if task.key != key:
        raise ValueError("its key does not match its task")


_PARSERS: dict[str, Callable[..., Any]] = {
    "results": _parse_result,
    "failures": _parse_failure,
}
