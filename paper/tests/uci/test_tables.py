"""UCI tables: the runs that are read and the files that are written."""

import csv
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from betanll_paper.comparison import compare_with_paper, count_agreement, summarise
from betanll_paper.published import Method
from betanll_paper.published.methods import METHODS
from betanll_paper.published.uci import paper_ties
from betanll_paper.uci import read_runs, write_tables

HEAD = (
    "dataset,method,beta,split,log_likelihood,rmse,learning_rate,epochs,updates,seconds"
)


def write(tmp_path, *lines, head=HEAD):
    path = tmp_path / "runs.csv"
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


# Reading


def test_read_runs_gives_numbers_and_keys(runs):
    assert list(runs.columns) == HEAD.split(",")
    assert len(runs) == 12 * (11 * 20 + 5)
    assert runs["split"].dtype == np.int64
    is_mse = runs["method"] == "mse"
    assert runs.loc[is_mse, ["beta", "log_likelihood"]].isna().all(axis=None)
    assert runs.loc[~is_mse, "log_likelihood"].notna().all()


def test_plain_nll_is_beta_nll_with_beta_zero(tmp_path):
    runs = read_runs(write(tmp_path, "yacht,nll,,0,-1,1,,,,", "yacht,nll,0,1,-1,1,,,,"))
    assert runs["method"].eq("beta-nll").all()
    assert runs["beta"].eq(0).all()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["yacht,mse,,0,,1,,,,"] * 2,
            "line 3: a second run of dataset yacht, method m",
        ),
        (["yacht,nll,,0,1,1,,,,", "yacht,beta-nll,0.0,0,1,1,,,,"], "a second run of"),
        (["boston,mse,,0,,1,,,,"], "line 2: unknown dataset: 'boston'"),
        (["yacht,mse,,0,,one,,,,"], "line 2: rmse is no number: 'one'"),
        (["yacht,mse,,0.5,,1,,,,"], "line 2: wrong split: '0.5'"),
        (["yacht,mse,"], "line 2: wrong split: ''"),
        (["yacht,,,0,,1,,,,"], "missing method"),
        (["yacht,beta-nll,,0,1,1,,,,"], "no beta of the method: 'beta-nll'"),
        (["yacht,mse,0.5,0,1,1,,,,"], "beta given for the method: 'mse'"),
        (["yacht,nll,0.5,0,1,1,,,,"], "beta given for the method: 'nll'"),
        ([], "has no runs"),
    ],
)
def test_wrong_runs_are_refused_by_line(tmp_path, lines, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_runs(write(tmp_path, *lines))


def test_missing_columns_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"runs\.csv has no column split, rmse"):
        read_runs(write(tmp_path, head="dataset,method,beta,log_likelihood"))
    with pytest.raises(ValueError, match="is not a table of runs"):
        read_runs(write(tmp_path, head=""))


# Files


def test_write_tables_writes_three_formats_of_each(runs, tmp_path):
    paths = write_tables(runs, tmp_path / "new", preset="paper")
    names = [path.name for path in paths]
    assert names[:3] == ["tableS1.csv", "tableS1.md", "tableS1.html"]
    assert sorted(names) == sorted(p.name for p in (tmp_path / "new").iterdir())
    assert len(names) == 9
    for path in paths:
        text = path.read_text("utf-8")
        assert "Shortened" not in text
        assert not re.search(r"https?:|<script|url\(", text)
        if path.suffix != ".csv":
            assert "Everything was run." in text
    again = [path.read_bytes() for path in paths]
    write_tables(runs, tmp_path / "new", preset="paper")
    assert again == [path.read_bytes() for path in paths]


