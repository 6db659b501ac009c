"""A training whose process is killed, and started again."""

import csv
import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("transformers")

pytestmark = pytest.mark.cluster

#: 120 updates, with a checkpoint after 100 of them.
COMMAND = (
    *(sys.executable, "-m", "betanll", "depth", "train"),
    *("--rooms", "8", "--epochs", "30", "--batch-size", "8", "--out"),
)
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def train(folder):
    subprocess.run(
        [*COMMAND, str(folder)], env=ENVIRONMENT, check=True, capture_output=True
    )


def log_of(folder):
    with (folder / "log.csv").open(newline="") as file:
        return [
            {name: text for name, text in line.items() if name != "seconds"}
            for line in csv.DictReader(file)
        ]


def test_a_killed_process_loses_nothing_but_time(tmp_path):
    train(tmp_path / "undisturbed")
    folder = tmp_path / "killed"
    process = subprocess.Popen([*COMMAND, str(folder)], env=ENVIRONMENT)
    deadline = time.monotonic() + 250
    while not (folder / "checkpoint.pt").exists():
        assert process.poll() is None, "ended before its first checkpoint"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    n_logged = len(log_of(folder))
    assert 100 <= n_logged < 120
    train(folder)
    assert log_of(folder) == log_of(tmp_path / "undisturbed")
    for name in ("best.safetensors", "scores.csv"):
        expected = (tmp_path / "undisturbed" / name).read_bytes()
        assert (folder / name).read_bytes() == expected
