"""Results of tasks in an SQLite file."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from betanll._files import written_atomically
from betanll.sweeps._task import Task

_SCHEMA = """
create table if not exists results (
    key text primary key, task text not null, rows text not null, seconds real not null
);
create table if not exists failures (
    key text not null, task text not null, traceback text not null
);
"""
_APPLICATION_ID = 0x62657461  # "beta"


class StoreError(ValueError):
    """A file that is no store, or a store that cannot be used."""


class Store:
    """Results and failures of tasks; every addition is on the disk when it returns.

    Parameters
    ----------
    path : path
        An SQLite file; made if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     Store(Path(folder) / "s.db") as store,
    ... ):
    ...     task = Task.of("betanll.sweeps._task:echo", word="hello")
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
            if isinstance(error, sqlite3.Error):
                raise self._unusable(error) from None
            raise

    def _prepare(self, is_new: bool) -> None:
        """Check a file that exists before anything is written to it."""
        execute = self._connection.execute
        if is_new:
            # First of all: a file without it would not be taken for a store again.
            execute(f"pragma application_id = {_APPLICATION_ID}")
        elif execute("pragma application_id").fetchone() != (_APPLICATION_ID,):
            raise StoreError(f"{self.path} is not a result store of betanll")
        elif (found := execute("pragma quick_check(1)").fetchone()) != ("ok",):
            raise self._unusable(found[0])
        execute("pragma journal_mode = wal")
        # Full: a result that was reported as stored survives a power cut.
        execute("pragma synchronous = full")
        self._connection.executescript(_SCHEMA)

    def _unusable(self, reason: object) -> StoreError:
        return StoreError(f"{self.path} cannot be used as a result store: {reason}")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def add_result(
        self, task: Task, rows: list[dict[str, Any]], *, seconds: float
    ) -> None:
        """Store the result rows of a task; the first result of a task stays."""
        self._write(
            "insert or ignore into results values (?, ?, ?, ?)",
            (task.key, task.to_json(), json.dumps(rows), seconds),
        )

    def add_failure(self, task: Task, traceback: str) -> None:
        """Store one failed attempt."""
        self._write(
            "insert into failures values (?, ?, ?)",
            (task.key, task.to_json(), traceback),
        )

    def done(self) -> set[str]:
        """Return the keys of tasks that have a result."""
        return {key for (key,) in self._connection.execute("select key from results")}

    def n_failures(self) -> dict[str, int]:
        """Return the number of failed attempts by key."""
        query = "select key, count(*) from failures group by key"
        return dict(self._connection.execute(query))

    def failures(self) -> list[tuple[Task, str]]:
        """Return failed attempts with their tracebacks, the oldest first."""
        query = "select task, traceback from failures order by rowid"
        return [
            (Task.from_json(t), text) for t, text in self._connection.execute(query)
        ]

    def forget_failures(self) -> None:
        """Give every task that was given up another chance."""
        self._write("delete from failures", ())

    def rows(self, tasks: Iterable[Task]) -> list[dict[str, Any]]:
        """Return the result rows of these tasks, in the order of the tasks."""
        query = "select rows from results where key = ?"
        rows: list[dict[str, Any]] = []
        for task in tasks:
            found = self._connection.execute(query, (task.key,)).fetchone()
            if found is not None:
                rows += json.loads(found[0])
        return rows

    def export_csv(self, path: Path) -> int:
        """Write all results to a CSV file, to go on elsewhere; return their number."""
        query = "select task, rows, seconds from results order by key"
        n = 0
        with (
            written_atomically(path) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.writer(file)
            writer.writerow(["task", "rows", "seconds"])
            for line in self._connection.execute(query):
                writer.writerow(line)
                n += 1
        return n

    def import_csv(self, path: Path) -> int:
        """Add results of an exported file that are not here; return how many."""
        before = len(self.done())
        with _long_cells():
            results = list(_exported(path))  # nothing is added from a damaged file
        self._write("begin", ())
        try:
            for task, rows, seconds in results:
                self.add_result(task, rows, seconds=seconds)
            self._write("commit", ())
        except BaseException:
            if self._connection.in_transaction:  # a full disk has ended it already
                self._connection.execute("rollback")
            raise
        return len(self.done()) - before

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        try:
            self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise OSError(f"{self.path} cannot be written: {error}") from None


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    """Allow cells of any length, which Python limits for the whole process."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _exported(path: Path) -> Iterator[tuple[Task, list[dict[str, Any]], float]]:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file, strict=True)
        try:
            if next(reader, None) != ["task", "rows", "seconds"]:
                raise StoreError(f"{path} is not an export of a result store")
            for description, text, seconds in reader:
                rows = json.loads(text)
                if not isinstance(rows, list):
                    raise TypeError("no list of rows")
                yield Task.from_json(description), rows, float(seconds)
        except StoreError:
            raise
        except (ValueError, KeyError, TypeError, csv.Error):
            raise StoreError(f"{path}: line {reader.line_num} is damaged") from None
