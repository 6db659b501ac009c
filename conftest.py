"""Settings and fixtures of both test suites and of the doctests of the source.

The settings are environment variables, so that only the tests that use JAX or
Matplotlib import them, and processes started by a test inherit the same settings.
"""

import atexit
import contextlib
import io
import itertools
import os
import re
import shutil
import sys
import tempfile
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

# A silent broadcast or a silent change of precision is an error in tests.
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
os.environ["JAX_NUMPY_DTYPE_PROMOTION"] = "strict"
os.environ["MPLBACKEND"] = "Agg"
# The processes of a test run share compiled programs, apart from the user's own.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _programs = tempfile.mkdtemp(prefix="betanll-tests-")
    atexit.register(shutil.rmtree, _programs, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _programs
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"

# Doctests of optional parts are collected only where their dependency is installed.
OPTIONAL = {
    "torch": "src/betanll/torch",
    "transformers": "paper/src/betanll_paper/depth",
    "gymnasium": "paper/src/betanll_paper/simulators",
}
collect_ignore_glob = [
    pattern
    for module, folder in OPTIONAL.items()
    if find_spec(module) is None
    for pattern in (folder, f"{folder}/*")
]

#: Linux allows a process 65,530 mapped regions. Compiled programs have about a hundred
#: each, and XLA crashes where it gets no more.
MAX_REGIONS = 30_000


@pytest.fixture(scope="module", autouse=True)
def _few_programs():
    """Forget compiled programs after a file of tests, once they are many."""
    yield
    regions = Path("/proc/self/maps")
    if "jax" not in sys.modules or not regions.exists():
        return
    with regions.open("rb") as lines:
        are_many = sum(1 for _ in lines) > MAX_REGIONS
    if are_many:
        sys.modules["jax"].clear_caches()


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
    beside = Path(__file__).parents[1] / "shared" / "data"
    folder = Path(os.environ.get("BETANLL_DATA") or beside)
    if not (folder / "uci").is_dir():
        pytest.skip("the UCI sets are neither in $BETANLL_DATA nor beside the project")
    return folder


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def call(*arguments):
    """Run the command line in this process."""
    from betanll.cli import _exit_code

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _exit_code([str(argument) for argument in arguments])
    return Outcome(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def run():
    """A function of arguments that returns exit code, output and complaints."""
    return call


@pytest.fixture(scope="session")
def refused():
    """A function of arguments that returns the one line in which they are refused."""

    def refuse(*arguments):
        outcome = call(*arguments)
        assert outcome.code == 2, outcome
        assert outcome.err.startswith("betanll: ")
        assert outcome.err.count("\n") == 1, outcome.err
        assert len(outcome.err) < 400
        assert outcome.err.strip().isprintable()
        return outcome.err.strip()

    return refuse


def code_of(page):
    """Return the Python blocks of a Markdown page, by its path in the repository."""
    text = (Path(__file__).parent / page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def run_page(tmp_path, monkeypatch):
    """A function that runs the Python blocks of a page and returns their names.

    The blocks run one after the other in a folder of their own; `numbers` chooses some
    of them. Objectives that they register are forgotten afterwards.
    """
    from betanll.objectives import names, unregister

    known = names()
    monkeypatch.chdir(tmp_path)

    def run_blocks(page, numbers=None, **given):
        blocks = code_of(page)
        found = {"__name__": "page", **given}
        for number in range(len(blocks)) if numbers is None else numbers:
            exec(compile(blocks[number], page, "exec"), found)
        return found

    yield run_blocks
    for name in set(names()) - set(known):
        unregister(name)


@pytest.fixture
def save(tmp_path):
    """A function that writes a frame, or text, and returns the path."""

    def write(content, name="data.csv"):
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content)
        else:
            content.to_csv(path, index=False)
        return path

    return write


@pytest.fixture(scope="session")
def contents():
    """A function that returns the bytes of all files below a folder."""

    def read(folder):
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}

    return read


@pytest.fixture
def replace_sweep(monkeypatch):
    """A function that replaces the engine by made-up rows, and returns its calls."""

    from betanll.sweeps import SweepReport

    def replace(rows_of):
        calls = []

        def run_sweep(tasks, store, **options):
            calls.append(tasks)
            for task in tasks:
                store.add_result(task, rows_of(task), seconds=0.1)
            return SweepReport(len(tasks), 0, 0, 0, 1.0)

        monkeypatch.setattr("betanll.sweeps.run_sweep", run_sweep)
        return calls

    return replace


@pytest.fixture
def training_data(monkeypatch, run):
    """A function that runs ``fit`` up to the training.

    It returns what is printed till then, and inputs and targets of training and test.
    """

    def stop(arguments):
        from betanll.columns import take_rows

        seen = []

        def assess(model, X, y, splits, **options):
            parts = [(take_rows(X, rows), y[rows]) for rows in splits[0]]
            seen.extend(parts)
            raise ValueError("stopped")

        monkeypatch.setattr("betanll.evaluation.assess", assess)
        outcome = run("fit", *arguments, "--test-fraction", "0.2")
        assert outcome.err == "betanll: stopped\n"
        return outcome.out, *seen

    return stop
