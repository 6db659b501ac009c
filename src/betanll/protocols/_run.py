"""Protocols as generators of fleets, and what drives them.

A protocol yields tasks, is sent their results and returns the fitted model. Whoever
drives it decides how many protocols share a fleet.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from betanll.training import FitResult, FitTask, fit_fleet

Outcome = TypeVar("Outcome")
#: Yields fleets, is sent their results.
Protocol = Generator[list[FitTask], list[FitResult], Outcome]


def run(
    protocols: Sequence[Protocol[Outcome]],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Outcome]:
    """Run protocols side by side, their tasks of one stage as one fleet."""
    fitted: dict[int, Outcome] = {}
    waiting = {i: next(protocol) for i, protocol in enumerate(protocols)}
    while waiting:
        tasks = [task for stage in waiting.values() for task in stage]
        results = iter(fit_fleet(tasks, n_jobs=n_jobs, progress=progress))
        del tasks
        stages, waiting = waiting, {}
        for i in list(stages):
            mine = [next(results) for _ in stages.pop(i)]
            try:
                waiting[i] = protocols[i].send(mine)
            except StopIteration as stop:
                fitted[i] = stop.value
    return [fitted[i] for i in range(len(protocols))]
