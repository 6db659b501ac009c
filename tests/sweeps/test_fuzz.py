"""Stores and exports with changed bytes: the old values, or a sentence.

By hand with more: ``BETANLL_FUZZ=1000 pytest --timeout=0 tests/sweeps/test_fuzz.py``.
"""

import os
import random

import pytest

from betanll.sweeps import Store, StoreError, Task
from betanll.sweeps._task import echo

N_MUTATIONS = int(os.environ.get("BETANLL_FUZZ", 60))
TASKS = [Task.of(echo, number=i, name="β") for i in range(60)]


def mutated(content, rng):
    """Change a byte or a bit, or lose, repeat or overwrite a stretch."""
    content = bytearray(content)
    start = rng.randrange(len(content))
    end = min(len(content), start + rng.choice([1, 2, 16, 512, 4096]))
    match rng.randrange(7):
        case 0 | 1:
            content[start] ^= 1 << rng.randrange(8)
        case 2:
            content[start] = rng.randrange(256)
        case 3:
            del content[start:end]
        case 4:
            content[start:end] = rng.randbytes(end - start)
        case 5:
            content[start:end] = bytes(end - start)
        case _:
            content[start:start] = content[start:end]
    return bytes(content)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A folder with a store and its export."""
    folder = tmp_path_factory.mktemp("original")
    rng = random.Random(0)
    with Store(folder / "store.db") as store:
        for task in TASKS:
            curve = [rng.gauss(0, 1) for _ in range(rng.choice([1, 5, 300]))]
            row = {"number": task.settings[1][1], "rmse": rng.random(), "curve": curve}
            store.add_result(task, [row], seconds=rng.random())
        for task in TASKS[:5]:
            store.add_failure(task, "Traceback\nValueError: once")
        store.export_csv(folder / "export.csv")
    return folder


def read(path):
    with Store(path) as store:
        return (
            [store.rows([task]) for task in TASKS],
            store.done(),
            store.failures(),
            store.n_failures(),
        )


def one_sentence(error):
    text = str(error)
    assert "\n" not in text
    assert len(text) < 500


@pytest.mark.parametrize("seed", range(4))
def test_a_store_with_changed_bytes(original, tmp_path, seed):
    rng = random.Random(seed)
    expected = read(original / "store.db")
    content = (original / "store.db").read_bytes()
    path = tmp_path / "store.db"
    n_refused = 0
    for _ in range(N_MUTATIONS // 4):
        path.write_bytes(mutated(content, rng))
        try:
            assert read(path) == expected
        except StoreError as error:
            one_sentence(error)
            n_refused += 1
        for file in tmp_path.iterdir():
            file.unlink()
    assert n_refused > 0


@pytest.mark.parametrize("seed", range(4))
def test_an_export_with_changed_bytes(original, tmp_path, seed):
    rng = random.Random(seed)
    rows = read(original / "store.db")[0]
    content = (original / "export.csv").read_bytes()
    path = tmp_path / "export.csv"
    n_refused = 0
    for _ in range(N_MUTATIONS // 4):
        path.write_bytes(mutated(content, rng))
        with Store(tmp_path / "store.db") as store:
            try:
                store.import_csv(path)
            except StoreError as error:
                one_sentence(error)
                n_refused += 1
                assert store.done() == set()
            else:
                # Whole lines may be lost or come twice, but no value is another one.
                found = [store.rows([task]) for task in TASKS]
                assert all(f in ([], e) for f, e in zip(found, rows, strict=True))
                assert len(store.done()) == sum(map(bool, found))
        for file in tmp_path.iterdir():
            file.unlink()
    assert n_refused > 0
