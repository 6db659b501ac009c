"""``--log`` and ``--target-transform`` of fit and compare."""

import numpy as np
import pandas as pd
import pytest

from betanll.distributions import Identity, Log, Logit
from betanll.tables import TableModel

FAST = ["--preset", "fast", "--hidden", "4", "--max-updates", "60"]


@pytest.fixture
def prices(frame, save):
    """A file of the table with a positive, skewed target beside the usual one."""
    return save(frame.assign(price=np.exp(frame["y"])))


def fit(run, prices, tmp_path, *options):
    outcome = run(*("fit", prices, "--drop", "id", "--out", tmp_path / "out"), *options)
    assert outcome.code == 0, outcome
    return outcome.out, TableModel.load(tmp_path / "out" / "model")


def test_fit_says_what_it_learnt(run, prices, tmp_path, quick):
    target = ["--target", "price", "--drop", "y"]
    printed, model = fit(run, prices, tmp_path, *target, "--log", *quick)
    assert "price: learnt as log.\n" in printed
    assert model.regressor.target_transform_ == (Log(),)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "learnt of the target" in page
    run("predict", tmp_path / "out", prices, "--out", tmp_path / "new.csv")
    assert pd.read_csv(tmp_path / "new.csv")["price_lower"].min() > 0


def test_fit_finds_the_logarithm_itself(run, prices, tmp_path):
    target = ["--target", "price", "--drop", "y"]
    printed, model = fit(run, prices, tmp_path, *target, *FAST)
    (found,) = model.regressor.target_transform_
    is_told = "price: learnt as log, as a trial found it better" in printed
    assert is_told == (found == Log())
    printed, model = fit(
        run, prices, tmp_path, *target, "--target-transform", "none", *FAST
    )
    assert model.regressor.target_transform_ == (Identity(),)
    assert "learnt as" not in printed


def test_targets_are_transformed_one_by_one(run, prices, tmp_path, quick):
    options = ["--target", "price", "--target", "y", *quick]
    printed, model = fit(
        run, prices, tmp_path, *options, "--target-transform", "logit:0:1e9,none"
    )
    assert model.regressor.target_transform_ == (Logit(0, 1e9), Identity())
    assert "price: learnt as logit:0:1000000000.\n" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--log", "--target-transform", "log1p"], "give one of them"),
        (["--target-transform", "log,none"], "names 2 transforms for 1 targets"),
        (["--target-transform", "cube"], "unknown transform 'cube'"),
        (["--target-transform", "logit:a"], "numbers after logit"),
        (["--log", "--objective", "student-t"], "has no mean"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_what_cannot_be_is_refused(run, prices, tmp_path, options, message, command):
    options = [*options, "--target", "price", "--out", tmp_path / "new.csv"]
    outcome = run(command, prices, *options)
    assert outcome.code != 0
    assert message in outcome.err
    assert not (tmp_path / "new.csv").exists()


def test_a_target_below_zero_is_refused(run, data, tmp_path, quick, frame, save):
    table = save(frame.assign(y=frame["y"] - 100))
    outcome = run(
        *("fit", table, "--target", "y", "--log", "--out", tmp_path / "out"), *quick
    )
    assert outcome.code != 0
    assert "takes values above 0 alone" in outcome.err


def test_compare_scores_in_the_unit_of_the_target(run, prices):
    outcome = run(
        *("compare", prices, "--target", "price", "--drop", "id", "--drop", "y"),
        *("--log", "--folds", 2, *FAST),
    )
    assert outcome.code == 0, outcome
    assert "Note: student-t left out: the exponential of a Student t" in outcome.out
    lines = [line.split()[0] for line in outcome.out.splitlines() if line]
    assert "beta-nll:0.5" in lines
    assert "student-t" not in lines
