"""UCI tables: reading runs, ties, agreement with the paper, and the files."""

import csv
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from betanll.experiments import (
    Method,
    compare_with_paper,
    count_agreement,
    ks_marks,
    read_runs,
    summarise,
    write_tables,
)
from betanll.experiments._ks import MIN_SPLITS, ks_p_value
from betanll.experiments._paper_uci import (
    DATASETS,
    METHODS,
    OVERVIEW_DATASETS,
    _rows,
    paper_cells,
    paper_ties,
)
from betanll.experiments._uci_pages import count_ties

HEAD = (
    "dataset,method,beta,split,log_likelihood,rmse,learning_rate,epochs,updates,seconds"
)


def draw(*, seed=0, n_splits=None, datasets=DATASETS, methods=METHODS, shift=0.0):
    """Return runs drawn from the paper's means, moved by some deviations."""
    rng = np.random.default_rng(seed)
    lines = []
    for dataset in datasets:
        for method in methods:
            ll = paper_cells("ll").get((dataset, method))
            rmse = paper_cells("rmse")[dataset, method]
            for split in range(n_splits or rmse.n_splits):
                lines.append(
                    {
                        "dataset": dataset,
                        "method": method.name,
                        "beta": method.beta,
                        "split": split,
                        "log_likelihood": ll
                        and rng.normal(ll.mean - shift * ll.std, ll.std),
                        "rmse": rng.normal(rmse.mean + shift * rmse.std, rmse.std),
                        "learning_rate": 1e-3,
                        "epochs": 40,
                        "updates": 80,
                        "seconds": 0.5,
                    }
                )
    runs = pd.DataFrame(lines, columns=HEAD.split(","))
    return runs.astype({"beta": float, "log_likelihood": float})


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "runs.csv"
    draw().to_csv(path, index=False)
    return read_runs(path)


def write(tmp_path, *lines, head=HEAD):
    path = tmp_path / "runs.csv"
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


# The paper's numbers


def test_every_dataset_and_method_of_the_paper_is_there():
    keys = {(dataset, method) for dataset in DATASETS for method in METHODS}
    assert set(paper_cells("rmse")) == keys
    assert set(paper_cells("ll")) == {key for key in keys if key[1].name != "mse"}


@pytest.mark.parametrize("metric", ["ll", "rmse"])
def test_ties_of_table_1_are_the_marks_of_tables_s1_and_s2(metric):
    cells = paper_cells(metric)
    counted = dict.fromkeys((method for _, method in cells), 0)
    for (_, method), cell in cells.items():
        counted[method] += bool(cell.mark)
    assert counted == paper_ties(metric)


@pytest.mark.parametrize("metric", ["ll", "rmse"])
def test_the_bold_entry_of_the_paper_is_the_best_mean(metric):
    sign = 1 if metric == "ll" else -1
    for dataset in DATASETS:
        cells = [c for (name, _), c in paper_cells(metric).items() if name == dataset]
        (best,) = [cell for cell in cells if cell.mark == "best"]
        assert sign * best.mean == max(sign * cell.mean for cell in cells)


def test_table_1_repeats_tables_s1_and_s2_but_for_one_rounding():
    differ = []
    for row in _rows("table1.csv"):
        assert row["dataset"] in OVERVIEW_DATASETS
        if row["mean"]:
            beta = float(row["beta"]) if row["beta"] else None
            key = row["dataset"], Method(row["method"], beta)
            cell = paper_cells(row["metric"])[key]
            if (cell.mean, cell.std) != (float(row["mean"]), float(row["std"])):
                differ.append((row["metric"], *key))
    assert differ == [("ll", "yacht", Method("mm"))]


def test_half_a_unit_is_of_the_last_printed_digit():
    cell = paper_cells("rmse")["naval", Method("beta-nll", 1.0)]
    assert (cell.mean, cell.std, cell.half_unit) == (0.0004, 0.0, pytest.approx(5e-5))


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


# Means, deviations and ties


def test_summary_is_of_the_splits(runs):
    summary = summarise(runs)
    assert len(summary) == 12 * 12 + 12 * 11
    line = summary.query("dataset == 'energy' and beta == 0.25 and metric == 'rmse'")
    values = runs.query("dataset == 'energy' and beta == 0.25")["rmse"].to_numpy()
    assert line["mean"].item() == pytest.approx(values.mean(), rel=1e-14)
    assert line["std"].item() == pytest.approx(values.std(ddof=1), rel=1e-14)
    n_splits = summary.groupby("dataset")["n_splits"].unique()
    assert all(n == [5 if name == "protein" else 20] for name, n in n_splits.items())
    assert not ((summary["method"] == "mse") & (summary["metric"] == "ll")).any()


def test_a_failed_split_makes_no_mean():
    runs = draw(datasets=["yacht"])
    is_vbem = runs["method"] == "vbem-star"
    runs.loc[runs.index[is_vbem][:2], "log_likelihood"] = [np.inf, -np.inf]
    runs.loc[runs.index[is_vbem][:1], "rmse"] = np.nan
    for cell in compare_with_paper(runs):
        if cell.method == Method("vbem-star") and cell.dataset == "yacht":
            assert not np.isfinite(cell.mean)
            assert (cell.mark, cell.verdict) == ("", "worse")


