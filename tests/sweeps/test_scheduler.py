"""Sweeps on the workers of a scheduler that runs elsewhere."""

import contextlib
import os
import signal
import socket
import threading
import time

import pytest

from betanll.sweeps import Store, run_sweep

pytest.importorskip("distributed")


def visits(probe, n, seconds=0.0):
    return [probe("visit", i, seconds=seconds) for i in range(n)]


def expected(tasks):
    """Return the rows of an undisturbed run, computed here."""
    return [row for task in tasks for row in task.run()]


@pytest.fixture
def cluster(start, until):
    """A context of a scheduler and two workers in processes of their own."""

    @contextlib.contextmanager
    def run():
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        address = f"tcp://127.0.0.1:{port}"
        common = ("--no-dashboard",)
        with contextlib.ExitStack() as stack:
            scheduler = stack.enter_context(
                start(
                    *("-m", "distributed.cli.dask_scheduler", "--port", port),
                    *("--host", "127.0.0.1", *common),
                )
            )
            for _ in range(2):
                stack.enter_context(
                    start(
                        *("-m", "distributed.cli.dask_worker", address),
                        *("--nthreads", "1", *common),
                    )
                )

            def answers():
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    return True

            until(answers)
            yield address, scheduler

    return run


@pytest.mark.cluster
def test_a_scheduler_elsewhere(store, probe, cluster, counted):
    tasks = [probe("fail", 99), *visits(probe, 10)]
    with cluster() as (address, _):
        report = run_sweep(tasks, store, scheduler=address)
        assert report[:4] == (10, 0, 3, 1)
        # It tries a task on four workers before it tells us: that is enough.
        poison = probe("die", 100, n_deaths=99)
        report = run_sweep([poison, probe("visit", 20)], store, scheduler=address)
        assert (report.n_done, report.n_given_up) == (1, 1)
        assert counted()[100] == 4
    assert store.rows(tasks) == expected(tasks[1:])


@pytest.mark.cluster
def test_a_scheduler_that_goes_away(store, probe, cluster, counted, until):
    tasks = visits(probe, 12, seconds=0.3)
    with cluster() as (address, scheduler):

        def kill():
            with Store(store.path) as other:  # SQLite wants one for each thread
                until(lambda: len(other.done()) >= 3)
            os.kill(scheduler.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        started = time.monotonic()
        with pytest.raises(ConnectionError, match=f"lost the scheduler at {address}"):
            run_sweep(tasks, store, scheduler=address)
        killer.join()
        assert time.monotonic() - started < 60
    kept = store.done()
    assert 3 <= len(kept) < 12
    assert store.n_failures() == {}
    with cluster() as (address, _):
        report = run_sweep(tasks, store, scheduler=address)
    assert report[:4] == (12 - len(kept), len(kept), 0, 0)
    assert store.rows(tasks) == expected(tasks)


@pytest.mark.cluster
def test_a_scheduler_that_is_not_there(store, probe):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(OSError, match=f"127.0.0.1:{port}"):
        run_sweep(visits(probe, 1), store, scheduler=f"tcp://127.0.0.1:{port}")


@pytest.mark.cluster
def test_a_scheduler_without_workers_is_waited_for_with_a_word(
    store, probe, until, monkeypatch
):
    from distributed import LocalCluster

    monkeypatch.setattr("betanll.sweeps._run._LOOKS_WITHOUT_WORKER", 2)
    with LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None) as new:
        address = new.scheduler_address
        starter = threading.Timer(4, new.scale, (1,))
        starter.start()
        with pytest.warns(UserWarning, match=f"{address} has no workers; waiting"):
            report = run_sweep(visits(probe, 2), store, scheduler=address)
        starter.join()
    assert report[:4] == (2, 0, 0, 0)
