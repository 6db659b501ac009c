"""A small table, and a model of it."""

import shutil

import numpy as np
import pandas as pd
import pytest

# Compiling takes far longer than training here, so nearly all tables of the tests give
# the same tiny network three inputs and 32 training rows.
TINY = ["--preset", "paper", "--hidden", "4", "--max-updates", "60"]
# One part of the rows is held out, and the model is the one that was judged.
QUICK = [*TINY, "--training-rows"]


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
def data(frame, save):
    """The frame as a file."""
    return save(frame)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory, run):
    """The folder that ``fit`` wrote for the table; do not change it."""
    folder = tmp_path_factory.mktemp("fitted")
    make_table().to_csv(folder / "data.csv", index=False)
    outcome = run(
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
    """Options of a fit that takes a moment."""
    return QUICK


@pytest.fixture(scope="session")
def tiny():
    """Options of a training that takes a moment."""
    return TINY
