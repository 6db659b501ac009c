"""Custom objectives of a plug-in package, everywhere a built-in one can be used."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from betanll import HeteroscedasticRegressor
from betanll.distributions import Mixture, StudentT
from betanll.evaluation import compare
from betanll.objectives import get, names, unregister
from betanll.sweeps import Store, Task, run_sweep
from betanll.tables import TableModel

FOLDER = Path(__file__).parent
OBJECTIVES = ("laplace", "evidential")
QUICK = ["--hidden", "4", "--max-updates", "60", "--members", "1"]

_random = np.random.default_rng(0)
X = _random.normal(size=(60, 3))
Y = 5 + 2 * X[:, 0] + _random.laplace(0, 0.1 + (X[:, 1] > 0), size=60)


@pytest.fixture(scope="module", autouse=True)
def _package():
    """Install the package for the tests of this file; its metadata is beside it."""
    sys.path.append(str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))
    for name in set(OBJECTIVES) & set(names()):
        unregister(name)
    for module in [name for name in sys.modules if name.startswith("extra_obj")]:
        del sys.modules[module]


@pytest.fixture(scope="module")
def fitted():
    """A function that returns a small ensemble, fitted once."""
    known = {}

    def fit(name):
        if name not in known:
            known[name] = HeteroscedasticRegressor(
                objective=name,
                hidden_layer_sizes=4,
                n_bins=0,
                max_updates=60,
                n_members=2,
                calibration="scale",
                random_state=0,
            ).fit(X, Y)
        return known[name]

    return fit


every_objective = pytest.mark.parametrize("name", OBJECTIVES)


def test_the_objectives_are_installed():
    assert set(OBJECTIVES) < set(names())
    assert get("evidential:0.1").penalty == 0.1


@every_objective
def test_densities_and_moments_agree_on_three_libraries(name, getkey):
    torch = pytest.importorskip("torch")
    made = get(name)
    raw = np.asarray(jax.random.normal(getkey(), (made.n_parameters, 2, 7)))
    target = np.linspace(-2, 2, 14, dtype=np.float32).reshape(2, 7)
    predictive = made.predictive(made.parameters(raw.astype(np.float64)))
    for convert in (jnp.asarray, torch.tensor, np.asarray):
        parameters = made.parameters(convert(raw))
        nll = np.asarray(made.nll(parameters, convert(target)))
        np.testing.assert_allclose(nll, -predictive.log_prob(target), rtol=2e-5)
        mean, variance = map(np.asarray, made.moments(parameters))
        np.testing.assert_allclose(mean, predictive.mean, rtol=1e-6)
        np.testing.assert_allclose(variance, predictive.variance, rtol=2e-5)


def test_the_laplace_distribution_follows_from_three_methods():
    laplace = get("laplace").predictive((np.array([1.0, -2.0]), np.array([0.5, 3.0])))
    exact = stats.laplace([1.0, -2.0], [0.5, 3.0])
    np.testing.assert_allclose(laplace.mean, exact.mean(), rtol=1e-8)
    np.testing.assert_allclose(laplace.variance, exact.var(), rtol=1e-6)
    interval = np.stack(exact.interval(0.9), axis=1)
    np.testing.assert_allclose(laplace.interval(0.9), interval, rtol=1e-12)


@every_objective
def test_an_ensemble_is_calibrated_in_scale_and_keeps_its_family(name, fitted):
    model = fitted(name)
    assert model.df_ is None
    assert model.spread_[0] != 1
    predictive = model.predict_dist(X)
    assert isinstance(predictive, Mixture)
    mean, std = model.predict(X, return_std=True)
    assert np.sqrt(np.mean((mean - Y) ** 2)) < Y.std()
    np.testing.assert_allclose(std, np.sqrt(sum(model.predict_parts(X))), rtol=1e-6)
    # No member is replaced by a Student t unless the objective predicts one.
    raw = np.zeros((get(name).n_parameters, 1, 1))
    member = get(name).predictive(get(name).parameters(raw))
    assert isinstance(member, StudentT) == (name == "evidential")
    with pytest.raises(ValueError, match="is for Gaussian predictions"):
        HeteroscedasticRegressor(objective=name, calibration="student-t").fit(X, Y)


@pytest.mark.parametrize(
    ("name", "calibration"), [("laplace", "scale"), ("evidential", None)]
)
def test_automatic_calibration_never_replaces_the_distribution(name, calibration):
    plan = HeteroscedasticRegressor(objective=name).plan_for(60, 3)
    assert plan.calibration == calibration


@every_objective
def test_saved_models_come_back(name, fitted, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model")
    loaded = HeteroscedasticRegressor.load(tmp_path / "model")
    assert loaded.objective_ == model.objective_
    np.testing.assert_array_equal(
        loaded.predict(X, return_std=True), model.predict(X, return_std=True)
    )


@every_objective
def test_exported_modules_agree(name, fitted):
    torch = pytest.importorskip("torch")
    model = fitted(name)
    with torch.inference_mode():
        found = [part.numpy() for part in model.to_torch()(torch.from_numpy(X))]
    expected = model.predict(X, return_std=True)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)


def test_they_are_compared_with_ours():
    models = {
        name: HeteroscedasticRegressor(
            preset="fast",
            objective=name,
            hidden_layer_sizes=4,
            n_bins=0,
            max_updates=40,
            random_state=0,
        )
        for name in ("beta-nll", *OBJECTIVES)
    }
    table = compare(models, X, Y[:, None], n_folds=2, random_state=0).table(0)
    assert {line["model"] for line in table} == set(models)
    for line in table:
        assert np.isfinite([line["log_likelihood"], line["crps"], line["rmse"]]).all()


@pytest.mark.cluster
def test_they_are_swept(tmp_path):
    """A worker, which knows nothing of this process, finds them by their names."""
    from extra_objectives.study import score

    tasks = [Task.of(score, objective=name, seed=0) for name in OBJECTIVES]
    with Store(tmp_path / "sweep.db") as store:
        report = run_sweep(tasks, store, n_workers=1, plugins=["extra_objectives"])
        assert report[:4] == (len(tasks), 0, 0, 0), store.failures()
        rows = store.rows(tasks)
    assert rows == [row for task in tasks for row in task.run()]
    for row in rows:
        assert row["crps"] < row["crps_of_a_constant"]


def test_a_distribution_and_its_objective_take_thirty_lines():
    """Of code: neither blank ones nor imports count."""
    text = (FOLDER / "extra_objectives" / "laplace.py").read_text()
    code = [
        line
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef)
        for line in text.splitlines()[
            node.decorator_list[0].lineno - 1 : node.end_lineno
        ]
        if line.strip()
    ]
    assert 20 < len(code) <= 30


# The command line, in processes of its own that know nothing of this one


@pytest.fixture
def betanll(tmp_path):
    """A function that runs the command line in a folder with a table."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    code = FOLDER / "extra_objectives" / "laplace.py"
    (tmp_path / "my_laplace.py").write_text(code.read_text())

    def run(*arguments, path=""):
        environment = dict(os.environ)
        paths = [str(path), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        return subprocess.run(
            [sys.executable, "-c", "from betanll.cli import main; main()", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    return run


@pytest.mark.slow
def test_a_module_is_a_plugin_of_the_command_line(betanll, tmp_path):
    named = ["--objective", "laplace"]
    fit = ["fit", "data.csv", "--target", "y", "--out", "out", *QUICK, *named]
    plugin = ["--plugin", "my_laplace"]
    refused = betanll(*fit)
    assert refused.returncode == 2
    assert "'laplace' is not one of mse, " in refused.stderr
    assert "--plugin" in refused.stderr
    assert not (tmp_path / "out").exists()
    fitted = betanll(*fit, *plugin)
    assert fitted.returncode == 0, fitted.stderr
    predict = ["predict", "out", "data.csv", "--out", "predictions.csv"]
    refused = betanll(*predict)
    assert refused.returncode == 2
    assert refused.stderr == (
        "betanll: out: the objective 'laplace' is not registered: import "
        "my_laplace first, or use --plugin my_laplace\n"
    )
    assert not (tmp_path / "predictions.csv").exists()
    predicted = betanll(*predict, *plugin)
    assert predicted.returncode == 0, predicted.stderr
    assert np.isfinite(pd.read_csv(tmp_path / "predictions.csv")).all(axis=None)
    contenders = ["--objective", "nll", *named, "--folds", "2", *QUICK]
    compared = betanll("compare", "data.csv", "--target", "y", *contenders, *plugin)
    assert compared.returncode == 0, compared.stderr
    assert "\nlaplace " in compared.stdout


@pytest.mark.slow
def test_an_installed_package_needs_no_option(betanll, tmp_path):
    fit = ["fit", "data.csv", "--target", "y", "--out", "out", *QUICK]
    fitted = betanll(*fit, "--objective", "evidential:0.1", path=FOLDER)
    assert fitted.returncode == 0, fitted.stderr
    model = TableModel.load(tmp_path / "out")
    assert model.regressor.objective_ == get("evidential:0.1")
    listed = betanll("objectives", path=FOLDER).stdout
    assert "laplace         LaplaceNLL()             Laplace likelihood: " in listed
