"""Models of dynamics: the grid, the choice in it, and one training."""

import json
import math

import jax.numpy as jnp
import numpy as np
import pytest

from betanll.datasets import Samples, Splits
from betanll.networks import MLP
from betanll.objectives import MSE, BetaNLL, StudentT
from betanll.training import fit, optimizer
from betanll_paper.datasets import DataError
from betanll_paper.dynamics import training as _dynamics_training
from betanll_paper.dynamics.protocol import (
    best_configurations,
    configurations,
    final_tasks,
    search_tasks,
)
from betanll_paper.dynamics.training import PROBABILITY_EDGES, FlooredStudentT, train
from betanll_paper.published import Method
from betanll_paper.published.dynamics import (
    CONTROL,
    DATASETS,
    FETCH,
    GRID,
    OBJECT_SLIDE,
    Configuration,
    paper_best,
    paper_cells,
)
from betanll_paper.published.methods import METHODS
from betanll_paper.simulators import object_slide_splits

SMALL = {
    "dataset": OBJECT_SLIDE,
    "method": "beta-nll",
    "beta": 0.5,
    "learning_rate": 1e-3,
    "n_layers": 2,
    "n_units": 8,
    "activation": "tanh",
    "epochs": 3,
    "seed": 2,
    "is_final": True,
    "n_episodes": 20,
}


def test_the_paper_has_all_methods_and_its_best_are_of_its_grid():
    keys = {(dataset, method) for dataset in DATASETS for method in METHODS}
    assert set(paper_cells("rmse")) == keys
    without = {(dataset, Method("mse")) for dataset in DATASETS}
    assert set(paper_cells("ll")) == keys - without - {(OBJECT_SLIDE, Method("mm"))}
    assert set(paper_best()) == keys
    assert len(set(GRID)) == 96
    assert set(paper_best().values()) <= set(GRID)


@pytest.mark.parametrize("preset", ["smoke", "laptop", "paper"])
def test_every_grid_has_the_papers_best(preset):
    for (dataset, method), best in paper_best().items():
        assert best in configurations(preset, dataset, method)
    # The control is compared with Student-t, on the same grid.
    for dataset in DATASETS:
        assert configurations(preset, dataset, CONTROL) == configurations(
            preset, dataset, Method("student-t")
        )


def test_the_paper_preset_is_the_papers():
    settings = [dict(task.settings) for task in search_tasks("paper", methods=METHODS)]
    assert len(settings) == 2 * 12 * 96
    assert {(s["dataset"], s["epochs"]) for s in settings} == {
        (OBJECT_SLIDE, 5000),
        (FETCH, 500),
    }
    assert {s["seed"] for s in settings} == {0}


def searched(method, learning_rate, score):
    return {
        "kind": "search",
        "dataset": OBJECT_SLIDE,
        "method": method.name,
        "beta": method.beta,
        **Configuration(learning_rate, 3, 128, "relu")._asdict(),
        "score": score,
    }


def test_the_best_configuration_is_trained_with_other_seeds():
    nll, mse = Method("nll"), Method("mse")
    rows = [
        searched(nll, 1e-3, -1.0),
        searched(nll, 3e-4, -2.0),
        searched(nll, 1e-4, None),
        searched(mse, 1e-3, 0.5),
        searched(Method("mm"), 1e-3, None),
    ]
    best = best_configurations(rows)
    assert {key[1]: value.learning_rate for key, value in best.items()} == {
        nll: 3e-4,
        mse: 1e-3,
    }
    tasks = final_tasks("paper", OBJECT_SLIDE, nll, rows)
    settings = [dict(task.settings) for task in tasks]
    assert [s["seed"] for s in settings] == [1, 2, 3, 4, 5]
    assert {s["learning_rate"] for s in settings} == {3e-4}
    assert all(s["is_final"] for s in settings)
    assert final_tasks("paper", OBJECT_SLIDE, Method("mm"), rows) == []


def test_slow_methods_have_a_search_in_the_paper_only():
    vbem = Method("vbem")
    assert len(search_tasks("paper", methods=[vbem], datasets=[FETCH])) == 96
    assert final_tasks("paper", FETCH, vbem, []) == []
    assert search_tasks("laptop", methods=[vbem], datasets=[FETCH]) == []
    (task,) = final_tasks("laptop", FETCH, vbem, [])
    settings = dict(task.settings)
    best = paper_best()[FETCH, vbem]
    assert Configuration(*(settings[name] for name in best._fields)) == best
    assert settings["is_final"]


