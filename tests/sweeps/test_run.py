"""Sweeps that go well, and sweeps in which tasks, workers, drivers and disks do not."""

import contextlib
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import sweep_probes

from betanll.sweeps import Store, Task, run_sweep
from betanll.sweeps._run import _LOOKS_WITHOUT_WORKER, MAX_ATTEMPTS
from betanll_paper.published import Method
from betanll_paper.uci.protocol import uci_tasks

pytest.importorskip("distributed")


def visits(probe, n, seconds=0.0):
    return [probe("visit", i, seconds=seconds) for i in range(n)]


def expected(tasks):
    """Return the rows of an undisturbed run, computed here."""
    return [row for task in tasks for row in task.run()]


def test_results_are_stored_and_not_computed_again(store, probe, counted):
    tasks = visits(probe, 6)
    report = run_sweep([*tasks[:4], tasks[0]], store, n_workers=1)
    assert report[:4] == (4, 0, 0, 0)
    assert run_sweep(tasks[:4], store, n_workers=1)[:4] == (0, 4, 0, 0)
    assert counted() == dict.fromkeys(range(4), 1)
    report = run_sweep(tasks, store, n_workers=1)
    assert report[:4] == (2, 4, 0, 0)
    assert counted() == dict.fromkeys(range(6), 1)
    assert store.rows(tasks) == expected(tasks)


def test_nothing_to_do_starts_nothing(store, probe, monkeypatch):
    monkeypatch.setattr("betanll.sweeps._run.connected", None)
    assert run_sweep([], store)[:4] == (0, 0, 0, 0)


def test_failures_do_not_stop_the_rest(store, probe, counted):
    bad = [probe("fail", 10), probe("leave", 11), probe("garble", 0)]
    bad += [probe("garble", 12)]
    good = [probe("visit", i) for i in range(1, 4)]
    report = run_sweep([*bad, *good], store, n_workers=1)
    assert report[:4] == (3, 0, MAX_ATTEMPTS * len(bad), len(bad))
    assert store.rows([*bad, *good]) == expected(good)
    assert store.n_failures() == {task.key: MAX_ATTEMPTS for task in bad}
    texts = {task.key: text for task, text in store.failures()}
    faults = ["ZeroDivisionError: probe 10 fails", "SystemExit: 11"]
    faults += ["not a list of rows: None", "complex is not JSON"]
    for task, fault in zip(bad, faults, strict=True):
        assert fault in texts[task.key]
        assert texts[task.key].startswith("Traceback")
    # Given up: not tried again, unless it is asked for.
    started = counted()
    assert run_sweep([*bad, *good], store, n_workers=1)[:4] == (0, 3, 0, len(bad))
    assert counted() == started


def test_attempts_are_counted_over_several_runs(store, probe, counted):
    task = probe("fail", 1)
    store.add_failure(task, "in an earlier run")
    store.add_failure(task, "in another")
    assert run_sweep([task], store, n_workers=1)[:4] == (0, 0, 1, 1)
    assert counted() == {1: 1}
    store.forget_failures()
    assert run_sweep([task], store, n_workers=1)[:4] == (0, 0, 3, 1)
    assert counted() == {1: 4}


def test_settings_of_xla_are_the_workers_alone(store, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    before = dict(os.environ)
    names = "NPROC XLA_FLAGS OMP_NUM_THREADS JAX_PLATFORMS JAX_COMPILATION_CACHE_DIR"
    task = Task.of(sweep_probes.environment, names=names)
    run_sweep([task], store, n_workers=1)
    assert dict(os.environ) == before
    (row,) = store.rows([task])
    assert row == {
        "NPROC": "1",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
        "OMP_NUM_THREADS": "1",
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": before["JAX_COMPILATION_CACHE_DIR"],
    }


def test_workers_keep_the_memory_of_arrays_that_come_and_go(store):
    resource = pytest.importorskip("resource")
    n_blocks, n_bytes = 100, 4 * 2**20
    task = Task.of(sweep_probes.page_faults, n_blocks=n_blocks, n_bytes=n_bytes)
    run_sweep([task], store, n_workers=1)
    (row,) = store.rows([task])
    # Taken from the system, each block would have as many pages as it has.
    assert row["n"] < 0.1 * n_blocks * n_bytes / resource.getpagesize()


def test_a_task_may_start_a_process(store):
    task = Task.of(sweep_probes.delegate, number=9.0)
    assert run_sweep([task], store, n_workers=1).n_done == 1
    assert store.rows([task]) == [{"root": 3.0}]


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A function of a name and a text that writes a module and returns its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        return name

    yield write
    for name in [name for name in sys.modules if name.startswith("plugin_")]:
        del sys.modules[name]


def test_plugins_are_imported_before_tasks_run(store, plugin):
    name = plugin("plugin_good", 'import os\nos.environ["PLUGGED"] = "in"\n')
    before = os.environ.pop("PLUGGED", None)
    task = Task.of(sweep_probes.environment, names="PLUGGED")
    try:
        run_sweep([task], store, n_workers=1, plugins=[name])
        assert os.environ.pop("PLUGGED") == "in"
    finally:
        assert before is None
    assert store.rows([task]) == [{"PLUGGED": "in"}]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("plugin_missing", None, "No module named 'plugin_missing'"),
        ("plugin_broken", "1 / 0", "ZeroDivisionError: division by zero"),
        ("plugin_wrong", "if", "SyntaxError: invalid syntax"),
    ],
)
def test_plugins_that_cannot_be_imported_stop_the_sweep(
    store, probe, plugin, name, text, reason
):
    if text is not None:
        plugin(name, text)
    pattern = f"the plug-in '{re.escape(name)}' cannot be imported: {reason}"
    with pytest.raises(ImportError, match=pattern) as caught:
        run_sweep(visits(probe, 1), store, plugins=[name])
    assert "\n" not in str(caught.value)
    assert store.n_failures() == {}


