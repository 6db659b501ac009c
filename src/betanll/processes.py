"""Processes: how many cores they have, and scripts unaware that they start some."""

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