def test_numbers_are_those_of_a_plain_fit_in_original_units():
    row, residuals = train(**SMALL)
    splits = object_slide_splits(20)
    x_mean, x_std = splits.train.x.mean(0), splits.train.x.std(0)
    y_mean, y_std = splits.train.y.mean(), splits.train.y.std()
    white = [((x - x_mean) / x_std, (y - y_mean) / y_std) for x, y in splits]
    result = fit(
        *(MLP(5, (8, 8), "tanh", "lecun"), BetaNLL(0.5), *white[0]),
        validation=white[1],
        optimizer=optimizer(learning_rate=1e-3),
        batch_size=256,
        max_epochs=3,
        seed=2,
    )
    for part, prefix in ((1, "validation_"), (2, "")):
        there = result.predict(white[part][0])
        z = (white[part][1] - there.mean) / there.std
        ll = -0.5 * z**2 - np.log(there.std * y_std * math.sqrt(2 * math.pi))
        error = y_std * (there.mean - white[part][1])
        assert row[f"{prefix}log_likelihood"] == pytest.approx(ll.mean(), rel=1e-5)
        assert row[f"{prefix}rmse"] == pytest.approx(
            np.sqrt(np.mean(error**2)), rel=1e-5
        )
    assert row["updates"] == 3 * (600 // 256)
    assert residuals["kind"] == "residuals"
    assert sum(residuals["counts"]) == 600
    json.dumps([row, residuals], allow_nan=False)


def test_the_search_does_not_look_at_the_test_set():
    (row,) = train(**{**SMALL, "is_final": False})
    assert row["kind"] == "search"
    assert "rmse" not in row
    assert "log_likelihood" not in row
    assert row["score"] < math.inf


def test_divergence_is_null():
    (row,) = train(**{**SMALL, "learning_rate": 1e30})
    assert (row["status"], row["score"], row["best_epoch"]) == ("diverged", None, 0)
    json.dumps(row, allow_nan=False)


@pytest.fixture
def fetch(monkeypatch):
    """Random numbers in the place of the robot's."""
    rng = np.random.default_rng(0)
    parts = (
        Samples(rng.normal(size=(n, 4)), rng.normal(size=(n, 3)))
        for n in (300, 100, 100)
    )
    splits = Splits(*parts)
    _dynamics_training._data.cache_clear()
    monkeypatch.setattr(_dynamics_training, "load_splits", lambda *_: splits)
    yield splits
    _dynamics_training._data.cache_clear()


@pytest.mark.parametrize(("method", "beta"), [("beta-nll", 0.0), ("mse", None)])
def test_probabilities_are_kept_at_six_times(fetch, method, beta):
    settings = {**SMALL, "dataset": FETCH, "n_episodes": None, "epochs": 100}
    rows = train(**{**settings, "method": method, "beta": beta})
    kept = [row for row in rows if row["kind"] == "probability"]
    assert [row["update"] for row in kept] == [1, 3, 6, 16, 40, 100]
    for row in kept:
        assert sum(row["counts"]) == 300 * 3
    x, y = fetch.train.x, fetch.train.y
    x, y = (x - x.mean(0)) / x.std(0), (y - y.mean(0)) / y.std(0)
    net = MLP(4, (8, 8), "tanh", "lecun")
    objective = BetaNLL(0.0) if method == "beta-nll" else MSE()
    options = {"batch_size": 256, "max_epochs": 100, "seed": 2}
    there = fit(
        net, objective, x, y, optimizer=optimizer(learning_rate=1e-3), **options
    ).predict(x)
    weights = 1 / (there.std if method == "beta-nll" else there.mean - y) ** 2
    decades = np.log10(weights / weights.sum(axis=0))
    expected, _ = np.histogram(decades, PROBABILITY_EDGES)
    # A point at the edge of a bin may fall to either side.
    assert np.abs(np.subtract(kept[-1]["counts"], expected)).sum() <= 4


@pytest.mark.parametrize(
    ("method", "beta"), [("beta-nll", 0.0), ("mse", None), ("student-t", None)]
)
def test_a_training_that_diverges_at_once_has_a_row(fetch, method, beta):
    settings = {**SMALL, "dataset": FETCH, "n_episodes": None, "learning_rate": 1e30}
    row, *others = train(**{**settings, "method": method, "beta": beta})
    assert (row["status"], row["best_epoch"], row["score"]) == ("diverged", 0, None)
    assert {other["kind"] for other in others} <= {"probability"}


def test_results_belong_to_the_rollouts_they_are_of(tmp_path, monkeypatch):
    monkeypatch.setenv("BETANLL_DATA", str(tmp_path))

    def source():
        (task,) = final_tasks("smoke", FETCH, Method("xvamp"), [])
        settings = dict(task.settings)
        return settings["n_rollouts"], settings["data_seed"]

    assert source() == (16_800, 0)  # not generated yet
    header = {
        "format": "betanll-fetch-1",
        "rollouts_per_shard": 50,
        "settings": {"n_rollouts": 60, "seed": 3},
        "versions": {},
    }
    (tmp_path / FETCH).mkdir()
    (tmp_path / FETCH / "fetch.json").write_text(json.dumps(header))
    assert source() == (60, 3)
    with pytest.raises(DataError, match="has 60 rollouts of seed 3, but the training"):
        _dynamics_training.load_splits(FETCH, None, 16_800, 0)


def test_other_methods_keep_no_probabilities(fetch):
    settings = {**SMALL, "dataset": FETCH, "n_episodes": None, "beta": None}
    rows = train(**{**settings, "method": "student-t"})
    assert [row["kind"] for row in rows] == ["final", "residuals"]


def test_the_floored_student_t_has_the_floor_of_a_gaussian():
    raw = jnp.array([[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, -60.0]]])
    _, shape, rate = FlooredStudentT().parameters(raw)
    _, plain_shape, plain_rate = StudentT().parameters(raw)
    np.testing.assert_array_equal(shape, plain_shape)
    squared_scale = np.asarray(rate / shape)[0]
    assert squared_scale[0] == pytest.approx(
        float((plain_rate / shape)[0, 0]), rel=1e-7
    )
    assert float((plain_rate / shape)[0, 1]) < 1e-10
    assert squared_scale[1] == pytest.approx(1e-8, rel=1e-2)
