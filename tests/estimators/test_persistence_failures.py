"""What a failure or a kill while writing a model folder leaves behind."""

import errno
import os
import stat

import numpy as np
import pytest

from betanll.estimators._model_folder import read_model, write_model

CONFIGURATION = {"beta": 0.5, "hidden": [50, 50], "name": "é", "nested": {"none": None}}
ARRAYS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "mean": np.array([1e6 + 1e-9]),
}


class Faulty:
    """A function that fails at its n-th call."""

    def __init__(self, function, n, fault):
        self.function, self.n, self.fault = function, n, fault
        self.n_calls = 0

    def __call__(self, *args, **kwargs):
        self.n_calls += 1
        if self.n_calls == self.n:
            raise self.fault
        return self.function(*args, **kwargs)


FAULTS = [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
STEPS = ["fsync", "replace", "open"]


@pytest.mark.parametrize("fault", FAULTS, ids=["full", "interrupt"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("previous", ["none", "empty", "model"])
def test_failure_at_any_step_leaves_old_or_new(
    names, assert_holds, previous, step, fault, tmp_path, monkeypatch
):
    for n in range(1, 20):
        path = tmp_path / str(n) / "model"
        path.parent.mkdir()
        if previous == "empty":
            path.mkdir()
        if previous == "model":
            write_model(path, CONFIGURATION, ARRAYS)
        faulty = Faulty(getattr(os, step), n, fault)
        with monkeypatch.context() as patch:
            patch.setattr(os, step, faulty)
            try:
                write_model(path, {"new": True}, {"a": np.ones(3)})
                has_failed = False
            except type(fault):
                has_failed = True
        if not has_failed:
            break
        # No temporary folder beside, no temporary file inside.
        assert names(path.parent) in ([], ["model"])
        if path.exists() and names(path):
            configuration, _ = read_model(path)
            assert configuration in (CONFIGURATION, {"new": True})
            leftovers = {name for name in names(path) if name.startswith(".")}
            assert leftovers <= {".weights.new", ".model.json.new"}
        else:
            assert previous != "model"
        # And it works when the disk has room again.
        write_model(path, {"again": True}, {})
        assert_holds(path, {"again": True}, {})
    assert n > 1 or previous == "none"
    assert n < 19


def test_full_disk_keeps_the_previous_model(
    names, assert_holds, model, tmp_path, monkeypatch
):
    def full(handle):
        raise FAULTS[0]

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_model(model, {"new": True}, {})
    assert_holds(model, CONFIGURATION, ARRAYS)
    with pytest.raises(OSError, match="No space left"):
        write_model(tmp_path / "new" / "model", {"new": True}, {})
    assert names(tmp_path) == ["model"]


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="needs a folder nobody may write to"
)
def test_unwritable_parent(names, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            write_model(tmp_path / "model", CONFIGURATION, ARRAYS)
        assert names(tmp_path) == []
    finally:
        tmp_path.chmod(0o700)


class Death(BaseException):
    """The end of a process: from the n-th call on, no function does anything."""

    NAMES = ("fsync", "replace", "unlink", "rename", "rmdir", "mkdir")

    def __init__(self, patch, n):
        self.n, self.n_calls = n, 0
        for name in self.NAMES:
            patch.setattr(os, name, self.mortal(getattr(os, name)))

    def mortal(self, function):
        def call(*args, **kwargs):
            self.n_calls += 1
            if self.n_calls < self.n:
                return function(*args, **kwargs)
            # Of a file that was being written, only the beginning is there.
            is_file = function.__name__ == "fsync" and stat.S_ISREG(
                os.fstat(args[0]).st_mode
            )
            if is_file and self.n_calls == self.n:
                os.truncate(args[0], 20)
            raise self

        return call


def dies(path, configuration, arrays, n, monkeypatch):
    """Write a model and die at the n-th step; return whether there was one."""
    with monkeypatch.context() as patch:
        death = Death(patch, n)
        try:
            write_model(path, configuration, arrays)
        except Death:
            return True
    return death.n_calls >= n


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be cut there")
def test_killed_at_any_moment_the_old_or_the_new_model_is_complete(
    assert_same, assert_holds, model, monkeypatch
):
    new = {"new": True}, {"a": np.ones(3)}
    found = []
    for n in range(1, 20):
        write_model(model, CONFIGURATION, ARRAYS)
        has_died = dies(model, *new, n, monkeypatch)
        configuration, arrays = read_model(model)
        found.append(configuration == new[0])
        assert configuration in (CONFIGURATION, new[0])
        assert_same(arrays, new[1] if found[-1] else ARRAYS)
        if not has_died:
            break
        # Nor does dying again on the way to the next model lose it.
        left = {path.name: path.read_bytes() for path in model.iterdir()}
        for again in range(1, 20):
            for path in model.iterdir():
                path.unlink()
            for name, content in left.items():
                (model / name).write_bytes(content)
            has_died_again = dies(model, {"newer": True}, {}, again, monkeypatch)
            assert read_model(model)[0] in (configuration, {"newer": True})
            if not has_died_again:
                break
        assert_holds(model, {"newer": True}, {})
    # Old, then new, and never the other way.
    assert not has_died
    assert found == sorted(found)
    assert not found[0]
    assert found[-1]


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be cut there")
def test_killed_while_writing_the_same_model_again_it_stays(
    assert_holds, model, monkeypatch
):
    n = 1
    while dies(model, CONFIGURATION, ARRAYS, n, monkeypatch):
        assert read_model(model)[0] == CONFIGURATION
        n += 1
    assert n > 5
    assert_holds(model, CONFIGURATION, ARRAYS)


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be cut there")
def test_killed_while_writing_the_first_model_nothing_is_there(
    assert_holds, refused, tmp_path, monkeypatch
):
    (tmp_path / "empty").mkdir()
    for n in (1, 2, 3):
        for name in ("model", "empty"):
            assert dies(tmp_path / name, CONFIGURATION, ARRAYS, n, monkeypatch)
        assert not (tmp_path / "model").exists()
        refused(tmp_path / "empty", "lacks model.json")
    write_model(tmp_path / "empty", CONFIGURATION, ARRAYS)
    assert_holds(tmp_path / "empty", CONFIGURATION, ARRAYS)
