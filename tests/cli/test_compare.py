import os

import numpy as np
import pandas as pd
import pytest

from betanll.evaluation import Comparison

OPTIONS = ["--folds", "3", "--target", "y", "--drop", "id"]


@pytest.fixture(scope="module")
def compared(tmp_path_factory, make_frame, run, tiny):
    folder = tmp_path_factory.mktemp("compared")
    make_frame(48).to_csv(folder / "data.csv", index=False)
    outcome = run(
        *("compare", folder / "data.csv", *OPTIONS, *tiny),
        *("--objective", "mse", "--objective", "nll", "--objective", "beta-nll"),
        *("--objective", "beta-nll:0.5", "--out", folder / "table.csv"),
    )
    return outcome, pd.read_csv(folder / "table.csv", index_col="model")


def test_ranks_and_ties(compared):
    outcome, table = compared
    assert outcome.code == 0
    assert "48 rows, 4 objectives, 3 folds." in outcome.out
    assert "Equal ranks: no significant difference" in outcome.out
    assert set(table.index) == {"mse", "nll", "beta-nll", "beta-nll:0.5"}
    assert list(table["rank"]) == sorted(table["rank"])
    assert table["rank"].iloc[0] == 1
    for name in ("rank", "crps_rank", "rmse_rank"):
        assert min(table[name]) == 1
    # one objective under two names is the same in every number
    assert list(table.loc["beta-nll"]) == list(table.loc["beta-nll:0.5"])


def made_up(n_targets, crps):
    """A function that stands for the training, with the CRPS of each objective."""

    def compare(models, X, y, **options):
        rows = np.random.default_rng(0).exponential(size=(len(y), n_targets))
        losses = {name: crps[name] * rows for name in models}
        coverage = {name: np.full(n_targets, 0.9) for name in models}
        return Comparison(losses, losses, losses, coverage, rows)

    return compare


def test_each_target_has_a_table(make_frame, save, run, tmp_path, monkeypatch):
    compare = made_up(2, {"mse": 0.5, "nll": 0.25})
    monkeypatch.setattr("betanll.evaluation.compare", compare)
    frame = make_frame(48).assign(z=lambda frame: 1000 * frame["y"])
    out = tmp_path / "out.csv"
    options = [*OPTIONS, "--target", "z", "--objective", "mse", "--objective", "nll"]
    outcome = run("compare", save(frame), *options, "--out", out)
    assert outcome.code == 0
    assert "\nTarget y\nobjective " in outcome.out
    assert "\nTarget z\nobjective " in outcome.out
    assert "WARNING" not in outcome.out
    table = pd.read_csv(out)
    assert list(table["target"]) == ["y", "y", "z", "z"]
    assert list(table["model"]) == ["nll", "mse", "nll", "mse"]


@pytest.mark.parametrize(
    ("crps", "words"),
    [
        (2.0, "WARNING: no objective predicts 'y' clearly better (CRPS) than always"),
        (0.5, "always guessing the average of 'y': nll. Choose another objective."),
    ],
)
def test_objectives_worse_than_the_average_are_told(
    data, run, monkeypatch, crps, words
):
    monkeypatch.setattr(
        "betanll.evaluation.compare", made_up(1, {"mse": crps, "nll": 2.0})
    )
    options = [*OPTIONS, "--objective", "mse", "--objective", "nll"]
    outcome = run("compare", data, *options)
    assert outcome.code == 0
    assert words in outcome.out


def test_printed_and_written_tables_agree(compared):
    outcome, table = compared
    lines = {line.split()[0]: line.split() for line in outcome.out.splitlines() if line}
    for name, row in table.iterrows():
        cells = lines[name]
        assert float(cells[1]) == pytest.approx(row["log_likelihood"], rel=1e-3)
        assert int(cells[2]) == row["rank"]
        assert float(cells[5]) == pytest.approx(row["rmse"], rel=1e-3)
        assert cells[7] == f"{row['coverage_90']:.1%}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--objective", "nope"], "'nope' is not one of mse, fixed-variance, "),
        (["--objective", "nll:1"], "nll has no number to set"),
        (["--objective", "beta-nll:-1"], "-1 is not a finite number of at least 0"),
        (["--objective", "beta-nll:x"], """'x' is neither a number nor "auto"."""),
        (["--folds", "21"], "--folds 21 is too many for 40 rows: take at most 20"),
        (["--folds", "1"], "'--folds': 1 is not in the range"),
        (["--out", "table.xlsx"], "--out must end in .csv, got table.xlsx"),
    ],
)
def test_nonsense_is_refused(data, refused, options, message):
    # The later of two --folds counts.
    assert message in refused("compare", data, *OPTIONS, *options)


def test_input_is_never_replaced(data, refused):
    before = data.read_bytes()
    assert "replace the input" in refused("compare", data, *OPTIONS, "--out", data)
    assert data.read_bytes() == before


def test_unwritable_table_is_refused_before_training(data, refused, tmp_path):
    out = data / "table.csv"
    options = [*OPTIONS, "--max-updates", 10**9, "--out", out]
    assert refused("compare", data, *options) == f"betanll: {data} is not a folder"
    assert os.listdir(tmp_path) == ["data.csv"]


def test_exponents_above_one_bring_a_note(data, run, monkeypatch):
    def compare(*_, **__):
        raise ValueError("stopped")

    monkeypatch.setattr("betanll.evaluation.compare", compare)
    objectives = ["--objective", "beta-nll:2", "--objective", "beta-nll:1"]
    outcome = run("compare", data, "--target", "y", "--drop", "id", *objectives)
    assert outcome.err == "betanll: stopped\n"
    assert outcome.out.count("is unusual") == 1
    assert "Note: beta = 2 is unusual" in outcome.out
