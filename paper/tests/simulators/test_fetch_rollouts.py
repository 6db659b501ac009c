"""Generation of Fetch rollouts: undisturbed, interrupted, killed and refused."""

import hashlib
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from betanll.sweeps import SweepReport
from betanll_paper.datasets import DataError
from betanll_paper.simulators import fetch_files as _fetch_files
from betanll_paper.simulators.fetch_files import (
    all_shards,
    complete_shards,
    read_shard,
)
from betanll_paper.simulators.fetch_rollouts import generate_fetch, play


@pytest.fixture
def one_to_a_file(monkeypatch):
    """Each rollout gets a file of its own."""
    monkeypatch.setattr(_fetch_files, "ROLLOUTS_PER_SHARD", 1)


def joined(folder, n):
    """Return the arrays of the first `n` rollouts."""
    shards = [read_shard(shard) for shard in complete_shards(folder)]
    return [np.concatenate(arrays)[:n] for arrays in zip(*shards, strict=True)]


def check_same_bits(folder, other, n):
    for a, b in zip(joined(folder, n), joined(other, n), strict=True):
        assert a.dtype.kind == b.dtype.kind
        np.testing.assert_array_equal(a, b)


def finished(folder):
    return sorted(folder.glob("rollouts-*.npz"))


def identity(path):
    """Return what changes when a file is written again."""
    status = path.stat()
    return path.name, status.st_ino, status.st_mtime_ns


def test_bits_depend_neither_on_processes_nor_on_files(fetch_folder, tmp_path):
    generate_fetch(tmp_path, n_rollouts=8, n_jobs=1)
    assert len(finished(tmp_path)) == 1
    check_same_bits(tmp_path, fetch_folder, 8)


def test_a_complete_folder_is_left_alone(fetch_folder, monkeypatch):
    before = [identity(path) for path in finished(fetch_folder)]
    monkeypatch.setattr("betanll_paper.simulators.fetch_rollouts.run_sweep", None)
    # Not even the simulator is needed.
    monkeypatch.setattr("betanll_paper.simulators.fetch_files.versions", dict)
    generate_fetch(fetch_folder, n_rollouts=12)
    assert [identity(path) for path in finished(fetch_folder)] == before


