"""Processes: how many cores they have, and scripts unaware that they start some."""

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
    """End a process that reaches, in the script it imports, the call that started it.

    To be called first by functions that start processes. Python itself would print a
    traceback in each of them.
    """
    # The test of `multiprocessing` itself, before it starts a process.
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
