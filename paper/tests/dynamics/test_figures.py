"""Figures 6 and S4, residuals and weights of dynamics models, from made-up results."""

import json

import numpy as np
import pytest
from matplotlib.patches import StepPatch

from betanll.reports.style import report_style
from betanll_paper.drawing.marks import NothingToDraw
from betanll_paper.dynamics.figures import fig6, figS4
from betanll_paper.dynamics.protocol import (
    PRESETS,
    configurations,
    final_tasks,
    search_tasks,
)
from betanll_paper.dynamics.training import PROBABILITY_EDGES, RESIDUAL_EDGES
from betanll_paper.published.dynamics import FETCH, OBJECT_SLIDE
from betanll_paper.published.methods import Method

NLL, MSE, HALF = Method("nll"), Method("mse"), Method("beta-nll:0.5")
FIG6_METHODS = (NLL, MSE, HALF)
TIMES = (4, 26, 168, 1_092, 7_080, 45_920)
SUBSTITUTE = "substitute data: scripted controller"


def is_of(row, method, **values):
    """Return whether a row belongs to a method and has these values."""
    return Method.of_row(row) == method and all(
        row[name] == value for name, value in values.items()
    )


def finished(preset, dataset, methods):
    """Return rows of the trainings with the best configurations."""
    grid = [
        {**settings, "kind": "search", "score": settings["learning_rate"]}
        for task in search_tasks(preset, datasets=[dataset], methods=methods)
        if (settings := dict(task.settings))
    ]
    rows = []
    tasks = [
        task
        for method in methods
        for task in final_tasks(preset, dataset, method, grid)
    ]
    for settings in (dict(task.settings) for task in tasks):
        final = {"kind": "final", "score": 1.0, "best_epoch": 2, "status": "completed"}
        rmse = {0.0: 0.019, None: 0.0068, 0.5: 0.0064}[settings["beta"]]
        rows.append({**settings, **final, "updates": TIMES[-1], "rmse": rmse})
        rng = np.random.default_rng(settings["seed"])
        if dataset == OBJECT_SLIDE:
            n = 30 * settings["n_episodes"]
            decades = rng.normal(-4 - len(rows) / 10, 0.5, n)
            counts = np.histogram(decades, RESIDUAL_EDGES)[0].tolist()
            rows.append({**settings, "kind": "residuals", "counts": counts})
        else:
            for spread, update in enumerate(TIMES):
                weights = np.exp(rng.normal(0, 0.1 + spread / 2, (2000, 3)))
                decades = np.log10(weights / weights.sum(axis=0))
                counts = np.histogram(decades, PROBABILITY_EDGES)[0].tolist()
                more = {"kind": "probability", "update": update, "counts": counts}
                rows.append({**settings, **more})
    return stored(rows)


def stored(rows):
    return json.loads(json.dumps(rows, allow_nan=False))


def histograms(ax):
    return [patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch)]


def vertical_lines(ax):
    """Return dashes and place of lines from bottom to top."""
    return [(line.get_linestyle(), line.get_xdata()[0]) for line in ax.lines]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def counts_of(rows, method, **values):
    (row,) = [row for row in rows if is_of(row, method, seed=1, **values)]
    return row["counts"]


def slide_rows(preset="smoke"):
    return finished(preset, OBJECT_SLIDE, FIG6_METHODS)


def test_fig6_heights_are_the_counts_of_the_first_seed():
    rows = slide_rows()
    # Of another seed there are others, and rows may come in any order.
    assert {row["seed"] for row in rows} == {1, 2}
    figure, tables = fig6(rows[::-1], "smoke")
    assert [ax.get_title() for ax in figure.axes] == [
        *("β-NLL, β = 0 (NLL)", "MSE", "β-NLL, β = 0.5")
    ]
    table = tables[""].fillna({"beta": -1}).set_index(["method", "beta"])
    for ax, method in zip(figure.axes, FIG6_METHODS, strict=True):
        counts = counts_of(rows, method, kind="residuals")
        ((values, edges, _),) = histograms(ax)
        np.testing.assert_array_equal(values, counts)
        np.testing.assert_allclose(np.log10(edges), RESIDUAL_EDGES, atol=1e-9)
        beta = -1 if method.beta is None else method.beta
        lines = table.loc[[(method.name, beta)]]
        assert lines["count"].tolist() == counts
        assert set(lines["seed"]) == {1}
        np.testing.assert_allclose(lines["log10_lower"], RESIDUAL_EDGES[:-1])
        np.testing.assert_allclose(lines["log10_upper"], RESIDUAL_EDGES[1:])
    assert "seed 1" in figure.get_suptitle()


def test_fig6_the_error_is_a_dashed_line_with_its_value():
    figure, tables = fig6(slide_rows(), "smoke")
    for ax, rmse in zip(figure.axes, (0.019, 0.0068, 0.0064), strict=True):
        assert vertical_lines(ax) == [("--", rmse)]
        assert texts(ax) == [f"RMSE {rmse}"]
    assert tables["-rmse"]["rmse"].tolist() == [0.019, 0.0068, 0.0064]
    assert tables["-rmse"]["n_outside"].tolist() == [0, 0, 0]


def test_fig6_axes_are_the_same_and_show_every_bin():
    figure, tables = fig6(slide_rows(), "smoke")
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in figure.axes}) == 1
    (low, high), (_, top) = figure.axes[0].get_xlim(), figure.axes[0].get_ylim()
    filled = tables[""].query("count > 0")
    assert low < 10 ** filled["log10_lower"].min()
    assert high > 10 ** filled["log10_upper"].max()
    assert top > filled["count"].max()
    for ax in figure.axes:
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        assert ax.get_xlabel() == "|residual| (unit of position)"


