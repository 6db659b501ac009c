"""The driver: hand tasks to workers and store their results."""

from __future__ import annotations

import contextlib
import itertools
import queue
import time
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from betanll.plugins import import_plugin
from betanll.processes import available_cores, refuse_to_nest
from betanll.progress import Progress
from betanll.sweeps._cluster import connected
from betanll.sweeps._record import rows_to_json
from betanll.sweeps._store import Store
from betanll.sweeps._task import Task

#: Failed attempts after which a task is not tried again.
MAX_ATTEMPTS = 3

#: As `MAX_ATTEMPTS`, for workers that died before they began the task.
MAX_NOT_BEGUN = 20

#: Seconds between two checks for new or lost workers.
_LOOK_EVERY = 1.0

#: Checks in a row without a worker before we warn. Local processes get longer: a busy
#: machine takes long to start one.
_LOOKS_WITHOUT_WORKER = 10
_LOOKS_WITHOUT_OWN_WORKER = 60


class SweepReport(NamedTuple):
    """Counts of the tasks that a sweep ran."""

    n_done: int
    n_before: int
    n_failed: int
    n_given_up: int
    seconds: float


class _Outcome(NamedTuple):
    rows: list[dict[str, Any]] | None
    error: str
    seconds: float


def run_sweep(
    tasks: Sequence[Task],
    store: Store,
    *,
    n_workers: int | None = None,
    scheduler: str | None = None,
    plugins: Sequence[str] = (),
    progress: bool = False,
) -> SweepReport:
    """Run all tasks that have no result yet.

    A task that raises is recorded with its traceback and does not stop other tasks. It
    is tried again, in this sweep or a later one, until it has failed three times.
    Crashing the worker counts as a failure.

    Parameters
    ----------
    tasks : sequence of Task
    store : Store
        Receives each result when it arrives.
    n_workers : int, optional
        Processes on this machine, by default one for each core. They import the calling
        script: guard the call by ``if __name__ == "__main__":``. Connections use TLS
        with a key made for this sweep, so that nobody else can connect.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers need the library, the modules of the
        tasks and the data. They should have one thread each: a worker that dies counts
        as a failure of all its tasks. Certificates come from the Dask configuration.
    plugins : sequence of str
        Names of modules to import before any task runs, here and in each worker. Such
        a module may register objectives, for example.
    progress : bool, default=False
        Show progress on the standard error.

    Raises
    ------
    ImportError
        If a plug-in cannot be imported.
    ValueError
        If a task calls a function that is not marked with :func:`task`.
    OSError
        If a result cannot be stored, if the scheduler cannot be reached or goes away,
        or if worker processes do not start, three times in a row. Stored results
        remain; repeat the call to resume.
    """
    refuse_to_nest()
    _import_all(plugins)
    started = time.perf_counter()
    done, n_failures = store.done(), store.n_failures()
    unique = {task.key: task for task in tasks}
    waiting = [
        task
        for key, task in unique.items()
        if key not in done and n_failures.get(key, 0) < MAX_ATTEMPTS
    ]
    for task in waiting:
        task.find()
    n_before = sum(key in done for key in unique)
    n_done = n_failed = 0
    if waiting:
        with (
            connected(
                min(n_workers or available_cores(), len(waiting)), scheduler
            ) as client,
            Progress(
                len(unique), "tasks", initial=n_before, is_shown=progress
            ) as shown,
        ):
            for task, outcome in _outcomes(
                client, waiting, n_failures, plugins, is_own=scheduler is None
            ):
                if outcome.rows is not None:
                    store.add_result(task, outcome.rows, seconds=outcome.seconds)
                    n_done += 1
                    shown.update()
                else:
                    store.add_failure(task, outcome.error)
                    n_failed += 1
    failed = store.n_failures()
    done = store.done()
    n_given_up = sum(
        key not in done and failed.get(key, 0) >= MAX_ATTEMPTS for key in unique
    )
    return SweepReport(
        n_done, n_before, n_failed, n_given_up, time.perf_counter() - started
    )