@pytest.mark.parametrize(
    ("n", "distance", "p_value"),
    [(20, 9, 0.0335), (20, 8, 0.0811), (5, 5, 0.0079), (5, 4, 0.0794)],
)
def test_critical_distances_of_the_ks_test(n, distance, p_value):
    low = np.arange(n, dtype=float)
    high = low + distance - 0.5  # `distance` of `low` lie below all of `high`
    assert ks_p_value(low, high) == pytest.approx(p_value, abs=5e-5)
    marks = ks_marks({"low": low, "high": high}, higher_is_better=True)
    assert marks == {"low": "" if p_value < 0.05 else "tied", "high": "best"}


def test_the_smallest_distance_of_five_splits_is_a_tie():
    assert ks_p_value(np.arange(5.0), np.arange(5.0) + 0.5) > 0.99


def test_too_few_splits_cannot_differ():
    for n in (MIN_SPLITS - 1, MIN_SPLITS):
        p_value = ks_p_value(np.arange(n), np.arange(n) + 10.0)
        assert (p_value > 0.05) == (n < MIN_SPLITS)


def test_one_method_is_best_and_direction_matters():
    values = {"a": np.zeros(20), "b": np.zeros(20), "c": np.ones(20)}
    marks = ks_marks(values, higher_is_better=False)
    assert marks == {"a": "best", "b": "tied", "c": ""}
    marks = ks_marks(values, higher_is_better=True)
    assert marks == {"a": "", "b": "", "c": "best"}
    assert ks_marks({"a": np.array([np.nan])}, higher_is_better=True) == {"a": ""}


def test_ties_of_runs_like_the_papers_are_near_the_papers(runs):
    # Normal draws are not the paper's splits; the counts of 12 move by a few.
    cells = compare_with_paper(runs)
    for metric in ("ll", "rmse"):
        for method, paper in paper_ties(metric).items():
            ours, of_marks, n = count_ties(cells, metric, method)
            assert (of_marks, n) == (paper, 12)
            assert abs(ours - paper) <= 4
        best = [c for c in cells if c.metric == metric and c.mark == "best"]
        assert [cell.dataset for cell in best] == list(DATASETS)


# Agreement


def test_tolerance_is_two_standard_errors_and_half_a_unit():
    # Ours 0.1 / sqrt(2) twice and the paper's -3.07 ± 0.14 of 20 splits.
    def cell(ll):
        runs = draw(datasets=["concrete"], methods=[Method("student-t")], n_splits=2)
        runs["log_likelihood"] = np.array([ll - 0.05, ll + 0.05])
        return compare_with_paper(runs)[11 + 6]

    tolerance = 2 * np.sqrt(0.005 / 2 + 0.14**2 / 20) + 0.005
    assert cell(0.0).tolerance == pytest.approx(tolerance, rel=1e-12)
    assert cell(-3.07 + tolerance - 1e-6).verdict == "agrees"
    assert cell(-3.07 + tolerance + 1e-6).verdict == "better"
    assert cell(-3.07 - tolerance - 1e-6).verdict == "worse"


def test_runs_from_the_papers_distribution_agree():
    # The paper's means are exact here, so that only one of the two standard errors is
    # at work: 2 sqrt(2) of them hold 99.5 % of normal values.
    counts = [count_agreement(compare_with_paper(draw(seed=s))) for s in range(3)]
    assert all(count.n_compared == 132 + 144 for count in counts)
    assert all(count.n_not_run == 0 for count in counts)
    assert all(count.share > 0.97 for count in counts)


def test_runs_of_an_independent_repetition_agree_in_95_percent():
    # The paper's means moved by their own standard error, as by other seeds.
    rng = np.random.default_rng(1)
    shares = []
    for seed in range(3):
        runs = draw(seed=seed)
        for column, metric in (("log_likelihood", "ll"), ("rmse", "rmse")):
            error = {
                (dataset, method.name, -1.0 if method.beta is None else method.beta): (
                    rng.normal(0, cell.std / np.sqrt(cell.n_splits))
                )
                for (dataset, method), cell in paper_cells(metric).items()
            }
            keys = zip(
                runs["dataset"], runs["method"], runs["beta"].fillna(-1), strict=True
            )
            runs[column] += np.array([error.get(key, 0.0) for key in keys])
        shares.append(count_agreement(compare_with_paper(runs)).share)
    # 828 cells: 0.95 ± 0.0076; rounding to the paper's digits lets a few more agree.
    assert 0.93 < np.mean(shares) < 0.98


def test_shifted_runs_disagree_and_are_worse():
    count = count_agreement(compare_with_paper(draw(shift=2.0)))
    assert count.share < 0.1
    assert count.n_better == 0
    assert count.n_worse == count.n_compared - count.n_agree


def test_other_methods_come_last_and_are_not_counted(runs):
    own = draw(datasets=["yacht"], methods=[Method("mm")]).assign(method="my_loss")
    own["rmse"] = 0.01
    cells = compare_with_paper(pd.concat([runs, own]))
    (cell,) = [c for c in cells if c.paper is None and c.metric == "rmse"]
    assert (cell.method.label, cell.mark, cell.verdict) == (
        "my_loss",
        "best",
        "not in paper",
    )
    assert count_agreement(cells).n_compared == 276


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


def test_shortened_and_partial_runs_say_so(tmp_path):
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


def test_single_splits_are_shown_and_not_judged(tmp_path):
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


def test_wrong_artefacts_and_odd_names_do_no_harm(runs, tmp_path):
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
