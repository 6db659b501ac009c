"""Tasks that leave traces, drivers in processes of their own, and their offspring."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from betanll.sweeps import Store, Task

# Workers find probes as they find tasks of any package.
sys.path.append(str(Path(__file__).parent))
import sweep_probes

# Runs visits in a store, as a script that can be killed.
DRIVER = """
import sys
from pathlib import Path
from betanll.sweeps import Store, Task, run_sweep
from sweep_probes import visit

if __name__ == "__main__":
    path, log, n, seconds, n_workers = sys.argv[1:]
    tasks = [
        Task.of(visit, log=log, number=i, seconds=float(seconds))
        for i in range(int(n))
    ]
    with Store(Path(path)) as store:
        print(run_sweep(tasks, store, n_workers=int(n_workers)), flush=True)
"""


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def log(tmp_path):
    """The file in which probes note that they were started."""
    return tmp_path / "log.txt"


@pytest.fixture
def probe(log):
    """A function of the name and the settings of a probe that describes it."""

    def describe(name, number=0, **settings):
        function = getattr(sweep_probes, name)
        return Task.of(function, log=str(log), number=number, **settings)

    return describe


@pytest.fixture
def counted(log):
    """A function that returns how often each probe was started."""
    return lambda: sweep_probes.count(log)


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return found


@pytest.fixture(scope="session")
def until():
    """A function that waits until another one returns something true."""
    return wait_for


@contextlib.contextmanager
def running(*arguments, **options):
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    # A session of its own: signals to the group do not reach the tests, and whoever
    # is left over can be found.
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        start_new_session=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
        **options,
    )
    try:
        with process:
            try:
                yield process
            finally:
                # The group, so that pipes held by workers are closed as well.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    finally:
        process.wait()


@pytest.fixture
def start(tmp_path):
    """A context of a Python process in a session of its own; it is killed at the end.

    Takes the arguments of Python, and options of ``Popen``.
    """
    return running


@pytest.fixture
def drive(tmp_path, log):
    """A context of a process that runs visits in the store of the folder."""
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)

    def run(n, *, seconds, n_workers=2):
        return running(script, tmp_path / "store.db", log, n, seconds, n_workers)

    return run


def group(leader):
    """Return the live processes of a session; those of Dask stay in it."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name in brackets: state, parent, group, session.
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state not in "ZX":
                found.append(int(stat.parent.name))
    return found


@pytest.fixture(scope="session")
def session():
    """A function of the first process of a session that returns the live ones."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("processes are listed in /proc")
    return group
