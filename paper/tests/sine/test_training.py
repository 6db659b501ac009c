"""Long trainings on the sine, against a plain fit and formulas by hand."""

import functools
import json

import numpy as np
import pytest

from betanll.datasets import sine
from betanll.networks import MLP
from betanll.sweeps import Request
from betanll.training import fit, optimizer
from betanll_paper.rows import log_spaced, plain, rounded
from betanll_paper.sine import SineFigures
from betanll_paper.sine.training import (
    CURVES,
    FIT_X,
    JACOBIAN_X,
    PRESETS,
    RADII,
    curve_tasks,
    first_nll_task,
    fit_updates_of,
    further_nll_tasks,
    sine_task,
    train,
)

PRESET_NAMES = ("smoke", "laptop", "paper")


@functools.cache
def rows_of(task):
    return task.run()


@pytest.fixture(scope="module")
def rows():
    """The rows of the detailed training of the smallest preset."""
    return rows_of(first_nll_task("smoke")[0])


def trained(epochs):
    """Return a plain fit of so many epochs of ten updates."""
    x, y = sine(seed=0)
    return fit(
        *(MLP(1, (128, 128), "tanh"), "nll", x, y),
        optimizer=optimizer(learning_rate=5e-4),
        batch_size=100,
        max_epochs=epochs,
        seed=0,
    )


def figure_tasks(names, preset):
    return SineFigures().tasks(Request(tuple(names), preset), None)


def of(rows, kind, **values):
    return [
        row
        for row in rows
        if row["kind"] == kind and all(row[k] == v for k, v in values.items())
    ]


def test_errors_are_those_of_the_last_parameters_on_other_noise(rows):
    x, target = sine(seed=1)
    predictive = trained(30).predict(x)
    mean, std = predictive.mean, predictive.std
    rmse = np.sqrt(np.mean((mean - target) ** 2))
    density = -0.5 * ((target - mean) / std) ** 2 - np.log(std * np.sqrt(2 * np.pi))
    (summary,) = of(rows, "summary")
    assert summary["rmse_last"] == pytest.approx(rmse, rel=1e-4)
    assert summary["log_likelihood_last"] == pytest.approx(density.mean(), rel=1e-3)
    assert (summary["status"], summary["updates"]) == ("completed", 300)
    # Evaluated after each epoch; the best is the best of all.
    (curve,) = of(rows, "curve")
    assert curve["update"][:3] == [10, 20, 30]
    assert curve["update"][-1] == 300
    assert curve["rmse"][-1] == pytest.approx(rmse, rel=1e-4)
    assert summary["rmse_best"] == pytest.approx(min(curve["rmse"]), rel=1e-4)
    at = curve["update"].index(summary["rmse_best_update"])
    assert curve["rmse"][at] == min(curve["rmse"])
    early = trained(2).predict(x).mean
    early_rmse = np.sqrt(np.mean((early - target) ** 2))
    assert curve["rmse"][1] == pytest.approx(early_rmse, rel=1e-4)


def test_fits_are_predictions_at_their_update(rows):
    fits = of(rows, "fit")
    assert [row["update"] for row in fits] == fit_updates_of(300) == [1, 6, 300]
    there = trained(30).predict(FIT_X[:, None])
    np.testing.assert_allclose(fits[-1]["mean"], there.mean[:, 0], atol=1e-4)
    np.testing.assert_allclose(fits[-1]["std"], there.std[:, 0], rtol=1e-3)


def test_probabilities_are_of_all_points_and_each_fifth_is_kept(rows):
    (row,) = of(rows, "probability", update=10)
    x, _ = sine(seed=0)
    weight = 1 / trained(1).predict(x).std[:, 0] ** 2
    probability = weight / weight.sum()
    assert (len(probability), len(row["values"])) == (1000, 200)
    assert probability.sum() == pytest.approx(1)
    np.testing.assert_allclose(row["values"], probability[::5], rtol=1e-3)
    # So the thinned ones sum up to nearly a fifth at any time.
    for row in of(rows, "probability"):
        assert 5 * sum(row["values"]) == pytest.approx(1, abs=0.02)


