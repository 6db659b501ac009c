"""The driver: hands tasks to workers and stores what comes back."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import time
import traceback
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tqdm import tqdm

from betanll._cache import compilation_cache
from betanll.sweeps._store import Store
from betanll.sweeps._task import Task
from betanll.training import available_cores

#: Attempts after which a task is given up.
MAX_ATTEMPTS = 3

#: How often we look whether workers have come or gone, in seconds.
_LOOK_EVERY = 1.0

#: After so many looks in a row without a worker we say so.
_LOOKS_WITHOUT_WORKER = 10

_WORKER_ENVIRONMENT = {
    # One process has one core: XLA must not start threads for all of them, and the
    # bits of a result must not depend on the number of cores that it sees.
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "OMP_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
}


#: Known to the worker before it starts, as its memory allocator reads them only then.
#: Dask would have it give every large array back to the system at once, and take it
#: anew, page by page, for the next one: a third of the time of a PyTorch training.
_MEMORY_SETTINGS = {
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
}


class SweepReport(NamedTuple):
    """What a sweep did."""

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
    progress: bool = False,
) -> SweepReport:
    """Run all tasks that have no result yet.

    A task that raises is recorded with its traceback and does not stop the others. It
    is tried again, in this run or a later one, until it has failed three times; a task
    that takes its worker down counts the same.

    Parameters
    ----------
    tasks : sequence of Task
    store : Store
        Gets each result the moment it arrives.
    n_workers : int, optional
        Processes on this machine, by default one for each core.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers need the library and the data. They
        should have one thread each: a worker that dies counts for all of its tasks.
    progress : bool, default=False
        Show a bar with rate and time left.

    Raises
    ------
    OSError
        If a result cannot be stored, or the scheduler cannot be reached or goes away.
        What is stored stays, and the same call goes on from there.
    """
    started = time.perf_counter()
    done, n_failures = store.done(), store.n_failures()
    unique = {task.key: task for task in tasks}
    waiting = [
        task
        for key, task in unique.items()
        if key not in done and n_failures.get(key, 0) < MAX_ATTEMPTS
    ]
    n_before = sum(key in done for key in unique)
    n_done = n_failed = 0
    if waiting:
        with (
            _client(
                min(n_workers or available_cores(), len(waiting)), scheduler
            ) as client,
            tqdm(
                total=len(unique),
                initial=n_before,
                unit="task",
                smoothing=0,
                disable=None if progress else True,
            ) as bar,
        ):
            for task, outcome in _outcomes(client, waiting, n_failures):
                if outcome.rows is not None:
                    store.add_result(task, outcome.rows, seconds=outcome.seconds)
                    n_done += 1
                    bar.update()
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
    client: Any, tasks: Sequence[Task], n_failures: dict[str, int]
) -> Iterator[tuple[Task, _Outcome]]:
    """Yield outcomes as they arrive; a failed task is tried again at the end."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError as CancelledError

    waiting = deque(tasks)
    attempts = dict(n_failures)
    running: dict[str, tuple[Task, Any]] = {}
    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def submit() -> int:
        # No more than there are threads: Dask blames all tasks that a worker was given
        # when it dies, not only those it had begun. One without any, for a cluster
        # that starts workers when there is work.
        n_threads = sum(client.nthreads().values())
        while waiting and len(running) < max(1, n_threads):
            task = waiting.popleft()
            # A fresh name for each attempt: Dask remembers results by name.
            name = f"{task.key}-{attempts.get(task.key, 0)}"
            future = client.submit(_attempt, task.to_json(), key=name, pure=False)
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
            if n_looks == _LOOKS_WITHOUT_WORKER:
                warnings.warn(
                    f"the scheduler at {client.scheduler.address} has no workers; "
                    "waiting for them",
                    stacklevel=3,
                )
            continue
        task, _ = running.pop(future.key)
        n_tries = 1
        try:
            outcome = future.result()
        except CancelledError:
            raise _lost(client, "it dropped our tasks") from None
        except Exception as fault:
            outcome = _Outcome(None, f"the worker failed: {fault}", 0.0)
            if isinstance(fault, KilledWorker):
                # Schedulers other than ours may have tried again by themselves.
                n_tries = fault.allowed_failures + 1
        if outcome.rows is not None:
            yield task, outcome
            continue
        for _ in range(n_tries):
            yield task, outcome
        attempts[task.key] = attempts.get(task.key, 0) + n_tries
        if attempts[task.key] < MAX_ATTEMPTS:
            waiting.append(task)


def _lost(client: Any, reason: object) -> ConnectionError:
    address = client.scheduler.address if client.scheduler else "?"
    return ConnectionError(f"lost the scheduler at {address}: {reason}")


def _attempt(description: str) -> _Outcome:
    """Run a task in a worker; faults come back as text."""
    started = time.perf_counter()
    try:
        rows = Task.from_json(description).run()
        if not isinstance(rows, list):
            raise TypeError(f"the result is not a list of rows: {rows!r}")
        json.dumps(rows)  # what cannot be stored is the task's fault
    except (Exception, SystemExit):
        seconds = time.perf_counter() - started
        return _Outcome(None, traceback.format_exc(), seconds)
    return _Outcome(rows, "", time.perf_counter() - started)


@contextlib.contextmanager
def _client(n_workers: int, scheduler: str | None) -> Iterator[Any]:
    """Connect to a cluster, or start one of processes on this machine."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ModuleNotFoundError as error:
        if error.name not in ("dask", "distributed"):
            raise
        raise ImportError('sweeps need Dask: pip install "betanll[sweeps]"') from None

    settings = {
        # A task whose worker dies is not handed on silently: we count attempts.
        "distributed.scheduler.allowed-failures": 0,
        # A worker is replaced however often it dies and however long that takes.
        "distributed.deploy.lost-worker-timeout": "1000 days",
        # A task may start processes of its own. Workers end with us all the same.
        "distributed.worker.daemon": False,
        **{
            f"distributed.nanny.pre-spawn-environ.{name}": value
            for name, value in _MEMORY_SETTINGS.items()
        },
    }
    with dask.config.set(settings):
        if scheduler is not None:
            with Client(scheduler, timeout=20) as client:
                yield client
            return
        with (
            _environment_kept(),
            LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                # Any free port: None would mean the usual one, with a warning if taken.
                dashboard_address="127.0.0.1:0",
                env={**_WORKER_ENVIRONMENT, **compilation_cache()},
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client


@contextlib.contextmanager
def _environment_kept() -> Iterator[None]:
    """Undo what Dask does to our own environment when it starts workers."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)
