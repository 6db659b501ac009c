"""Many settings on the sine, and the coloured tables of them."""

import json
import math

import numpy as np
import optax
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from betanll.datasets import sine
from betanll.networks import MLP
from betanll.objectives import BetaNLL
from betanll.training import fit, optimizer
from betanll_paper.drawing.marks import cell_of
from betanll_paper.sine.grid import (
    adaptive_settings,
    grid_tasks,
    optimizer_tasks,
    sgd_settings,
    train,
)
from betanll_paper.sine.grid_figures import fig7, figS2, figS3

SMALL_SGD = {
    "architecture": "2x32",
    "beta": 0.0,
    "seed": 2,
    "updates": 100,
    "optimizer": "sgd",
    "momentum": 0.9,
}


def test_numbers_are_those_of_a_plain_fit_on_other_noise():
    (row,) = train(**SMALL_SGD, learning_rate=1e-3)
    x, y = sine(seed=0)
    target = sine(seed=1).y
    result = fit(
        *(MLP(1, (32, 32), "tanh"), BetaNLL(0.0), x, y),
        optimizer=optimizer(optax.sgd, learning_rate=1e-3, momentum=0.9),
        batch_size=100,
        max_epochs=10,
        seed=2,
    )
    there = result.predict(x)
    error = target - there.mean
    nll = 0.5 * (error / there.std) ** 2 + np.log(there.std * math.sqrt(2 * math.pi))
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-5)
    assert row["nll"] == pytest.approx(nll.mean(), rel=1e-5)
    assert row["status"] == "completed"


def test_divergence_is_null():
    (row,) = train(**SMALL_SGD, learning_rate=1e30)
    assert (row["rmse"], row["nll"], row["status"]) == (None, None, "diverged")
    json.dumps(row, allow_nan=False)


def settings(tasks):
    return [dict(task.settings) for task in tasks]


def test_axes_of_the_paper():
    grid = settings(grid_tasks("paper"))
    assert len(grid) == 5 * 5 * 3 * 3
    assert {one["architecture"] for one in grid} == {
        *("2x32", "2x64", "2x128", "3x128", "3x256")
    }
    assert {one["learning_rate"] for one in grid} == {3e-5, 1e-4, 3e-4, 1e-3, 3e-3}
    assert {one["beta"] for one in grid} == {0.0, 0.5, 1.0}
    assert {one["optimizer"] for one in grid} == {"adam"}
    optimizers = settings(optimizer_tasks("paper"))
    assert len(optimizers) == (3 * 5 + (6 + 2) * 5) * 3
    assert {one["beta"] for one in optimizers} == {0.0}
    assert {one["architecture"] for one in optimizers} == {"2x128"}
    assert {one["updates"] for one in [*grid, *optimizers]} == {2_000_000}
    # The usual Adam is in both figures and is trained once.
    shared = {t.key for t in grid_tasks("paper")} & {
        t.key for t in optimizer_tasks("paper")
    }
    assert len(shared) == 5 * 3


def test_budgets_of_a_laptop():
    grid, optimizers = grid_tasks("laptop"), optimizer_tasks("laptop")
    assert (len(grid), len(optimizers)) == (4 * 3 * 3, (3 + 6 + 2) * 3)
    assert {one["updates"] for one in settings([*grid, *optimizers])} == {300_000}
    assert len({task.key for task in [*grid, *optimizers]}) == 36 + 33 - 3


def made_up(tasks, rmse=0.1):
    """Return rows of tasks; numbers are of the task, as are the wishes in `rmse`."""
    rows = []
    for one in settings(tasks):
        value = rmse(one) if callable(rmse) else rmse
        nll = None if value is None else 10 * value
        rows.append({"kind": "final", **one, "rmse": value, "nll": nll})
    return rows


def black_cells(ax):
    patches = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    black = [patch.get_xy() for patch in patches if patch.get_fc()[:3] == to_rgb("k")]
    return sorted(black)


def test_cells_are_means_and_black_where_all_trials_diverged():
    def rmse(one):
        if one["architecture"] == "3x256" and one["learning_rate"] == 3e-3:
            if one["beta"] == 0.0:
                return None
            if one["beta"] == 0.5:
                return None if one["seed"] == 0 else 0.1 * one["seed"]
        return 0.02

    rows = made_up(grid_tasks("paper"), rmse)
    for draw, name, scale in ((fig7, "rmse", 1), (figS3, "nll", 10)):
        figure, tables = draw(rows, "paper")
        left, middle, right, _ = figure.axes
        # The last column of the last line.
        assert black_cells(left) == [(4, 4)]
        assert black_cells(middle) == black_cells(right) == []
        texts = [[text.get_text() for text in ax.texts] for ax in figure.axes[:3]]
        assert texts[0][-1] == "div."
        assert texts[1][-1] == ("0.15*" if name == "rmse" else "1.5*")
        table = tables[""].set_index(["beta", "architecture", "learning_rate"])
        assert len(table) == 75
        diverged, some, none = (table.loc[(b, "3x256", 3e-3)] for b in (0.0, 0.5, 1.0))
        assert math.isnan(diverged[name])
        assert tuple(diverged[["n_trials", "n_diverged"]]) == (3, 3)
        assert some[name] == pytest.approx(0.15 * scale)
        assert none[name] == pytest.approx(0.02 * scale)
        assert not figure.get_supxlabel().startswith("Shortened")


def test_what_left_all_proportion_has_diverged():
    def rmse(one):
        return 1e7 if one["optimizer"] == "sgd" and one["momentum"] == 0.99 else 0.3

    figure, tables = figS2(made_up(optimizer_tasks("laptop"), rmse), "laptop")
    left, right, _ = figure.axes
    assert black_cells(left) == [(i, 2) for i in range(3)]
    assert black_cells(right) == []
    assert len(left.texts) == len(sgd_settings("laptop")) == 9
    assert len(right.texts) == len(adaptive_settings("laptop")) == 24
    labels = [label.get_text() for label in right.get_yticklabels()]
    assert labels[0] == "Adam 0.5, 0.9"
    assert labels[-1] == "RMSprop 0.99"
    assert tables[""]["n_diverged"].sum() == 3
    note = figure.get_supxlabel()
    assert note.startswith("Shortened run (preset laptop): 300,000 updates instead of")
    assert "1 trial instead of 3, 3 learning rates instead of 5, 3 learning" in note


def test_a_cell_without_result_is_grey():
    rows = [row for row in made_up(grid_tasks("smoke")) if row["beta"] != 0.5]
    figure, tables = fig7(rows, "smoke")
    middle = figure.axes[1]
    assert black_cells(middle) == []
    assert {text.get_text() for text in middle.texts} == {"–"}
    assert (tables[""].query("beta == 0.5")["n_trials"] == 0).all()


def test_sums_of_trials():
    assert cell_of([None, None]).is_black
    assert not cell_of([]).is_black
    assert not cell_of([None, 1.0]).is_black