def test_csv_holds_all_digits(runs, tmp_path):
    paths = write_tables(runs, tmp_path, ["tableS2", "table1"], preset="paper")
    summary = summarise(runs).query("metric == 'rmse'")
    with paths[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mean"]) for row in rows] == list(summary["mean"])
    assert {row["preset"] for row in rows} == {"paper"}
    overview = pd.read_csv(paths[3])
    assert len(overview) == 4 * (11 + 12)
    line = overview.query("metric == 'll' and method == 'student-t'")
    assert line["paper_ties_of_12"].eq(10).all()
    assert line["ties_datasets"].eq(12).all()


def test_shortened_and_partial_runs_say_so(draw, tmp_path):
    methods = [*METHODS[:3], Method("xvamp-star")]
    runs = draw(n_splits=2, datasets=["yacht", "protein"], methods=methods)
    for path in write_tables(runs, tmp_path, preset="smoke"):
        text = path.read_text("utf-8")
        if path.suffix == ".csv":
            assert "not run" in text
            continue
        assert "Shortened run" in text
        assert "2 of 5 splits: protein; 2 of 20 splits: yacht" in text
        assert "fewer than 4 splits" in text
        assert "Preset “smoke”: the training itself may be shorter" in text
        assert re.search(r"(- |<strong>)carbon(</strong>)?: all methods", text)
        assert re.search(r"yacht(</strong>)?: β-NLL, β = 0.75; β-NLL, β = 1; ", text)
    overview = (tmp_path / "table1.md").read_text("utf-8")
    assert "| xVAMP\\* | 2 of 2 | 1 of 2 | 2 of 2 | 1 of 2 |" in overview
    assert "| Student-t | not run | 10 of 12 | not run | 5 of 12 |" in overview


def test_single_splits_are_shown_and_not_judged(draw, tmp_path):
    runs = draw(n_splits=1, datasets=["yacht"])
    count = count_agreement(compare_with_paper(runs))
    assert (count.n_compared, count.n_not_judged) == (0, 23)
    text = write_tables(runs, tmp_path, ["tableS1"], preset="smoke")[1].read_text()
    assert "– one split" in text
    assert "| Both in total | 0 | – | 0 | 0 | 0 | 23 | 253 |" in text


def test_markdown_marks_and_counts(runs, tmp_path):
    text = write_tables(runs, tmp_path, ["tableS1"], preset="paper")[1].read_text()
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 5]
    cells = [row for row in rows if "±" in row[2]]
    assert len(cells) == 132
    for column in (2, 3):
        assert sum("**" in row[column] for row in cells) == 12
    paper = sum("†" in row[3] for row in cells)
    assert paper == sum(paper_ties("ll").values()) - 12
    count = count_agreement(c for c in compare_with_paper(runs) if c.metric == "ll")
    assert sum("✓ agrees" in row[4] for row in cells) == count.n_agree
    assert f"| Log-likelihood (Table S1) | {count.n_agree} | " in text


def test_wrong_artefacts_and_odd_names_do_no_harm(draw, runs, tmp_path):
    with pytest.raises(ValueError, match="among tableS1, tableS2, table1, got 'fig1'"):
        write_tables(runs, tmp_path, ["tableS1", "fig1"], preset="paper")
    assert not list(tmp_path.iterdir())
    own = draw(datasets=["yacht"], methods=[Method("mm")]).assign(method="<b>a|b")
    paths = write_tables(own, tmp_path, ["tableS1"], preset="<i>")
    html = paths[2].read_text("utf-8")
    assert "&lt;b&gt;a|b" in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "\\<b\\>a\\|b" in paths[1].read_text("utf-8")


@pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="Chromium and its driver are not installed",
)
def test_pages_fit_a_phone(runs, tmp_path):
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    paths = write_tables(runs, tmp_path, preset="paper")
    driver = webdriver.Chrome(options=options, service=service)
    try:
        size = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for path in paths:
            if path.suffix == ".html":
                driver.get(path.as_uri())
                script = "return document.documentElement.scrollWidth"
                assert driver.execute_script(script) == 375
                # The results themselves need no scrolling to the side.
                script = (
                    "return [...document.querySelectorAll('.results')]"
                    ".filter(x => x.scrollWidth > x.parentNode.clientWidth).length"
                )
                assert driver.execute_script(script) == 0
        assert not driver.get_log("browser")
    finally:
        driver.quit()
