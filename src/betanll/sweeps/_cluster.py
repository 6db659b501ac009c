"""Workers of a sweep: processes on this machine, or workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import signal
import threading
from collections.abc import Iterator
from typing import Any

from betanll._cache import compilation_cache
from betanll.processes import check_guard, environment

#: Attempts to start the worker processes.
MAX_STARTS = 3

_WORKER_ENVIRONMENT = {
    # Each process has one core: XLA must not start a thread for every core, and the
    # bits of a result must not depend on the number of cores.
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "OMP_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
}

#: The memory allocator of a worker reads these variables only when the worker starts.
#: With Dask's defaults the allocator returns every large array to the system and then
#: requests the pages again, which takes a third of the time of a PyTorch run.
_MEMORY_SETTINGS = {
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
}


@contextlib.contextmanager
def connected(n_workers: int, scheduler: str | None) -> Iterator[Any]:
    """Yield a client of the cluster at `scheduler`, or of new processes."""
    try:
        import dask
        from distributed import Client
    except ModuleNotFoundError as error:
        if error.name not in ("dask", "distributed"):
            raise
        raise ImportError('sweeps need Dask: pip install "betanll[sweeps]"') from None

    settings = {
        # Dask must not retry a task whose worker died: we count attempts.
        "distributed.scheduler.allowed-failures": 0,
        # Replace dead workers without limit.
        "distributed.deploy.lost-worker-timeout": "1000 days",
        # A task may start processes, which daemons may not. Workers end with us anyway.
        "distributed.worker.daemon": False,
        # Dask's dashboard would be open to everybody on this machine.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
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
        # Dask changes our own environment when it starts workers.
        with environment(), contextlib.ExitStack() as stack:
            with _ctrl_c_delayed():
                cluster = stack.enter_context(_started(n_workers))
            yield stack.enter_context(Client(cluster))


def _started(n_workers: int) -> Any:
    """Return a cluster of processes; if one dies at its start, start all again."""
    from distributed import LocalCluster
    from distributed.security import Security

    try:
        # A client of the scheduler can run any code, so only we and our workers know
        # the key.
        security = Security.temporary()
    except ImportError:
        raise ImportError(
            'sweeps need cryptography: pip install "betanll[sweeps]"'
        ) from None
    for _ in range(MAX_STARTS):
        try:
            with _silent():
                return LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    security=security,
                    # No dashboard; any free port.
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    env={**_WORKER_ENVIRONMENT, **compilation_cache()},
                )
        except RuntimeError as error:
            if "failed to start" not in str(error):
                raise
            reason = str(error.__cause__ or error)
        check_guard("run_sweep")
    raise ChildProcessError(
        f"the worker processes of the sweep did not start, {MAX_STARTS} times in a row "
        f"({reason}); if memory is short, use fewer workers"
    )


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Suppress Dask's log of processes that do not start."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def _ctrl_c_delayed() -> Iterator[None]:
    """Delay Ctrl-C; processes started meanwhile ignore it for good.

    Dask leaves processes behind if it is interrupted while it starts them, and each
    worker would print a traceback. Workers end with the process that runs the sweep.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    pressed: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    # Creating its first lock, Python starts a process and unblocks Ctrl-C.
    multiprocessing.get_context("spawn").Lock()
    # The thread that starts the workers inherits this, and so do the workers.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    if pressed:
        signal.raise_signal(signal.SIGINT)