def test_fig6_what_lies_outside_the_bins_is_counted():
    rows = slide_rows()
    row = next(row for row in rows if row["kind"] == "residuals")
    row["counts"][row["counts"].index(max(row["counts"]))] -= 7
    figure, tables = fig6(rows, "smoke")
    assert sum("7 outside" in texts(ax) for ax in figure.axes) == 1
    assert sorted(tables["-rmse"]["n_outside"]) == [0, 0, 7]


def test_fig6_the_note_says_what_is_shorter():
    n_epochs = PRESETS["laptop"].length["ObjectSlide"]
    n_searched = len(configurations("laptop", OBJECT_SLIDE, NLL))
    assert fig6(slide_rows("laptop"), "laptop").figure.get_supxlabel() == (
        f"Shortened run (preset laptop): {n_epochs} epochs instead of 5,000, "
        f"1 seed, {n_searched} configurations instead of 96."
    )
    smoke = fig6(slide_rows(), "smoke").figure.get_supxlabel()
    assert "20 episodes instead of 2,000" in smoke


def test_fig6_a_training_that_diverged_or_is_missing():
    rows = slide_rows()
    short = [r for r in rows if not is_of(r, MSE, seed=1, kind="residuals")]
    with pytest.raises(NothingToDraw, match="MSE with seed 1 diverged before"):
        fig6(short, "smoke")
    none = [row for row in rows if not is_of(row, HALF)]
    with pytest.raises(NothingToDraw, match=r"β = 0.5 with seed 1 has no result"):
        fig6(none, "smoke")


def fetch_rows(preset="smoke"):
    return finished(preset, FETCH, [NLL, MSE])


def test_figS4_heights_are_the_counts_of_six_times_beside_the_oracle():
    rows = fetch_rows()
    figure, tables = figS4(rows[::-1], "smoke")
    oracle = counts_of(rows, MSE, kind="probability", update=TIMES[-1])
    table = tables[""].set_index(["series", "update"])
    for ax, update in zip(figure.axes, TIMES, strict=True):
        counts = counts_of(rows, NLL, kind="probability", update=update)
        shown = [values for values, _, _ in histograms(ax)]
        np.testing.assert_array_equal(shown, [counts, oracle])
        filled, outline = (p.get_fill() for p in ax.patches)
        assert (filled, outline) == (True, False)
        assert ax.get_title() == f"after {update:,} updates"
        assert table.loc[("nll", update)]["count"].tolist() == counts
    assert table.loc[("mse-oracle", TIMES[-1])]["count"].tolist() == oracle
    assert len(table) == 7 * 120


def test_figS4_uniform_sampling_is_marked():
    figure, _ = figS4(fetch_rows(), "smoke")
    for ax in figure.axes:
        assert vertical_lines(ax) == [(":", 1 / 2000)]
        assert texts(ax) == ["uniform 1/2000"]
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_figS4_that_the_data_is_a_substitute_and_what_is_shorter():
    figure, _ = figS4(fetch_rows("laptop"), "laptop")
    title = figure.legends[0].get_title().get_text()
    assert SUBSTITUTE in title
    assert "seed 1" in title
    epochs = PRESETS["laptop"].length["Fetch-PickAndPlace"]
    note = figure.get_supxlabel()
    assert note.startswith(
        f"Shortened run (preset laptop): {epochs} epochs instead of 500, "
    )
    assert "rollout" not in note
    fewer = [{**row, "n_rollouts": 60} for row in fetch_rows("laptop")]
    note = figS4(fewer, "laptop").figure.get_supxlabel()
    assert "60 rollouts instead of 16,800" in note


def test_figS4_probabilities_below_the_bins_are_named():
    rows = fetch_rows()
    figure, _ = figS4(rows, "smoke")
    assert figure.axes[-1].get_xlabel() == "sampling probability"
    row = next(r for r in rows if is_of(r, NLL, seed=1, kind="probability"))
    row["counts"][0] += 3
    figure, _ = figS4(rows, "smoke")
    assert "first bin: also less" in figure.axes[-1].get_xlabel()


def test_figS4_a_training_that_diverged_late_leaves_panels_empty():
    rows = [
        row
        for row in fetch_rows()
        if not (is_of(row, NLL, kind="probability") and row["update"] > 200)
    ]
    for row in rows:
        if is_of(row, NLL, kind="final"):
            row["status"] = "diverged"
    figure, _ = figS4(rows, "smoke")
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[2:] == ["after 168 updates", *["no record (diverged)"] * 3]


def test_figS4_a_training_that_diverged_at_once_or_is_missing():
    rows = fetch_rows()
    for method in (NLL, MSE):
        short = [r for r in rows if not is_of(r, method, kind="probability")]
        with pytest.raises(NothingToDraw, match="diverged before its first record"):
            figS4(short, "smoke")
        none = [row for row in rows if not is_of(row, method)]
        with pytest.raises(NothingToDraw, match="with seed 1 has no result"):
            figS4(none, "smoke")
    for row in rows:
        if is_of(row, MSE, kind="final"):
            row["status"] = "diverged"
    # Its residuals along the way are no oracle.
    with pytest.raises(NothingToDraw, match=r"MSE with seed 1 diverged$"):
        figS4(rows, "smoke")


def test_no_label_is_cut_off(is_whole):
    with report_style():
        assert is_whole(fig6(slide_rows("laptop"), "laptop").figure)
        assert is_whole(figS4(fetch_rows("laptop"), "laptop").figure)
