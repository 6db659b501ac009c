"""How much memory is free, read from files below a fake root."""

import os

import pytest

from betanll._machine import available_memory

KIB = 1024
MEMINFO = """MemTotal:       16000 kB
MemFree:         1000 kB
MemAvailable:    8000 kB
SwapFree:         500 kB
HugePages_Total:    0
"""


@pytest.fixture
def write(tmp_path):
    """A function that writes a file below the root."""

    def write(path, content):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(content))

    return write


def test_system_counts_swap(write, tmp_path):
    write("proc/meminfo", MEMINFO)
    assert available_memory(tmp_path) == 8500 * KIB


def test_control_group_and_its_parents_limit(write, tmp_path):
    write("proc/meminfo", MEMINFO)
    write("proc/self/cgroup", "0::/batch/job\n")
    write("sys/fs/cgroup/batch/job/memory.max", "max\n")
    write("sys/fs/cgroup/batch/job/memory.current", 10 * KIB)
    assert available_memory(tmp_path) == 8500 * KIB
    write("sys/fs/cgroup/batch/memory.max", 3000 * KIB)
    write("sys/fs/cgroup/batch/memory.current", 1000 * KIB)
    assert available_memory(tmp_path) == 2000 * KIB
    # files that were read can be dropped
    write("sys/fs/cgroup/batch/memory.stat", f"anon 5\ninactive_file {400 * KIB}\n")
    assert available_memory(tmp_path) == 2400 * KIB
    write("sys/fs/cgroup/batch/memory.current", 4000 * KIB)
    assert available_memory(tmp_path) == 0


def test_control_group_of_version_1(write, tmp_path):
    write("proc/meminfo", MEMINFO)
    # a container sees its own group at the top, and the path of the host
    write("proc/self/cgroup", "3:cpu,cpuacct:/docker/a\n2:memory:/docker/a\n")
    top = "sys/fs/cgroup/memory"
    write(f"{top}/memory.limit_in_bytes", 900 * KIB)
    write(f"{top}/memory.usage_in_bytes", 300 * KIB)
    assert available_memory(tmp_path) == 600 * KIB
    write(f"{top}/memory.stat", f"total_inactive_file {100 * KIB}\n")
    assert available_memory(tmp_path) == 700 * KIB


def test_a_limit_of_the_address_space(write, tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    write("proc/meminfo", MEMINFO)
    write("proc/self/status", "Name:\tpython\nVmSize:\t    1000 kB\n")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (5000 * KIB, -1))
    assert available_memory(tmp_path) == 4000 * KIB
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda which: unlimited)
    assert available_memory(tmp_path) == 8500 * KIB


def test_machine_without_such_files(tmp_path, monkeypatch):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__, raising=False)
    assert available_memory(tmp_path) == 4_096_000
    monkeypatch.delattr(os, "sysconf")
    assert available_memory(tmp_path) is None


def test_files_that_cannot_be_understood(write, tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sysconf", raising=False)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_bytes(b"MemAvailable: \xff\xfe kB\n")
    write("proc/self/cgroup", "nonsense\n0::\n:\n")
    assert available_memory(tmp_path) is None


def test_this_machine_has_memory():
    available = available_memory()
    assert available is None or available > 2**20
