"""Cores of a process, and guards for scripts that start processes."""

from __future__ import annotations

import multiprocessing
import os

#: Exit status of a process that reaches the call for which it was started.
UNGUARDED = 79


def available_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
