"""Fixtures and settings of the test suite; the settings of JAX are one folder up."""

import itertools
import os
import shutil
import zlib
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("betanll", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("betanll")


def pytest_runtest_setup(item):
    if item.get_closest_marker("torch") and find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")


@pytest.fixture
def getkey(request):
    """A function that returns a fresh JAX key at each call.

    The keys depend on the name of the test alone, so a test sees the same ones in any
    order of execution, and two tests never share them.
    """
    import jax

    # 31 bits, so that the seed fits a signed 32-bit integer.
    root = jax.random.key(zlib.crc32(request.node.nodeid.encode()) >> 1)
    counter = itertools.count()
    return lambda: jax.random.fold_in(root, next(counter))


@pytest.fixture(scope="session")
def compiled():
    """``jax.jit`` for formulas, which need no fast code: it compiles in half the time.

    Without it, a formula is compiled operation by operation, which takes longest.
    """
    import jax

    def jit(function, **options):
        quickly = {"xla_backend_optimization_level": 0}
        return jax.jit(function, compiler_options=quickly, **options)

    return jit


@pytest.fixture(scope="session")
def data_dir():
    """The folder of the real data."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("BETANLL_DATA") or beside)
    if not (folder / "uci").is_dir():
        pytest.skip("the UCI sets are neither in $BETANLL_DATA nor beside the project")
    return folder


@pytest.fixture
def nyu_dir(data_dir, tmp_path):
    """The real pairs as a folder of NYU Depth V2, three scenes to train on."""
    source = data_dir / "nyuv2"
    folder = tmp_path / "nyu"
    lines = {"sync": [], "official_splits/test": []}
    for line in (source / "filelist.txt").read_text().splitlines():
        scene = line.split("/")[0]
        if scene in ("basement", "labelled"):
            lines["sync"].append(line)
        elif scene == "living_room":
            lines["official_splits/test"].append(line)
        part = "sync" if scene in ("basement", "labelled") else "official_splits/test"
        shutil.copytree(source / scene, folder / part / scene, dirs_exist_ok=True)
    for part, name in (("sync", "train"), ("official_splits/test", "test")):
        text = "\n".join([*lines[part], ""])
        (folder / f"nyudepthv2_{name}_files_with_gt.txt").write_text(text)
    return folder
