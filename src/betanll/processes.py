"""Cores of a process, and guards for scripts that start processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator

#: Exit status of a process that reaches the call for which it was started.
UNGUARDED = 79


def available_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def environment(**wanted: str) -> Iterator[None]:
    """Set environment variables for a while, and undo all changes to the environment.

    Examples
    --------
    >>> with environment(BETANLL_PLACE="here"):
    ...     os.environ["BETANLL_PLACE"]
    'here'
    >>> "BETANLL_PLACE" in os.environ
    False
    """
    before = dict(os.environ)
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


def refuse_to_nest() -> None:
    """End a process that, importing its script, reaches the call that started it.

    Call this first in functions that start processes. Without it, Python prints a
    traceback in each process.
    """
    # The test that `multiprocessing` makes before it starts a process.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(UNGUARDED)


def check_guard(function: str) -> None:
    """Raise an error if new processes cannot start because the script is unguarded."""
    process = multiprocessing.get_context("spawn").Process(target=_nothing)
    process.start()
    process.join()
    if process.exitcode == UNGUARDED:
        raise RuntimeError(
            f"worker processes import the script that calls {function}: put the call "
            'below `if __name__ == "__main__":`'
        )


def _nothing() -> None:
    pass
