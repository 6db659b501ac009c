"""The code of the page about extensions, run from top to bottom as it is printed."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betanll import HeteroscedasticRegressor
from betanll.objectives import names, unregister
from betanll.sweeps import Request, run_experiments

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


@pytest.mark.usefixtures("_forgotten")
def test_the_experiment_runs_and_resumes(tmp_path, monkeypatch):
    assert len(EXAMPLE.read_text().splitlines()) <= 60
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    import own_experiment

    request = Request(("tips",), "smoke", folder=tmp_path)

    def here(tasks, store, **options):
        for task in tasks:
            store.add_result(task, task.run(), seconds=0.0)

    report = run_experiments([own_experiment.Tips()], request, sweep=here)
    assert [path.name for path in report.paths] == ["tips.csv", "tips.html"]
    assert len(pd.read_csv(tmp_path / "tips.csv")) == 6
    assert "bounded-beta-nll" in (tmp_path / "tips.html").read_text()
