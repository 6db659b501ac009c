"""The simulated robot, some rollouts of it, and processes that generate them."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

# Generates rollouts, some to a file, as a script that can be killed.
GENERATE = """
import sys
from betanll_paper.simulators import fetch_files as _fetch_files
from betanll_paper.simulators.fetch_rollouts import generate_fetch

if __name__ == "__main__":
    folder, n_rollouts, per_file = sys.argv[1:]
    _fetch_files.ROLLOUTS_PER_SHARD = int(per_file)
    generate_fetch(folder, n_rollouts=int(n_rollouts), n_jobs=2)
"""


def skip_without_fetch():
    if find_spec("gymnasium_robotics") is None:
        pytest.skip("gymnasium-robotics is not installed")


@pytest.fixture(scope="session")
def simulator():
    """The simulated Fetch robot."""
    skip_without_fetch()
    from betanll_paper.simulators.fetch_rollouts import make_fetch

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUJOCO_GL", "disable")
        return make_fetch()


@pytest.fixture(scope="session")
def fetch_folder(tmp_path_factory):
    """Twelve rollouts in three files, by two processes; not to be changed."""
    skip_without_fetch()
    from betanll_paper.simulators import fetch_files as _fetch_files
    from betanll_paper.simulators.fetch_rollouts import generate_fetch

    folder = tmp_path_factory.mktemp("fetch") / "rollouts"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fetch_files, "ROLLOUTS_PER_SHARD", 4)
        generate_fetch(folder, n_rollouts=12, n_jobs=2)
    return folder


@pytest.fixture
def generating(tmp_path):
    """A context of a process that generates rollouts in a folder.

    It is the first of a session, so that signals to the group do not reach the tests.
    """
    skip_without_fetch()
    script = tmp_path / "generate.py"
    script.write_text(GENERATE)

    @contextlib.contextmanager
    def run(folder, n_rollouts=8, per_file=1):
        with subprocess.Popen(
            [sys.executable, script, folder, str(n_rollouts), str(per_file)],
            start_new_session=True,
            text=True,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                yield process
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    return run


@pytest.fixture(scope="session")
def until():
    """A function that waits until another one returns something true."""

    def wait(condition, seconds=60.0):
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.01)
        return found

    return wait


@pytest.fixture(scope="session")
def session():
    """A function of the first process of a session that returns the live ones."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("processes are listed in /proc")

    def living(leader):
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                # After the name in brackets: state, parent, group, session.
                state, _, _, group = stat.read_text().rpartition(")")[2].split()[:4]
                if int(group) == leader and state not in "ZX":
                    found.append(int(stat.parent.name))
        return found

    return living
