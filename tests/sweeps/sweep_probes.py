"""Small tasks that show what a sweep does with its workers.

Each notes in a log file that it was started, so that executions can be counted.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from betanll.sweeps import task


@task
def visit(*, log: str, number: int, seconds: float = 0.0) -> list[dict[str, Any]]:
    """Take some time and return a number that has many digits."""
    _note(log, number)
    time.sleep(seconds)
    return [{"number": number, "sine": math.sin(number)}]


@task
def fail(*, log: str, number: int) -> list[dict[str, Any]]:
    """Raise an error."""
    _note(log, number)
    raise ZeroDivisionError(f"probe {number} fails")


@task
def leave(*, log: str, number: int) -> list[dict[str, Any]]:
    """Ask Python to exit."""
    _note(log, number)
    raise SystemExit(number)


@task
def die(
    *, log: str, number: int, n_deaths: int, seconds: float = 0.0
) -> list[dict[str, Any]]:
    """Take the process down without a word, the first `n_deaths` times."""
    _note(log, number)
    time.sleep(seconds)
    if count(log).get(number, 0) <= n_deaths:
        os._exit(1)
    return [{"number": number, "sine": math.sin(number)}]


@task
def hold(*, log: str, number: int) -> list[dict[str, Any]]:
    """Name the process in a file beside the log and wait to be killed, the first time.

    The second time return as :func:`visit` does.
    """
    _note(log, number)
    if count(log)[number] == 1:
        Path(f"{log}.held").write_text(str(os.getpid()))
        time.sleep(600)
    return [{"number": number, "sine": math.sin(number)}]


@task
def garble(*, log: str, number: int) -> Any:
    """Return something that is not rows of plain values."""
    _note(log, number)
    return [{"number": complex(number)}] if number else None


@task
def environment(*, names: str) -> list[dict[str, Any]]:
    """Return variables of the worker's environment."""
    return [{name: os.environ.get(name) for name in names.split()}]


@task
def page_faults(*, n_blocks: int, n_bytes: int) -> list[dict[str, Any]]:
    """Return how often memory came from the system while blocks of it came and went."""
    import resource  # not on Windows

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(n_blocks):
        b"x" * n_bytes
    return [{"n": resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before}]


@task
def delegate(*, number: float) -> list[dict[str, Any]]:
    """Have another process compute a root."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return [{"root": pool.submit(math.sqrt, number).result()}]


def count(log: str | Path) -> dict[int, int]:
    """Return how often each number was started."""
    path = Path(log)
    lines = path.read_text().split() if path.exists() else []
    return {int(line): lines.count(line) for line in lines}


def _note(log: str, number: int) -> None:
    # Appending a short line is one call, which processes do not mix up.
    with Path(log).open("a") as file:
        file.write(f"{number}\n")
