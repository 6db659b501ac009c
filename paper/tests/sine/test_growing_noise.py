"""The sine with growing noise, and what figure 8 says of it."""

import json
import math

import numpy as np
import pytest

from betanll.datasets import heteroscedastic_sine, heteroscedastic_sine_truth
from betanll.networks import MLP
from betanll.training import fit, optimizer
from betanll_paper.sine.growing_noise import (
    GRID_X,
    METHODS,
    heteroscedastic_tasks,
    train,
)
from betanll_paper.sine.growing_noise_figures import fig8, trials_of
from betanll_paper.sine.training import settings_of

TRUE_STD = heteroscedastic_sine_truth(GRID_X).std
NLL = {"objective": "nll", "beta": None, "seed": 1, "epochs": 40}


def test_the_best_epoch_of_a_plain_fit():
    (row,) = train(**NLL, learning_rate=1e-3)
    result = fit(
        MLP(1, (50,), "tanh", initialiser="lecun"),
        "nll",
        *heteroscedastic_sine(500, seed=0),
        validation=heteroscedastic_sine(500, seed=1),
        optimizer=optimizer(learning_rate=1e-3),
        batch_size=100,
        max_epochs=40,
        validate_every=40,
        seed=1,
    )
    there = result.predict(GRID_X[:, None])
    np.testing.assert_allclose(row["mean"], there.mean[:, 0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(row["std"], there.std[:, 0], rtol=1e-4)
    assert row["validation_nll"] == pytest.approx(result.best_score)
    assert row["best_epoch"] == 40


def test_divergence_is_null():
    (row,) = train(**NLL, learning_rate=1e30)
    assert row["mean"] is row["std"] is row["validation_nll"] is None
    json.dumps(row, allow_nan=False)


def test_tasks():
    for preset, n_trials, epochs in (("laptop", 10, 20_000), ("paper", 10, 20_000)):
        settings = [dict(task.settings) for task in heteroscedastic_tasks(preset)]
        assert len(settings) == 5 * 2 * n_trials
        assert {one["epochs"] for one in settings} == {epochs}
        assert {one["learning_rate"] for one in settings} == {1e-4, 1e-3}
    assert [method.short_label for method in METHODS] == [
        *("NLL", "β-NLL 0.25", "β-NLL 0.5", "β-NLL 1", "MM")
    ]


def made_up():
    """Return rows whose std is a multiple of the truth inside [0, 10]."""
    factors = {"NLL": 1.0, "β-NLL 0.25": 1.1, "β-NLL 0.5": 0.9, "β-NLL 1": 1.0}
    factors["MM"] = math.sqrt(2 / math.pi)
    rows = []
    for task in heteroscedastic_tasks("smoke"):
        one = dict(task.settings)
        method = next(
            m
            for m in METHODS
            if settings_of(m) == {name: one[name] for name in ("objective", "beta")}
        )
        factor = factors[method.short_label] * (
            2 if one["learning_rate"] == 1e-4 else 1
        )
        std = factor * TRUE_STD
        # Outside it is something else, which must not count.
        std = np.where((GRID_X < 0) | (GRID_X > 10), 99.0, std)
        rows.append(
            {
                "kind": "heteroscedastic",
                **one,
                "validation_nll": 1.0 - 0.1 * one["seed"] + (factor > 1.5),
                "mean": [0.0] * len(GRID_X),
                "std": std.tolist(),
            }
        )
    return rows


def test_ratios_by_hand():
    _, tables = fig8(made_up(), "smoke")
    table = tables["-ratios"].set_index(["label", "learning_rate"])
    assert len(table) == 10
    # The better learning rate of each objective is shown.
    assert table.query("is_shown").index.get_level_values(1).tolist() == [1e-3] * 5
    for label, ratio in (("β-NLL 0.25", 1.1), ("β-NLL 0.5", 0.9), ("MM", 0.797885)):
        assert table.loc[(label, 1e-3), "ratio_to_nll"] == pytest.approx(ratio)
        assert table.loc[(label, 1e-3), "ratio_to_truth"] == pytest.approx(ratio)
        # Of the NLL with the same learning rate.
        assert table.loc[(label, 1e-4), "ratio_to_nll"] == pytest.approx(ratio)
        assert table.loc[(label, 1e-4), "ratio_to_truth"] == pytest.approx(2 * ratio)
    assert table.loc[("MM", 1e-3), "n_trials"] == 2


def test_the_best_trial_is_drawn():
    figure, tables = fig8(made_up(), "smoke")
    assert set(tables[""]["best_trial"]) == {1}
    assert len(tables[""]) == 5 * len(GRID_X)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[0] == "a) NLL, learning rate 0.001"
    assert titles[5].startswith("f)")
    assert all(ax.get_xlim() == (-4, 14) for ax in figure.axes)
    assert "40 epochs instead of 20,000" in figure.get_supxlabel()
    np.testing.assert_allclose(tables[""]["true_std"][: len(GRID_X)], TRUE_STD)


def test_spread_over_trials_is_that_of_a_sample():
    # Two trials a and b: their standard deviation is |a - b| / sqrt(2).
    rows = made_up()
    for row in rows:
        row["std"] = [(1 + 0.3 * row["seed"]) * std for std in row["std"]]
    _, tables = fig8(rows, "smoke")
    fits = tables[""]
    np.testing.assert_allclose(
        fits["std_std"], 0.3 / 1.15 / math.sqrt(2) * fits["std_mean"]
    )
    ratios = tables["-ratios"]
    np.testing.assert_allclose(
        ratios["ratio_to_truth_std"],
        0.3 / 1.15 / math.sqrt(2) * ratios["ratio_to_truth"],
    )


def test_an_objective_that_diverged_leaves_its_panel_empty():
    rows = [
        row | ({"std": None, "mean": None} if row["objective"] == "nll" else {})
        for row in made_up()
    ]
    assert trials_of(rows)[METHODS[0]] == []
    figure, tables = fig8(rows, "smoke")
    assert figure.axes[0].get_title() == "a) NLL"
    assert tables["-ratios"]["ratio_to_nll"].isna().all()
