"""Columns written for people, from ``fit`` to ``predict``."""

import numpy as np
import pandas as pd
import pytest


def euros(value):
    return f"{value:,.2f} €".translate(str.maketrans(".,", ",."))


@pytest.fixture
def plain(frame):
    """Three inputs and a target, as numbers."""
    rng = np.random.default_rng(1)
    numbers = {
        "a": np.append(1234.5, rng.integers(1, 9000, 39) / 4),
        "b": np.append(12, rng.integers(0, 100, 39)),
        "c": np.append(1200.5, rng.integers(1, 9000, 39) / 4),
    }
    return pd.DataFrame({**numbers, "y": 1000 * frame["y"].round(3)})


@pytest.fixture
def written(plain):
    """The same table, written for people."""
    return pd.DataFrame(
        {
            "a": [f"${value:,.2f}" for value in plain["a"]],
            "b": [f"{value:.0f}%" for value in plain["b"]],
            "c": [euros(value) for value in plain["c"]],
            "y": [f"{value:,.0f} EUR" for value in plain["y"]],
        }
    )


def test_written_numbers_give_the_predictions_of_plain_ones(
    plain, written, save, tmp_path, run, quick
):
    predictions = {}
    for name, frame in (("plain", plain), ("written", written)):
        out, path = tmp_path / name, save(frame, f"{name}.csv")
        outcome = run("fit", path, "--target", "y", *quick, "--out", out)
        assert outcome.code == 0, outcome
        if name == "written":
            for sentence in ("'a' is read as numbers: '$1,234.50' is 1234.5", "'b'"):
                assert outcome.out.count(f"Note: column {sentence}") == 1
        # In pieces of one row, some of which are plain.
        lines = frame.drop(columns="y").to_csv(index=False)
        path = save(lines + "7,0,8\n", f"later-{name}.csv")
        options = ["--out", out / "p.csv", "--chunk-rows", "1"]
        assert run("predict", out, path, *options).code == 0
        predictions[name] = (out / "p.csv").read_text()
    assert predictions["written"] == predictions["plain"]
    assert predictions["plain"].count("\n") == len(plain) + 2


def test_a_cell_of_another_notation_is_refused(
    written, save, tmp_path, run, refused, quick
):
    out = tmp_path / "out"
    assert run("fit", save(written), "--target", "y", *quick, "--out", out).code == 0
    for column, cell, wanted in (("a", "€5", "number"), ("b", "0.12", "percentage")):
        later = save(written.assign(**{column: [*written[column][:-1], cell]}), "l.csv")
        line = refused("predict", out, later, "--out", tmp_path / "p.csv")
        assert f"column '{column}', row 40: '{cell}' is not a {wanted}" in line
    assert not (tmp_path / "p.csv").exists()


def test_lists_of_codes_stay_categories(frame, save, training_data):
    frame["c"] = ["101,202", "101", "202,303", "303,404"] * 10
    path = save(frame[["a", "c", "y"]])
    out, *_ = training_data([path, "--target", "y"])
    assert "c       category           4 levels\n" in out
    assert "read as numbers" not in out


def test_levels_are_said(make_frame, save, training_data):
    frame = make_frame(100).drop(columns="id")
    frame["city"] = [f"city {i if i < 46 else i % 10}" for i in range(100)]
    frame["state"] = ["A"] * 50 + ["B"] * 48 + ["C", "D"]
    out, *_ = training_data([save(frame), "--target", "y"])
    assert "46 levels, by what they say about the target\n" in out
    assert "'A', 'B' (98% of the rows), rare ones together\n" in out
