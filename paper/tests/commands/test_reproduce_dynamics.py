"""Tables and figures of the dynamics models: search, then the best with more seeds."""

import pandas as pd
import pytest

from betanll.sweeps import Store
from betanll_paper.dynamics.protocol import (
    final_tasks,
    longest_first,
    search_tasks,
)
from betanll_paper.dynamics.training import RESIDUAL_EDGES
from betanll_paper.published import Method
from betanll_paper.published.dynamics import CONTROL
from betanll_paper.published.methods import METHODS, SLOW

SLIDE = ("--preset", "smoke", "--dataset", "object-slide")


@pytest.fixture
def sweep(replace_sweep):
    """The lists of tasks that the engine would be given."""
    return replace_sweep(rows_of)


def rows_of(task):
    settings = dict(task.settings)
    row = {
        "kind": "final" if settings["is_final"] else "search",
        "score": settings["learning_rate"] - settings["n_layers"],
        "status": "completed",
        "validation_rmse": 0.01,
        "validation_log_likelihood": 5.0,
    }
    if not settings["is_final"]:
        return [{**settings, **row}]
    row |= {"rmse": 0.01 * settings["seed"], "log_likelihood": 4.0}
    counts = [1] * (len(RESIDUAL_EDGES) - 1)
    residuals = {"kind": "residuals", "counts": counts}
    return [{**settings, **row}, {**settings, **residuals}]


def test_the_best_of_the_search_are_tested(run, sweep, tmp_path):
    outcome = run("reproduce", "table2", "tableS7", *SLIDE, "--out", tmp_path)
    assert outcome.code == 0, outcome
    first, then = sweep
    methods = (*METHODS, CONTROL)
    chosen = [m for m in methods if m.name not in SLOW]
    search = search_tasks("smoke", methods=chosen, datasets=["object-slide"])
    rows = [row for task in search for row in rows_of(task)]
    final = {
        method: final_tasks("smoke", "object-slide", method, rows) for method in methods
    }
    # Slow methods have nothing to search: they are tested at once.
    unsearched = {task for m in methods if m.name in SLOW for task in final[m]}
    assert set(first) == set(search) | unsearched
    assert len(unsearched) == len(SLOW)
    assert set(then) >= {task for m in chosen for task in final[m]}
    runs = pd.read_csv(tmp_path / "table2.csv")
    columns = ["task", "method", "beta", "seed", "rmse", "log_likelihood"]
    assert list(runs) == columns
    assert len(runs) == 9 * 2 + 4
    assert runs["method"].iloc[0] == "beta-nll"
    is_slow = runs["method"].isin(SLOW)
    assert runs["rmse"][~is_slow].tolist() == [0.01, 0.02] * 9
    assert runs["rmse"][is_slow].tolist() == [0.01] * 4
    page = (tmp_path / "table2.md").read_text()
    assert "0.0150 ± 0.0071" in page
    assert "Shortened run: 2 epochs instead of 5,000; 20 episodes instead of" in page
    assert "; 2 seeds instead of 5; 2 configurations instead of 96; " in page
    assert "| diverges | – diverged in the paper |" in page
    assert "| Student-t, floored |" in page
    assert "; xVAMP and VBEM with that alone and 1 seed." in page
    assert "seeds)" not in page
    assert "substitute" not in page.lower()
    best = pd.read_csv(tmp_path / "tableS7.csv")
    assert len(best) == 9
    assert {"paper_learning_rate", "n_units"} <= set(best)
    for end in ("csv", "md", "html"):
        assert str(tmp_path / f"tableS7.{end}") in outcome.out


def test_methods_can_be_chosen(run, sweep, tmp_path):
    options = ("--method", "nll", "--method", "mse", "--out", tmp_path)
    assert run("reproduce", "table2", *SLIDE, *options).code == 0
    methods = [Method("nll"), Method("mse")]
    search = search_tasks("smoke", methods=methods, datasets=["object-slide"])
    assert sweep[0] == longest_first(search)
    assert set(pd.read_csv(tmp_path / "table2.csv")["method"]) == {"beta-nll", "mse"}


def test_a_figure_trains_what_it_shows(run, sweep, tmp_path):
    assert run("reproduce", "fig6", *SLIDE, "--out", tmp_path).code == 0
    shown = {("beta-nll", 0.0), ("beta-nll", 0.5), ("mse", None)}
    for tasks in sweep:
        settings = [dict(task.settings) for task in tasks]
        assert {(s["method"], s["beta"]) for s in settings} == shown
    assert (tmp_path / "fig6.png").is_file()


def test_an_unfinished_grid_chooses_nothing(run, sweep, tmp_path):
    tasks = search_tasks("smoke", methods=[Method("mse")], datasets=["object-slide"])
    with Store(tmp_path / "sweep.db") as store:
        for task in tasks[1:]:
            store.add_result(task, rows_of(task), seconds=0.1)
    options = ("--method", "mse", "--stored-only", "--out", tmp_path)
    outcome = run("reproduce", "tableS7", *SLIDE, *options)
    assert outcome.code == 0, outcome
    assert "1 of 2 tasks have results." in outcome.out
    outcome = run("reproduce", "table2", *SLIDE, *options)
    assert outcome.code == 2
    message = "betanll: table2 cannot be written: no run has a result\n"
    assert outcome.err == message


def test_one_configuration_is_not_compared(run, sweep, tmp_path):
    outcome = run("reproduce", "tableS7", *SLIDE, "--method", "vbem", "--out", tmp_path)
    message = "betanll: tableS7 cannot be written: no configurations were compared\n"
    assert (outcome.code, outcome.err) == (2, message)
    assert sweep == [[]]


def test_bad_input_is_refused(refused, sweep, tmp_path, monkeypatch):
    monkeypatch.setenv("BETANLL_DATA", str(tmp_path / "nowhere"))
    out = tmp_path / "out"
    # Fetch is to be generated first.
    assert "holds no Fetch rollouts" in refused("reproduce", "figS4", "--out", out)
    table2 = ("reproduce", "table2", "--out", out, "--dataset")
    message = "must be among object-slide, fetch-pick-and-place, got 'yacht'"
    assert message in refused(*table2, "yacht")
    message = "table2 needs a --dataset among object-slide, fetch-pick-and-place"
    assert message in refused(*table2, "yacht", "table1")
    assert not sweep
    assert not out.exists()


def test_a_figure_whose_data_are_left_out(refused, tmp_path):
    out = ("--out", tmp_path / "out")
    message = refused("reproduce", "figS4", *SLIDE, *out)
    assert "figS4 shows fetch-pick-and-place, which --dataset leaves out" in message
    assert not (tmp_path / "out").exists()
