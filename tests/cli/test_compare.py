import os

import pandas as pd
import pytest

OPTIONS = ["--folds", "3", "--target", "y", "--drop", "id"]


@pytest.fixture(scope="module")
def compared(tmp_path_factory, make_frame, run, quick):
    folder = tmp_path_factory.mktemp("compared")
    make_frame(48).to_csv(folder / "data.csv", index=False)
    outcome = run(
        *("compare", folder / "data.csv", *OPTIONS, *quick),
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
        (["--objective", "nope"], "'nope' is not one of mse, nll, "),
        (["--objective", "nll:1"], "nll has no beta"),
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