def test_it_goes_on_after_being_killed(
    fetch_folder, generating, until, session, tmp_path
):
    folder = tmp_path / "rollouts"
    with generating(folder) as process:
        until(lambda: len(finished(folder)) >= 2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        # Nobody is left: workers notice that their parent has gone.
        until(lambda: not session(process.pid), 30)
    kept = [identity(path) for path in finished(folder)]
    assert 2 <= len(kept) < 8
    with pytest.raises(DataError, match=f"lacks {8 - len(kept)} of 8 files"):
        complete_shards(folder)
    leftover = folder / ".rollouts-000007-0123.npz"
    leftover.touch()
    generate_fetch(folder, n_rollouts=8, n_jobs=2)
    assert not leftover.exists()
    assert set(kept) <= {identity(path) for path in finished(folder)}
    check_same_bits(folder, fetch_folder, 8)


@pytest.mark.cluster
@pytest.mark.parametrize("when", ["at the start", "within a file", "between files"])
def test_interruption_leaves_whole_files_and_no_processes(
    generating, until, session, tmp_path, when
):
    folder = tmp_path / "rollouts"
    # Far more than any machine simulates until the interruption.
    per_file = 1 if when == "between files" else 10_000
    with generating(folder, 20_000, per_file) as process:
        until(lambda: len(workers(session(process.pid))) == 2)
        if when == "between files":
            until(lambda: finished(folder))
        elif when == "within a file":
            until(lambda: all(map(simulates, workers(session(process.pid)))))
            time.sleep(1)
        else:
            time.sleep(0.3)  # they are importing
        # As from the keyboard: to all processes of the group.
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        until(lambda: not session(process.pid), 10)
    assert process.returncode != 0
    assert err.endswith("KeyboardInterrupt\n")
    assert err.count("Traceback") == 1
    assert not list(folder.glob(".*"))
    assert (when == "between files") == bool(finished(folder))
    for shard in all_shards(folder):
        if shard.path.exists():
            read_shard(shard)


def workers(processes):
    """Return those of the processes that simulate."""
    lines = {pid: Path(f"/proc/{pid}/cmdline") for pid in processes}
    return [pid for pid, line in lines.items() if b"spawn_main" in line.read_bytes()]


def simulates(pid):
    """Return whether a process has loaded the simulator."""
    return "libmujoco" in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.cluster
def test_a_worker_that_dies_is_replaced(
    fetch_folder, generating, until, session, tmp_path
):
    folder = tmp_path / "rollouts"
    with generating(folder) as process:
        until(lambda: finished(folder))
        os.kill(workers(session(process.pid))[0], signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        until(lambda: not session(process.pid), 10)
    assert process.returncode == 0, err
    check_same_bits(folder, fetch_folder, 8)


def test_a_shard_has_the_bytes_of_its_rollouts(fetch_folder, simulator):
    path = fetch_folder / "rollouts-000004.npz"
    rollouts = [play(simulator, seed=0, index=index) for index in range(4, 8)]
    names = ("observations", "actions", "goals", "skills")
    columns = map(np.array, zip(*rollouts, strict=True))
    file = io.BytesIO()
    np.savez(file, **dict(zip(names, columns, strict=True)))
    assert path.read_bytes() == file.getvalue()
    # which are those that its task reported
    with closing(sqlite3.connect(fetch_folder / "sweep.db")) as store:
        results = store.execute("select rows from results").fetchall()
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    expected = [{"file": path.name, "sha256": checksum}]
    assert expected in [json.loads(rows) for (rows,) in results]


@pytest.fixture
def in_this_process(simulator, monkeypatch):
    """Tasks run in the process of the tests, which is faster than to start others."""

    def run_sweep(tasks, store, **_):
        waiting = [task for task in tasks if not store.is_done(task)]
        for task in waiting:
            store.add_result(task, task.run(), seconds=0.0)
        return SweepReport(len(waiting), len(tasks) - len(waiting), 0, 0, 0.0)

    module = "betanll_paper.simulators.fetch_rollouts"
    monkeypatch.setattr(f"{module}.run_sweep", run_sweep)
    monkeypatch.setattr(f"{module}._simulator", lambda: simulator)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("has_store", [True, False])
def test_only_files_that_are_gone_are_generated(fetch_folder, tmp_path, has_store):
    """Without a store: the folder is of a former version, or was moved."""
    folder = tmp_path / "rollouts"
    shutil.copytree(fetch_folder, folder)
    if not has_store:
        (folder / "sweep.db").unlink()
    gone = folder / "rollouts-000004.npz"
    content = gone.read_bytes()
    gone.unlink()
    kept = [identity(path) for path in finished(folder)]
    generate_fetch(folder, n_rollouts=12, n_jobs=1)
    assert gone.read_bytes() == content
    assert set(kept) < {identity(path) for path in finished(folder)}
    # once more, now that the store has its result
    gone.unlink()
    generate_fetch(folder, n_rollouts=12, n_jobs=1)
    assert gone.read_bytes() == content


@pytest.mark.cluster
def test_shards_that_cannot_be_generated(fetch_folder, tmp_path):
    folder = tmp_path / "rollouts"
    shutil.copytree(fetch_folder, folder)
    for name in ("rollouts-000000.npz", "rollouts-000004.npz", "sweep.db"):
        (folder / name).unlink()
    (folder / "rollouts-000004.npz").mkdir()
    for _ in range(2):  # the second call tries again
        with pytest.raises(
            ChildProcessError,
            match=r"^1 of 3 files .* \(IsADirectoryError: .*; gen.*resume$",
        ):
            generate_fetch(folder, n_rollouts=12, n_jobs=1)
        assert (folder / "rollouts-000000.npz").is_file()
        (folder / "rollouts-000000.npz").unlink()


@pytest.mark.parametrize(
    ("options", "setting"),
    [({"seed": 1}, "seed 0, not 1"), ({"n_rollouts": 9}, "n_rollouts 12, not 9")],
)
def test_other_settings_are_refused(fetch_folder, options, setting):
    with pytest.raises(DataError, match=rf"made with {setting}; choose another"):
        generate_fetch(fetch_folder, **{"n_rollouts": 12, **options})


def test_other_versions_are_refused(tmp_path, one_to_a_file, monkeypatch):
    monkeypatch.setattr(_fetch_files, "versions", lambda: {"mujoco": "3.1"})
    assert len(_fetch_files.missing_shards(tmp_path, 8, 0)) == 8
    monkeypatch.setattr(_fetch_files, "versions", lambda: {"mujoco": "3.2"})
    with pytest.raises(DataError, match=r"made with mujoco 3\.1, not 3\.2"):
        generate_fetch(tmp_path, n_rollouts=8)
    monkeypatch.setattr(_fetch_files, "CONTROLLER_VERSION", 0)
    with pytest.raises(DataError, match="made with controller_version 1, not 0"):
        generate_fetch(tmp_path, n_rollouts=8)


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(DataError, match="holds other files"):
        generate_fetch(tmp_path, n_rollouts=8)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(NotADirectoryError):
        generate_fetch(tmp_path / "thesis.tex", n_rollouts=8)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1]", b'{"format": "betanll-fetch-1"}', b"\xff"],
)
def test_a_damaged_header_is_refused(tmp_path, content):
    (tmp_path / "fetch.json").write_bytes(content)
    with pytest.raises(DataError, match=r"fetch\.json is damaged"):
        generate_fetch(tmp_path, n_rollouts=8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_rollouts": 6}, "n_rollouts must be at least 7"),
        ({"seed": -1}, "seed must not be negative"),
        ({"n_jobs": 0}, "n_jobs must be at least 1"),
    ],
)
def test_bad_arguments(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        generate_fetch(tmp_path / "rollouts", **options)
    assert not (tmp_path / "rollouts").exists()


def test_the_header_says_what_the_data_is(fetch_folder):
    header = json.loads((fetch_folder / "fetch.json").read_text())
    assert "substitute" in header["about"]
    assert header["settings"]["seed"] == 0
    assert header["settings"]["skill_expert"]["share"] == 0.25
    assert set(header["versions"]) == {"gymnasium-robotics", "mujoco"}


def test_a_missing_simulator_is_named(tmp_path, monkeypatch):
    def version(name):
        raise _fetch_files.PackageNotFoundError(name)

    monkeypatch.setattr(_fetch_files, "version", version)
    with pytest.raises(ImportError, match=r'pip install "betanll-paper\[dynamics\]"'):
        generate_fetch(tmp_path / "rollouts", n_rollouts=8)
    assert not (tmp_path / "rollouts").exists()


def test_importing_neither_loads_the_simulator_nor_changes_the_environment():
    code = """if True:
        import os, sys
        before = dict(os.environ)
        import betanll_paper.simulators.fetch_rollouts
        assert dict(os.environ) == before
        assert not {"mujoco", "gymnasium_robotics", "jax"} & set(sys.modules)
        """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
