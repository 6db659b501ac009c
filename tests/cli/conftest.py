"""A small table, a model of it, and the command line as a function."""

import contextlib
import io
import shutil
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from betanll.cli import _exit_code
from betanll.sweeps import SweepReport

# Compiling takes far longer than training here, so nearly all tables of the tests give
# the same tiny network three inputs and 32 training rows.
QUICK = ["--preset", "paper", "--hidden", "4", "--max-updates", "60"]


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def call(*arguments):
    """Run the command line in this process."""
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
        return outcome.err.strip()

    return refuse


def make_table(n=40):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=n), rng.uniform(size=n)
    return pd.DataFrame(
        {
            "id": [f"{i:03d}" for i in range(n)],
            "a": a,
            "b": b,
            "c": rng.normal(size=n),
            "y": 5 + 2 * a + (0.1 + b) * rng.normal(size=n),
        }
    )


@pytest.fixture(scope="session")
def make_frame():
    """A function of the number of rows with an id, three inputs and a target."""
    return make_table


@pytest.fixture
def frame():
    """Forty such rows; change them at will."""
    return make_table()


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


@pytest.fixture
def data(frame, save):
    """The frame as a file."""
    return save(frame)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """The folder that ``fit`` wrote for the table; do not change it."""
    folder = tmp_path_factory.mktemp("fitted")
    make_table().to_csv(folder / "data.csv", index=False)
    outcome = call(
        *("fit", folder / "data.csv", "--target", "y", "--id", "id", *QUICK),
        *("--out", folder / "out"),
    )
    assert outcome.code == 0, outcome
    (folder / "out" / "printed.txt").write_text(outcome.out)
    return folder / "out"


@pytest.fixture
def model(fitted, tmp_path):
    """A copy of the model folder, to be damaged."""
    return shutil.copytree(fitted / "model", tmp_path / "model")


@pytest.fixture(scope="session")
def quick():
    """Options of a training that takes a moment."""
    return QUICK


@pytest.fixture
def training_data(monkeypatch):
    """A function that runs ``fit`` up to the training.

    It returns what is printed till then, and inputs and targets of training and test.
    """

    def stop(arguments):
        seen = []

        def assess(model, train, test, **options):
            seen.extend([train, test])
            raise ValueError("stopped")

        monkeypatch.setattr("betanll.assessment.assess", assess)
        outcome = call("fit", *arguments)
        assert outcome.err == "betanll: stopped\n"
        return outcome.out, *seen

    return stop


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
