"""UCI tables: the paper's numbers, means, ties and agreement with the paper."""

import numpy as np
import pytest

from betanll_paper.comparison import count_agreement, ks_marks
from betanll_paper.comparison.ties import MIN_SPLITS, ks_p_value
from betanll_paper.published import Method
from betanll_paper.published.methods import METHODS, paper_rows
from betanll_paper.published.uci import (
    DATASETS,
    OVERVIEW_DATASETS,
    paper_cells,
    paper_ties,
)
from betanll_paper.uci.tables import compare_uci, count_ties

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
    for row in paper_rows("table1.csv"):
        assert row["dataset"] in OVERVIEW_DATASETS
        if row["mean"]:
            key = row["dataset"], Method.of_row(row)
            cell = paper_cells(row["metric"])[key]
            if (cell.mean, cell.std) != (float(row["mean"]), float(row["std"])):
                differ.append((row["metric"], *key))
    assert differ == [("ll", "yacht", Method("mm"))]


def test_half_a_unit_is_of_the_last_printed_digit():
    cell = paper_cells("rmse")["naval", Method("beta-nll:1")]
    assert (cell.mean, cell.std, cell.half_unit) == (0.0004, 0.0, pytest.approx(5e-5))


# Means, deviations and ties


def test_cells_are_of_the_splits(runs):
    cells = compare_uci(runs[::-1])
    assert len(cells) == 12 * 12 + 12 * 11
    method = Method("beta-nll:0.25")
    key = ("energy", "rmse", method)
    (cell,) = [c for c in cells if (c.dataset, c.metric, c.method) == key]
    values = [
        row["rmse"]
        for row in runs
        if (row["dataset"], row["method"], row["beta"]) == ("energy", "beta-nll", 0.25)
    ]
    # in the order of the splits, with the digits of the file of runs
    assert cell.values == tuple(float(f"{value:.10g}") for value in values)
    assert cell.mean == np.mean(cell.values)
    assert cell.std == np.std(cell.values, ddof=1)
    for cell in cells:
        assert cell.n_repeats == (5 if cell.dataset == "protein" else 20)
        assert (cell.metric, cell.method.name) != ("ll", "mse")


def test_a_failed_split_makes_no_mean(draw):
    runs = draw(datasets=["yacht"])
    of_vbem = [row for row in runs if row["method"] == "vbem-star"]
    of_vbem[0].update(log_likelihood=np.inf, rmse=None)
    of_vbem[1].update(log_likelihood=-np.inf)
    for cell in compare_uci(runs):
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
    cells = compare_uci(runs)
    for metric in ("ll", "rmse"):
        for method, paper in paper_ties(metric).items():
            ours, of_marks, n = count_ties(cells, metric, method)
            assert (of_marks, n) == (paper, 12)
            assert abs(ours - paper) <= 4
        best = [c for c in cells if c.metric == metric and c.mark == "best"]
        assert [cell.dataset for cell in best] == list(DATASETS)


# Agreement


def test_tolerance_is_two_standard_errors_and_half_a_unit(draw):
    # Ours 0.1 / sqrt(2) twice and the paper's -3.07 ± 0.14 of 20 splits.
    def cell(ll):
        runs = draw(datasets=["concrete"], methods=[Method("student-t")], n_splits=2)
        for row, value in zip(runs, (ll - 0.05, ll + 0.05), strict=True):
            row["log_likelihood"] = value
        return compare_uci(runs)[11 + 6]

    tolerance = 2 * np.sqrt(0.005 / 2 + 0.14**2 / 20) + 0.005
    assert cell(0.0).tolerance == pytest.approx(tolerance, rel=1e-12)
    assert cell(-3.07 + tolerance - 1e-6).verdict == "agrees"
    assert cell(-3.07 + tolerance + 1e-6).verdict == "better"
    assert cell(-3.07 - tolerance - 1e-6).verdict == "worse"


def test_runs_from_the_papers_distribution_agree(draw):
    # The paper's means are exact here, so that only one of the two standard errors is
    # at work: 2 sqrt(2) of them hold 99.5% of normal values.
    counts = [count_agreement(compare_uci(draw(seed=s))) for s in range(3)]
    assert all(count.n_compared == 132 + 144 for count in counts)
    assert all(count.n_not_run == 0 for count in counts)
    assert all(count.share > 0.97 for count in counts)


def test_runs_of_an_independent_repetition_agree_in_95_percent(draw):
    # The paper's means moved by their own standard error, as by other seeds.
    rng = np.random.default_rng(1)
    shares = []
    for seed in range(3):
        runs = draw(seed=seed)
        for column, metric in (("log_likelihood", "ll"), ("rmse", "rmse")):
            error = {
                key: rng.normal(0, cell.std / np.sqrt(cell.n_splits))
                for key, cell in paper_cells(metric).items()
            }
            for row in runs:
                key = row["dataset"], Method.of_row(row)
                if key in error:
                    row[column] += error[key]
        shares.append(count_agreement(compare_uci(runs)).share)
    # 828 cells: 0.95 ± 0.0076; rounding to the paper's digits lets a few more agree.
    assert 0.93 < np.mean(shares) < 0.98


def test_shifted_runs_disagree_and_are_worse(draw):
    count = count_agreement(compare_uci(draw(shift=2.0)))
    assert count.share < 0.1
    assert count.n_better == 0
    assert count.n_worse == count.n_compared - count.n_agree


def test_other_methods_come_last_and_are_not_counted(draw, runs):
    own = [
        row | {"method": "my_loss", "rmse": 0.01}
        for row in draw(datasets=["yacht"], methods=[Method("mm")])
    ]
    cells = compare_uci([*own, *runs])
    of_yacht = [c for c in cells if (c.metric, c.dataset) == ("rmse", "yacht")]
    assert of_yacht[-1].method == Method("my_loss")
    (cell,) = [c for c in cells if c.paper is None and c.metric == "rmse"]
    assert (cell.method.label, cell.mark, cell.verdict) == (
        "my_loss",
        "best",
        "not in paper",
    )
    assert count_agreement(cells).n_compared == 276
