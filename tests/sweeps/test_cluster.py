"""Local workers: who may use them, and what happens when they do not start."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from betanll.sweeps import run_sweep
from betanll.sweeps._cluster import MAX_STARTS, _started

distributed = pytest.importorskip("distributed")

# Tries to have code run, without credentials and with ones of its own.
STRANGER = """
import asyncio, json, sys
from distributed import Client
from distributed.core import rpc
from distributed.security import Security

scheduler, *servers = sys.argv[1:]
plain = scheduler.replace("tls://", "tcp://")
outcomes = []

async def ask(address, security):
    async with rpc(address, connection_args=security.get_connection_args("client"),
                   timeout=3) as server:
        return await server.identity()

def refused(action):
    try:
        outcomes.append(f"let in: {action()}")
    except Exception as error:
        outcomes.append(None)

for address, security in [(scheduler, Security()), (plain, Security()),
                          (scheduler, Security.temporary())]:
    refused(lambda: Client(address, security=security, timeout=3).run(print))
for address in servers:
    plain = address.replace("tls://", "tcp://")
    refused(lambda: asyncio.run(ask(plain, Security())))
    refused(lambda: asyncio.run(ask(address, Security.temporary())))
print(json.dumps(outcomes))
"""


def children():
    with contextlib.suppress(OSError):
        for path in Path("/proc/self/task").glob("*/children"):
            yield from path.read_text().split()


def listening(pids):
    """Return the addresses at which processes listen, as the system writes them."""
    sockets = set()
    for pid in pids:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(os.readlink(handle))
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                yield fields[1]


@pytest.mark.cluster
def test_nobody_else_may_use_the_workers(store, probe, session):
    tasks = [probe("visit", i) for i in range(3)]
    real, seen = store.add_result, {}

    def add_result(*arguments, **options):
        real(*arguments, **options)
        if seen:
            return
        info = distributed.default_client().scheduler_info()
        (worker,) = info["workers"].values()
        addresses = [info["address"], worker["nanny"]]
        addresses.append(next(iter(info["workers"])))
        seen["outcomes"] = subprocess.run(
            [sys.executable, "-c", STRANGER, *addresses],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        pids = [os.getpid(), *children()]
        seen["listening"] = list(listening(pids))
        seen["public"] = b"".join(
            Path(f"/proc/{pid}/{file}").read_bytes()
            for pid in pids
            for file in ("cmdline", "environ")
        )
        ports = [info["services"]["dashboard"], worker["services"]["dashboard"]]
        seen["pages"] = {
            status(f"http://127.0.0.1:{port}{page}")
            for port in ports
            for page in ("/", "/info/main/workers.html", "/json/counts.json", "/health")
        }

    store.add_result = add_result
    assert run_sweep(tasks, store, n_workers=1)[:4] == (3, 0, 0, 0)
    assert json.loads(seen["outcomes"]) == [None] * 7
    assert len(seen["listening"]) >= 4
    # 127.0.0.1, byte by byte from the last.
    assert all(address.startswith("0100007F:") for address in seen["listening"])
    assert b"PRIVATE KEY" not in seen["public"]
    assert seen["pages"] == {404}


def status(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture
def failing(monkeypatch):
    """A function that lets the next `n` clusters not start; counts all of them."""
    started = []

    def fail(n):
        class Cluster:
            def __init__(self, **options):
                started.append(options)
                if len(started) <= n:
                    cause = RuntimeError("Nanny failed to start worker process")
                    raise RuntimeError("Nanny failed to start.") from cause

        monkeypatch.setattr("distributed.LocalCluster", Cluster)
        return started

    monkeypatch.setattr("betanll.sweeps._cluster.check_guard", lambda _: None)
    return fail


def test_processes_that_do_not_start_are_started_again(failing):
    started = failing(MAX_STARTS - 1)
    _started(2)
    assert len(started) == MAX_STARTS
    assert all(options["n_workers"] == 2 for options in started)


def test_starts_come_to_an_end(failing):
    started = failing(99)
    with pytest.raises(ChildProcessError, match="fewer workers") as caught:
        _started(2)
    assert len(started) == MAX_STARTS
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_other_faults_are_not_hidden(monkeypatch):
    def fail(**options):
        raise RuntimeError("something else")

    monkeypatch.setattr("distributed.LocalCluster", fail)
    with pytest.raises(RuntimeError, match="something else"):
        _started(1)


def test_credentials_need_their_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ImportError, match=r"betanll\[sweeps\]"):
        _started(1)


@pytest.mark.cluster
def test_a_worker_that_is_killed_while_it_starts(store, probe, counted, until):
    def first():
        for pid in children():
            with contextlib.suppress(OSError):
                if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return int(pid)

    def kill():
        pid = until(first)
        time.sleep(0.2)  # it imports Python and Dask for longer
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    tasks = [probe("visit", i) for i in range(3)]
    report = run_sweep(tasks, store, n_workers=1)
    killer.join()
    assert report[:4] == (3, 0, 0, 0)
    assert counted() == dict.fromkeys(range(3), 1)


SCRIPT = """
import sys
from pathlib import Path
from betanll.sweeps import Store, Task, run_sweep
from betanll.sweeps._task import echo

tasks = [Task.of(echo, number=i) for i in range(2)]
with Store(Path(sys.argv[1])) as store:
    run_sweep(tasks, store, n_workers=2)
"""


@pytest.mark.cluster
def test_a_script_without_a_guard_is_told_what_to_do(tmp_path, session):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.run(
        [sys.executable, script, tmp_path / "store.db"], capture_output=True, text=True
    )
    assert process.returncode == 1
    assert process.stderr.count("Traceback") == 1
    last = process.stderr.splitlines()[-1]
    assert 'put the call below `if __name__ == "__main__":`' in last