def test_jacobian_variances_by_hand(rows):
    (w1, b1), (w2, b2) = (
        (np.asarray(layer["weight"]), np.asarray(layer["bias"]))
        for layer in trained(1).params[:2]
    )
    h1 = np.tanh(w1 @ JACOBIAN_X[None] + b1)
    h2 = np.tanh(w2 @ h1 + b2)
    jacobian = (1 - h2**2) * (w2 @ ((1 - h1**2) * w1))
    found = of(rows, "jacobian", update=10)
    assert [row["radius"] for row in found] == list(RADII)
    for row in found:
        distance = np.abs(JACOBIAN_X[:, None] - JACOBIAN_X)
        expected = [
            np.var(jacobian[:, near], axis=1).mean()
            for near in distance <= row["radius"]
        ]
        np.testing.assert_allclose(row["values"], expected, rtol=0.02, atol=1e-9)


def test_rows_are_plain_and_know_their_task(rows):
    (task,) = first_nll_task("smoke")
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    for row in rows:
        assert {name: row[name] for name, _ in task.settings} == dict(task.settings)
    # A million bytes at most for the longest one: 50 times of 200 points.
    n_snapshots = len(of(rows, "probability"))
    assert n_snapshots == len(log_spaced(10, 300, per_decade=8)) + 2
    assert len(json.dumps(rows)) / n_snapshots < 20_000


def test_a_training_that_diverges_is_told_without_numbers(monkeypatch):
    monkeypatch.setattr("betanll_paper.sine.training.LEARNING_RATE", 1e30)
    rows = train(objective="nll", beta=None, seed=0, updates=300, detailed=True)
    (summary,) = of(rows, "summary")
    assert summary["status"] == "diverged"
    assert summary["rmse_last"] is None
    assert summary["log_likelihood_last"] is None
    json.dumps(rows, allow_nan=False)


def test_mse_has_no_likelihood_and_no_std():
    rows = rows_of(sine_task(CURVES[1], 0, "smoke"))
    assert [row["kind"] for row in rows] == ["summary", "curve", "fit"]
    summary, curve, last = rows
    assert summary["log_likelihood_last"] is summary["log_likelihood_best"] is None
    assert curve["log_likelihood"] is last["std"] is None
    assert summary["rmse_last"] > 0


@pytest.mark.parametrize("preset", PRESET_NAMES)
def test_figures_share_trainings(preset):
    first = {task.key for task in figure_tasks(["fig1"], preset)}
    for name in ("fig2", "fig3", "fig4", "fig5", "figS1"):
        keys = {task.key for task in figure_tasks([name], preset)}
        assert keys
        assert keys <= first
    assert figure_tasks(["fig3"], preset) == figure_tasks(["fig4", "fig5"], preset)
    assert figure_tasks(["fig7"], preset) == figure_tasks(["figS3"], preset)


def test_budgets_of_the_presets():
    paper, laptop = PRESETS["paper"], PRESETS["laptop"]
    assert (paper.repeats, laptop.repeats) == (10, 4)
    assert set(paper.length.values()) == {10**7}
    assert laptop.length == {"NLL": 2 * 10**6, "": 5 * 10**5}
    settings = [dict(task.settings) for task in curve_tasks("paper")]
    assert len({task.key for task in curve_tasks("paper")}) == 40
    assert {one["updates"] for one in settings} == {10**7}
    # The heavy records are of one training.
    assert [one["seed"] for one in settings if one["detailed"]] == [0]
    seeds = [dict(task.settings)["seed"] for task in further_nll_tasks("paper")]
    assert seeds == [1, 2, 3]
    assert fit_updates_of(2 * 10**6) == [1_000, 10_000, 500_000]


def test_plain_numbers():
    assert plain(np.float32(0.5)) == 0.5
    assert plain(np.inf) is plain(np.nan) is None
    assert rounded(np.array([[1.23456789e-7, np.nan]])) == [1.23457e-7, None]
    assert log_spaced(10, 10, per_decade=8) == [10]
    assert log_spaced(20, 10, per_decade=8) == [10]
    spaced = log_spaced(10, 10**7, per_decade=8)
    assert (spaced[0], spaced[-1], len(spaced)) == (10, 10**7, 49)