def _outcomes(
    client: Any,
    tasks: Sequence[Task],
    n_failures: dict[str, int],
    plugins: Sequence[str],
    *,
    is_own: bool,
) -> Iterator[tuple[Task, _Outcome]]:
    """Yield outcomes as they arrive; a failed task is tried again at the end."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError as CancelledError

    waiting = deque(tasks)
    attempts = Counter(n_failures)
    running: dict[str, tuple[Task, Any]] = {}
    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
    numbers = itertools.count()
    n_not_begun: Counter[str] = Counter()
    # How often workers began each submitted task. Beginnings and ends come through one
    # stream, so that a beginning always arrives before its end.
    n_begun: Counter[str] = Counter()
    topic = f"betanll-begun-{client.id}"
    client.subscribe_topic(topic, lambda event: n_begun.update([event[1]]))

    def submit() -> int:
        # One task per thread, so that all begin at once. One without any thread, for a
        # cluster that starts workers when there is work.
        n_threads = sum(client.nthreads().values())
        while waiting and len(running) < max(1, n_threads):
            task = waiting.popleft()
            # A fresh name each time: Dask remembers results by name.
            name = f"{task.key}-{client.id}-{next(numbers)}"
            future = client.submit(
                *(_attempt, task.to_json(), tuple(plugins), topic, name),
                key=name,
                pure=False,
            )
            running[name] = task, future
            future.add_done_callback(arrived.put)
        return n_threads

    n_looks = 0
    while waiting or running:
        try:
            n_looks = 0 if submit() else n_looks + 1
        except OSError as error:
            raise _lost(client, error) from None
        try:
            future = arrived.get(timeout=_LOOK_EVERY)
        except queue.Empty:
            _warn_of_missing_workers(client, n_looks, is_own=is_own)
            continue
        name = future.key
        task, _ = running.pop(name)
        n_tries = 1
        try:
            outcome = future.result()
        except CancelledError:
            raise _lost(client, "it dropped our tasks") from None
        except Exception as fault:
            outcome = _Outcome(None, f"the worker failed: {fault}", 0.0)
            if isinstance(fault, KilledWorker):
                # Dask blames all tasks that a worker held when it died. Other
                # schedulers than ours may have retried by themselves.
                n_tries = min(n_begun[name], fault.allowed_failures + 1)
                n_not_begun[task.key] += not n_tries
                if n_not_begun[task.key] > MAX_NOT_BEGUN:
                    n_tries = MAX_ATTEMPTS
        # Before the next task: Dask would compute the result again if the worker that
        # still has it died.
        future.release()
        n_begun.pop(name, None)
        if outcome.rows is not None:
            yield task, outcome
            continue
        for _ in range(n_tries):
            yield task, outcome
        attempts[task.key] += n_tries
        if attempts[task.key] < MAX_ATTEMPTS:
            waiting.append(task)


def _warn_of_missing_workers(client: Any, n_looks: int, *, is_own: bool) -> None:
    if is_own and n_looks == _LOOKS_WITHOUT_OWN_WORKER:
        seconds = _LOOKS_WITHOUT_OWN_WORKER * _LOOK_EVERY
        complaint = f"no process of the sweep has started for {seconds:.0f} seconds"
    elif not is_own and n_looks == _LOOKS_WITHOUT_WORKER:
        complaint = f"the scheduler at {client.scheduler.address} has no workers"
    else:
        return
    warnings.warn(f"{complaint}; waiting for them", stacklevel=4)


def _lost(client: Any, reason: object) -> ConnectionError:
    address = client.scheduler.address if client.scheduler else "?"
    return ConnectionError(f"lost the scheduler at {address}: {reason}")


def _import_all(plugins: Sequence[str]) -> None:
    for plugin in plugins:
        import_plugin(plugin)


def _attempt(
    description: str, plugins: Sequence[str], topic: str, name: str
) -> _Outcome:
    """Run a task in a worker; return faults as text."""
    _tell_beginning(topic, name)
    started = time.perf_counter()
    try:
        _import_all(plugins)
        task = Task.from_json(description)
        rows = task.find(import_module=True)(**dict(task.settings))
        rows_to_json(rows)  # rows that cannot be stored are a fault of the task
    except (Exception, SystemExit):
        seconds = time.perf_counter() - started
        return _Outcome(None, traceback.format_exc(), seconds)
    return _Outcome(rows, "", time.perf_counter() - started)


def _tell_beginning(topic: str, name: str) -> None:
    """Tell the scheduler that the task begins; return once it knows or cannot know."""
    from distributed import get_worker
    from distributed.utils import sync

    worker = get_worker()
    # Not `worker.log_event`: a task may crash its process before that sends the event.
    with contextlib.suppress(OSError):
        sync(worker.loop, worker.scheduler.log_event, topic=topic, msg=name)
