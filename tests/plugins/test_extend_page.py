"""The code of the page about extensions, run from top to bottom as it is printed."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betanll import HeteroscedasticRegressor
from betanll.objectives import names, unregister
from betanll.sweeps import MissingResultsError, Request, run_experiments, run_sweep

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_experiment.py"


@pytest.fixture
def _forgotten():
    known = names()
    yield
    for name in set(names()) - set(known):
        unregister(name)


def test_the_examples_run(run_page):
    found = run_page("docs/how-to/extend.md")
    assert {"laplace", "beta-with-penalty"} <= set(names())
    np.testing.assert_allclose(found["prediction"].mean, [0.0, 1.0], atol=1e-9)
    assert found["mixture"].shape == (2,)
    for result in (found["lion"], found["clipped"], *found["results"]):
        assert result.status == "completed"
    again = HeteroscedasticRegressor.load("residual-model")
    assert isinstance(again.net_, found["Residual"])
    x = found["x"]
    np.testing.assert_array_equal(again.predict(x), found["model"].predict(x))
    for other in (found["flax_model"], found["equinox_model"]):
        assert np.isfinite(other.predict(x)).all()
    assert found["result"].n_epochs % 10 == 0


@pytest.fixture
def tips(_forgotten, monkeypatch):
    """The experiment of the example."""
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    import own_experiment

    yield own_experiment.Tips()
    del sys.modules["own_experiment"]


def test_the_example_is_short():
    assert len(EXAMPLE.read_text().splitlines()) <= 60


@pytest.mark.cluster
def test_the_experiment_runs_and_resumes(tips, tmp_path):
    """It is interrupted after two of its six tasks."""
    request = Request(("tips",), "smoke", folder=tmp_path)
    reports = []

    def interrupted(tasks, store, **options):
        reports.append(run_sweep(tasks[:2], store, **options))
        raise KeyboardInterrupt

    def whole(tasks, store, **options):
        reports.append(run_sweep(tasks, store, **options))

    with pytest.raises(KeyboardInterrupt):
        run_experiments([tips], request, n_workers=1, sweep=interrupted)
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.db"]
    report = run_experiments([tips], request, n_workers=1, sweep=whole)
    assert [(one.n_done, one.n_before) for one in reports] == [(2, 0), (4, 2)]
    assert [path.name for path in report.paths] == ["tips.csv", "tips.html"]
    assert len(pd.read_csv(tmp_path / "tips.csv")) == 6
    assert "bounded-beta-nll" in (tmp_path / "tips.html").read_text()


def test_the_experiment_without_results_is_told_in_one_sentence(tips, tmp_path):
    request = Request(("tips",), "smoke", folder=tmp_path)
    message = "^tips cannot be made of the results of 0 of 6 tasks: KeyError: 'method'"
    with pytest.raises(MissingResultsError, match=message):
        run_experiments([tips], request, stored_only=True)
