"""``betanll explain`` with a small model and small tables."""

import json

import numpy as np
import pandas as pd
import pytest

from betanll.tables import TableModel


def test_importances_and_rows(fitted, data, run):
    outcome = run("explain", fitted, data)
    assert outcome.code == 0, outcome
    assert outcome.err == ""
    lines = [line for line in outcome.out.splitlines() if line]
    assert lines[0].split()[:3] == ["columns", "for", "y"]
    assert {line.split()[0] for line in lines[1:4]} == {"a", "b", "c"}
    assert "Most wrong for y:" in lines
    worst = lines[lines.index("Most wrong for y:") + 2]
    assert "Least certain for y:" in lines
    # Row numbers count from one, and the id column follows in brackets.
    number, name = worst.split()[:2]
    assert name == f"({int(number) - 1:03d})"


def test_numbers_are_those_of_the_library(fitted, data, frame, run):
    found = json.loads(run("explain", fitted, data, "--json", "--seed", "3").out)
    explanation = TableModel.load(fitted).explain(frame, random_state=3)
    assert found.pop("rows") == []
    expected = json.loads(json.dumps(explanation.to_dict()))
    for one, other in zip(found["targets"], expected["targets"], strict=True):
        for part in ("mean", "spread"):
            np.testing.assert_allclose(
                [column[part] for column in one["importances"]],
                [column[part] for column in other["importances"]],
                atol=1e-5,
            )
    assert found["n_importance_rows"] == 40
    assert found["n_repeats"] == 5


def test_rows_are_explained(fitted, data, frame, save, run):
    frame.loc[6, "a"] = 99.0
    frame.loc[6, "b"] = np.nan
    path = save(frame, "odd.csv")
    outcome = run("explain", fitted, path, "--row", "7", "--row", "1", "--row", "7")
    assert outcome.code == 0, outcome
    assert outcome.out.count("\nRow 7 (006): y ") == 1
    assert outcome.out.count("\nRow 1 (000): y ") == 1
    text = outcome.out[outcome.out.index("\nRow 7") : outcome.out.index("\nRow 1 ")]
    assert "Outside the training data: a is 99 (seen: " in text
    assert "Outside the training data: b is missing (never missing in" in text
    rows = json.loads(run("explain", fitted, path, "--row", "7", "--json").out)["rows"]
    assert [row["cause"] for row in rows] == ["outside the training data"]


def test_without_targets_rows_are_explained(fitted, frame, save, run):
    path = save(frame.drop(columns=["y", "id"]), "new.csv")
    outcome = run("explain", fitted, path, "--row", "2")
    assert outcome.code == 0, outcome
    assert "Note: no importances for 'y': they need at least 10 rows" in outcome.out
    assert "Most wrong" not in outcome.out
    assert "Least certain for y:" in outcome.out
    assert "\nRow 2: y " in outcome.out
    # Notes must not get between the numbers for machines.
    outcome = run("explain", fitted, path, "--json")
    assert json.loads(outcome.out)["targets"][0]["importances"] == []
    assert "no importances" in outcome.err


def test_report_needs_nothing_else(fitted, data, run, tmp_path):
    out = tmp_path / "new" / "report.html"
    outcome = run("explain", fitted, data, "--row", "3", "--out", out)
    assert outcome.code == 0, outcome
    assert f"Report: {out}" in outcome.out
    html = out.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert "://" not in html.replace("http://www.w3.org/", "")
    for text in ("Row 3 (002)", "Which columns matter", "betanll explain"):
        assert text in html


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", "41"], "--row 41 is too large: "),
        (["--row", "0"], "'--row': 0 is not in the range"),
        (["--row", "x"], "'--row': 'x' is not a valid integer"),
        (["--out", "report.pdf"], "--out must end in .html, got report.pdf"),
    ],
)
def test_nonsense_is_refused(fitted, data, refused, options, message):
    assert message in refused("explain", fitted, data, *options)


def test_tables_that_do_not_fit_are_refused(fitted, frame, save, refused, tmp_path):
    path = save(frame.drop(columns="b"), "less.csv")
    assert "the table lacks the column 'b'" in refused("explain", fitted, path)
    path = save(frame.assign(b="red"), "text.csv")
    assert "column 'b', row 1: 'red' is not a number" in refused(
        "explain", fitted, path
    )
    path = save(frame.assign(y="high"), "target.csv")
    assert "column 'y', row 1: 'high' is not a number" in refused(
        "explain", fitted, path
    )
    path = save("id,a,b,c,y\n", "empty.csv")
    assert "no rows" in refused("explain", fitted, path)
    assert "there is no such file" in refused("explain", fitted, tmp_path / "no.csv")
    assert "no model" in refused("explain", tmp_path, save(frame)).replace(
        "not a model", "no model"
    )


def test_a_single_row(fitted, frame, save, run):
    outcome = run("explain", fitted, save(frame[:1], "one.csv"), "--row", "1")
    assert outcome.code == 0, outcome
    assert "\nRow 1 (000): y " in outcome.out


def test_the_fit_explains_its_held_out_rows(fitted):
    html = (fitted / "report.html").read_text(encoding="utf-8")
    assert "Which columns matter" in html or "Rows to look at" in html


def test_several_targets(frame, save, run, tmp_path, quick):
    frame["z"] = 1000 * frame["b"]
    path, out = save(frame), tmp_path / "out"
    options = ["--target", "y", "--target", "z", "--id", "id", *quick, "--out", out]
    assert run("fit", path, *options).code == 0
    # One target column is enough for its importances.
    half = save(frame.drop(columns="y"), "half.csv")
    outcome = run("explain", out, half, "--row", "4")
    assert outcome.code == 0, outcome
    assert "no importances for 'y'" in outcome.out
    assert "columns for z" in outcome.out
    assert outcome.out.count("\nRow 4 (003): ") == 2
    table = pd.read_csv(half)
    assert len(table) == 40
