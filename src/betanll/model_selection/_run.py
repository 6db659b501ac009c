"""A fit as a generator of training tasks, and the function that drives several.

The generator yields the tasks of one stage, receives their results and returns the
fitted model. `run` trains the tasks that all generators yield as one fleet.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from betanll.training import FitResult, FitTask, fit_fleet

Outcome = TypeVar("Outcome")
#: Yields training tasks, receives their results and returns the fitted model.
Steps = Generator[list[FitTask], list[FitResult], Outcome]


def run(
    fits: Sequence[Steps[Outcome]],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Outcome]:
    """Run several fits; the tasks of each stage form one fleet."""
    fitted: dict[int, Outcome] = {}
    waiting: dict[int, list[FitTask]] = {}
    for i, steps in enumerate(fits):
        try:
            waiting[i] = next(steps)
        except StopIteration as stop:  # nothing had to be trained
            fitted[i] = stop.value
    while waiting:
        tasks = [task for stage in waiting.values() for task in stage]
        results = iter(fit_fleet(tasks, n_jobs=n_jobs, progress=progress))
        del tasks
        stages, waiting = waiting, {}
        for i in list(stages):
            mine = [next(results) for _ in stages.pop(i)]
            try:
                waiting[i] = fits[i].send(mine)
            except StopIteration as stop:
                fitted[i] = stop.value
    return [fitted[i] for i in range(len(fits))]
