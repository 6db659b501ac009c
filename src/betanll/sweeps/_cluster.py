"""Workers of a sweep: processes on this machine, or those of a Dask cluster."""

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

#: How often processes that die while they start are started again.
MAX_STARTS = 3

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
        # A task whose worker dies is not handed on silently: we count attempts.
        "distributed.scheduler.allowed-failures": 0,
        # A worker is replaced however often it dies and however long that takes.
        "distributed.deploy.lost-worker-timeout": "1000 days",
        # A task may start processes of its own. Workers end with us all the same.
        "distributed.worker.daemon": False,
        # Dask serves pages to anybody on this machine: without any, to nobody.
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
    """Return a cluster of processes; if one dies on the way, start them all again."""
    from distributed import LocalCluster
    from distributed.security import Security

    try:
        # Whoever may connect to the scheduler may run anything: only we and our
        # workers, who alone know the key.
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
                    # A server without pages, on any free port.
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
    """Hold back what Dask logs of processes that do not start."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def _ctrl_c_delayed() -> Iterator[None]:
    """Hold back Ctrl-C; processes that start meanwhile never hear it.

    Dask leaves processes behind if it is interrupted while it starts them, and each
    worker would print a traceback. Workers end with the process that runs the sweep.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    pressed: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    # With its first lock Python starts a process and lets Ctrl-C through again.
    multiprocessing.get_context("spawn").Lock()
    # Inherited by the thread that starts the workers, and by the workers.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    if pressed:
        signal.raise_signal(signal.SIGINT)
