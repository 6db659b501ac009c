"""Tables and the figure of the autoencoders on the command line."""

import pandas as pd
import pytest

from betanll_paper.autoencoders.protocol import PRESETS, vae_tasks
from betanll_paper.published import Method
from betanll_paper.published.autoencoders import SELECTED


@pytest.fixture(autouse=True)
def _data(data_dir, monkeypatch):
    monkeypatch.setenv("BETANLL_DATA", str(data_dir))


@pytest.fixture
def sweep(replace_sweep):
    """The lists of tasks that the engine would be given."""
    return replace_sweep(lambda task: [row_of(task)])


def row_of(task):
    scores = {"rmse": 0.2, "log_likelihood": 2000.0, "n_epochs": 3}
    state = {"status": "completed", "is_collapsed": False}
    return {"kind": "result", **dict(task.settings), **scores, **state}


def test_tables_are_written(run, sweep, tmp_path):
    command = ("reproduce", "tableS3", "table3-vae", "--preset", "smoke")
    outcome = run(*command, "--dataset", "mnist", "--out", tmp_path)
    assert outcome.code == 0, outcome
    (tasks,) = sweep
    assert tasks == vae_tasks(PRESETS["smoke"], datasets=["mnist"])
    assert len(pd.read_csv(tmp_path / "tableS3.csv")) == 13 * 2
    assert len(pd.read_csv(tmp_path / "table3-vae.csv")) == len(SELECTED) * 2
    for end in ("csv", "md", "html"):
        assert str(tmp_path / f"table3-vae.{end}") in outcome.out


def test_methods_can_be_chosen(run, sweep, tmp_path):
    options = ("--preset", "smoke", "--method", "nll", "--out", tmp_path)
    assert run("reproduce", "tableS3", *options).code == 0
    assert sweep == [vae_tasks(PRESETS["smoke"], methods=[Method("nll")])]


def test_bad_input_is_refused(refused, sweep, tmp_path, monkeypatch):
    out = ("--out", tmp_path / "out")
    message = "--dataset must be among mnist, fashion-mnist, got 'yacht'"
    assert message in refused("reproduce", "tableS3", "--dataset", "yacht", *out)
    monkeypatch.setenv("BETANLL_DATA", str(tmp_path / "nowhere"))
    assert "is missing" in refused("reproduce", "figS5", *out)
    assert not sweep


def test_a_figure_without_pictures_is_told_and_the_table_is_written(
    run, sweep, tmp_path
):
    outcome = run(
        *("reproduce", "figS5", "table3-vae", "--preset", "smoke", "--out", tmp_path)
    )
    assert outcome.code == 2
    message = "betanll: figS5 cannot be written: no run has pictures\n"
    assert outcome.err == message
    assert (tmp_path / "table3-vae.csv").is_file()