def test_a_poison_task_that_kills_its_worker(store, probe, counted):
    """It is given up after three tries; tasks that wait behind it are not blamed."""
    poison = probe("die", 100, n_deaths=99)
    tasks = [poison, *visits(probe, 8, seconds=0.05)]
    report = run_sweep(tasks, store, n_workers=1)
    assert report[:4] == (8, 0, 3, 1)
    assert counted() == {100: 3, **dict.fromkeys(range(8), 1)}
    assert set(store.n_failures()) == {poison.key}
    assert "worker" in store.failures()[0][1]


@pytest.mark.cluster
def test_many_poison_tasks_among_good_ones(store, probe, counted):
    tasks = []
    for i in range(4):
        tasks.append(probe("die", 100 + i, n_deaths=99, seconds=0.1))
        tasks += [probe("visit", 10 * i + k, seconds=0.2) for k in range(3)]
    report = run_sweep(tasks, store, n_workers=2)
    # Tasks that were behind a poison on its worker are not charged for it.
    assert report[:4] == (12, 0, 12, 4)
    poison = [task for task in tasks if task.function == "sweep_probes:die"]
    assert store.n_failures() == {task.key: 3 for task in poison}
    assert all(n == 3 for number, n in counted().items() if number >= 100)


@pytest.mark.cluster
def test_a_worker_that_dies_is_replaced_and_its_task_done(store, probe, counted):
    tasks = [probe("die", 50, n_deaths=1), *visits(probe, 10, seconds=0.1)]
    report = run_sweep(tasks, store, n_workers=2)
    assert report[:4] == (11, 0, 1, 0)
    assert counted()[50] == 2
    assert store.rows(tasks) == expected(tasks)


@pytest.mark.cluster
def test_a_worker_that_is_killed_from_outside(store, probe, counted, log, until):
    tasks = [*visits(probe, 4), probe("hold", 50), *visits(probe, 8)[4:]]
    held = Path(f"{log}.held")

    def kill():
        pid = int(until(lambda: held.exists() and held.read_text()))
        with Store(store.path) as mine:  # by then the other worker has done the rest
            until(lambda: len(mine.done()) == 8)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    report = run_sweep(tasks, store, n_workers=2)
    killer.join()
    # Only the task that the worker had begun is charged, and done again.
    assert report[:4] == (9, 0, 1, 0)
    assert counted() == {50: 2, **dict.fromkeys(range(8), 1)}
    assert store.n_failures() == {tasks[4].key: 1}
    assert store.rows(tasks) == expected(tasks)


@pytest.mark.cluster
def test_a_task_that_was_not_begun_is_not_charged(store, probe, counted, session):
    """Dask blames it all the same."""
    tasks = visits(probe, 2)
    real, killers = store.add_result, []

    def add_result(*arguments, **options):
        # The worker is idle and gets its next task when we return: it cannot begin it.
        real(*arguments, **options)
        if not killers:
            (worker,) = workers()
            os.kill(worker, signal.SIGSTOP)
            killers.append(threading.Timer(2, os.kill, (worker, signal.SIGKILL)))
            killers[0].start()

    store.add_result = add_result
    assert run_sweep(tasks, store, n_workers=1)[:4] == (2, 0, 0, 0)
    killers[0].join()
    assert counted() == {0: 1, 1: 1}
    assert store.n_failures() == {}


@pytest.mark.cluster
def test_a_worker_may_take_long_to_start_again(store, probe, counted, until):
    """No warning: the scheduler, and its workers, are our own."""
    poison = probe("die", 100, n_deaths=1)
    stopped = []

    def stop():
        (first,) = until(workers)
        (second,) = until(lambda: {*workers()} - {first})
        os.kill(second, signal.SIGSTOP)
        stopped.append(second)
        time.sleep(_LOOKS_WITHOUT_WORKER + 5)
        os.kill(second, signal.SIGCONT)

    stopper = threading.Thread(target=stop)
    stopper.start()
    report = run_sweep([poison, *visits(probe, 2)], store, n_workers=1)
    stopper.join()
    assert stopped
    assert report[:4] == (3, 0, 1, 0)
    assert counted() == {100: 2, 0: 1, 1: 1}


def workers():
    """Return the worker processes of this one."""
    return [
        int(pid)
        for pid in children(os.getpid())
        if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def children(pid):
    with contextlib.suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            yield from path.read_text().split()


@pytest.mark.cluster
def test_a_driver_that_is_killed(
    store, probe, counted, drive, until, session, tmp_path
):
    n, n_workers = 16, 2
    tasks = visits(probe, n, seconds=0.25)
    stored = set()
    for n_wanted in (4, 9):
        with drive(n, seconds=0.25, n_workers=n_workers) as process:
            until(lambda: len(store.done()) >= n_wanted)  # noqa: B023
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            # Nobody is left: workers notice that their driver has gone.
            until(lambda: not session(process.pid), 30)
        assert stored <= store.done()
        stored = store.done()
    with drive(n, seconds=0.25, n_workers=n_workers) as process:
        out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert f"n_before={len(stored)}" in out
    assert store.rows(tasks) == expected(tasks)
    # `expected` visits each once more.
    extra = Counter(counted()) - Counter(dict.fromkeys(range(n), 2))
    assert extra.total() <= 2 * n_workers


@pytest.mark.cluster
def test_interruption_leaves_results_and_no_processes(
    store, probe, drive, until, session
):
    with drive(100, seconds=0.5) as process:
        until(lambda: len(store.done()) >= 3)
        assert len(session(process.pid)) >= 3
        # As from the keyboard: to all processes of the group.
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode != 0
        assert "KeyboardInterrupt" in err
        until(lambda: not session(process.pid), 10)
    assert len(store.done()) >= 3
    assert store.n_failures() == {}


@pytest.mark.cluster
def test_a_full_disk_stops_the_sweep_with_one_error(store, probe, counted):
    tasks = visits(probe, 40)
    real, n_allowed = store.add_result, 5

    def add_result(*arguments, **options):
        if len(store.done()) == n_allowed:
            n_pages = store._connection.execute("pragma page_count").fetchone()[0]
            store._connection.execute(f"pragma max_page_count = {n_pages}")
        real(*arguments, **options)

    store.add_result = add_result
    with pytest.raises(OSError, match=r"cannot be written: database or disk is full"):
        run_sweep(tasks, store, n_workers=2)
    kept = store.done()
    assert n_allowed <= len(kept) < 40
    del store.add_result
    store._connection.execute("pragma max_page_count = 1000000")
    report = run_sweep(tasks, store, n_workers=2)
    assert report[:4] == (40 - len(kept), len(kept), 0, 0)
    assert kept <= store.done()
    assert store.rows(tasks) == expected(tasks)


def without_time(rows):
    return [{name: v for name, v in row.items() if name != "seconds"} for row in rows]


@pytest.mark.cluster
def test_bits_do_not_depend_on_the_workers(store, data_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("BETANLL_DATA", str(data_dir))
    methods = [Method("beta-nll:0.5"), Method("mse")]
    tasks = uci_tasks("smoke", methods=methods, datasets=["yacht"])
    assert run_sweep(tasks, store, n_workers=1)[:4] == (4, 0, 0, 0)
    with Store(tmp_path / "two.db") as other:
        run_sweep(tasks[::-1], other, n_workers=2)
        assert without_time(other.rows(tasks)) == without_time(store.rows(tasks))


@pytest.mark.cluster
def test_a_killed_worker_does_not_change_bits(
    store, data_dir, tmp_path, monkeypatch, until, session
):
    monkeypatch.setenv("BETANLL_DATA", str(data_dir))
    methods = [Method("nll"), Method("beta-nll:1")]
    tasks = uci_tasks("smoke", methods=methods, datasets=["yacht", "housing"])
    run_sweep(tasks, store, n_workers=2)
    with Store(tmp_path / "disturbed.db") as other:

        def kill():
            with Store(other.path) as mine:
                until(lambda: len(mine.done()) >= 2)
            os.kill(workers()[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        report = run_sweep(tasks, other, n_workers=2)
        killer.join()
        assert (report.n_done, report.n_given_up) == (8, 0)
        assert without_time(other.rows(tasks)) == without_time(store.rows(tasks))
