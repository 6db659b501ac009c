"""Figures of the dynamics models, from made-up results."""

import json

import numpy as np
import pytest
from matplotlib.patches import StepPatch

from betanll._style import rendered, report_style
from betanll.experiments._drawing import NothingToDraw
from betanll.experiments._dynamics import (
    CONTROL,
    PRESETS,
    SLOW,
    configurations,
    final_tasks,
    search_tasks,
)
from betanll.experiments._dynamics_figures import fig6, fig9, figS4
from betanll.experiments._dynamics_training import PROBABILITY_EDGES, RESIDUAL_EDGES
from betanll.experiments._paper import METHODS, Method
from betanll.experiments._paper_dynamics import DATASETS, FETCH, OBJECT_SLIDE
from betanll.experiments._strips import BEYOND, CUT_SHORT, MEDIAN, POINT

NLL, MSE, HALF = Method("beta-nll", 0.0), Method("mse"), Method("beta-nll", 0.5)
FIG6_METHODS = (NLL, MSE, HALF)
TIMES = (4, 26, 168, 1_092, 7_080, 45_920)
SUBSTITUTE = "substitute data: scripted controller"


def is_of(row, method, **values):
    """Return whether a row belongs to a method and has these values."""
    return Method(row["method"], row["beta"]) == method and all(
        row[name] == value for name, value in values.items()
    )


def searched(preset, *, datasets=DATASETS, methods=(*METHODS, CONTROL), change=None):
    """Return rows of the grid; `change` returns what is different in one of them."""
    rows = []
    for task in search_tasks(preset, datasets=datasets, methods=methods):
        row = dict(task.settings)
        rmse = 0.01 * (1 + row["learning_rate"] * 100 + 0.01 * row["n_layers"])
        likelihood = None if row["method"] == "mse" else 10 * rmse - 5
        row |= {"kind": "search", "score": rmse, "best_epoch": 2, "updates": 100}
        row |= {"status": "completed", "seconds": 0.1}
        row |= {"validation_rmse": rmse, "validation_log_likelihood": likelihood}
        rows.append({**row, **(change(row) if change else {})})
    return stored(rows)


def without_score(row):
    """Return a row of the grid as it is if a training diverged at once."""
    left = {n: v for n, v in row.items() if not n.startswith("validation")}
    return {**left, "score": None, "best_epoch": 0, "status": "diverged"}


def finished(preset, dataset, methods):
    """Return rows of the trainings with the best configurations."""
    grid = searched(preset, datasets=[dataset], methods=methods)
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
    n_epochs = PRESETS["laptop"].epochs[OBJECT_SLIDE]
    n_searched = len(configurations("laptop", OBJECT_SLIDE, NLL))
    assert fig6(slide_rows("laptop"), "laptop").figure.get_supxlabel() == (
        f"Shortened run (preset laptop): {n_epochs} epochs instead of 5,000, "
        f"{n_searched} configurations searched instead of 96."
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


def points(ax, kind):
    """Return the marks of a kind by the strip they are in."""
    found = {}
    for line in ax.lines:
        if line.get_label() == kind:
            strip = round(float(np.mean(line.get_ydata())))
            found.setdefault(strip, []).extend(line.get_xdata())
    return found


def side_labels(ax):
    (side,) = ax.child_axes
    return [label.get_text() for label in side.get_yticklabels()]


def test_fig9_each_configuration_is_a_point():
    rows = searched("laptop")
    figure, tables = fig9(rows, "laptop")
    assert len(figure.axes) == 4
    methods = [m for m in (*METHODS, CONTROL) if m.name not in SLOW]
    labels = [method.label for method in methods]
    for i, dataset in enumerate(DATASETS):
        left, right = figure.axes[2 * i : 2 * i + 2]
        assert [t.get_text() for t in left.get_yticklabels()] == labels
        for y, method in enumerate(methods):
            own = [row for row in rows if is_of(row, method, dataset=dataset)]
            rmse = sorted(row["validation_rmse"] for row in own)
            assert sorted(points(left, POINT)[y]) == rmse
            assert points(left, MEDIAN)[y] == [pytest.approx(np.median(rmse))]
            if method == MSE:
                assert y not in points(right, POINT)
            else:
                nll = sorted(-row["validation_log_likelihood"] for row in own)
                assert sorted(points(right, POINT)[y]) == nll
            assert side_labels(right)[y] == str(len(own))
        assert "no likelihood" in texts(right)
        assert (left.get_xscale(), right.get_xscale()) == ("log", "linear")
    assert len(tables[""]) == len(rows)
    assert list(tables[""]) == [
        *("dataset", "method", "beta"),
        *("learning_rate", "n_layers", "n_units", "activation"),
        *("validation_rmse", "validation_nll", "status"),
    ]


def test_fig9_units_and_that_the_robot_has_substitute_data():
    figure, _ = fig9(searched("smoke"), "smoke")
    slide, _, fetch, _ = figure.axes
    assert slide.get_title(loc="left") == "ObjectSlide"
    assert slide.get_xlabel() == "validation RMSE (unit of position)"
    assert fetch.get_title(loc="left") == f"Fetch-PickAndPlace ({SUBSTITUTE})"
    assert fetch.get_xlabel() == "validation RMSE (m)"


def test_fig9_one_dataset_alone():
    figure, tables = fig9(searched("smoke", datasets=[OBJECT_SLIDE]), "smoke")
    assert len(figure.axes) == 2
    assert set(tables[""]["dataset"]) == {OBJECT_SLIDE}
    assert SUBSTITUTE not in rendered(figure, "svg").decode()


def test_fig9_diverged_configurations_are_counted():
    rows = searched("paper", datasets=[OBJECT_SLIDE], methods=[NLL, MSE])
    nll = [row for row in rows if is_of(row, NLL)]
    mse = [row for row in rows if is_of(row, MSE)]
    # More than half have no score; three more diverged after they had one.
    nll[:50] = map(without_score, nll[:50])
    late = [{**row, "status": "diverged"} for row in nll[50:53]]
    nll[50:53] = late
    figure, tables = fig9([*nll, *mse], "paper")
    left, right = figure.axes
    assert side_labels(right) == ["96, 50 diverged", "96"]
    assert len(points(left, POINT)[0]) == 43
    assert sorted(points(left, CUT_SHORT)[0]) == sorted(
        row["validation_rmse"] for row in late
    )
    assert 0 not in points(left, MEDIAN)
    assert 1 in points(left, MEDIAN)
    assert (tables[""]["status"] == "diverged").sum() == 53
    assert tables[""]["validation_rmse"].isna().sum() == 50
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == [POINT, CUT_SHORT, MEDIAN]
    assert not figure.get_supxlabel().startswith("Shortened")


def test_fig9_scores_far_beyond_the_others_are_marked_at_the_end():
    mm = Method("mm")

    def change(row):
        if not is_of(row, mm, n_layers=4):
            return {}
        # As a number, and as one that JSON does not have.
        is_tanh = row["activation"] == "tanh"
        return {"validation_log_likelihood": None if is_tanh else -1e6}

    rows = searched("paper", datasets=[FETCH], methods=[NLL, HALF, mm], change=change)
    figure, tables = fig9(rows, "paper")
    right = figure.axes[1]
    end = right.get_xlim()[1]
    assert end < 10
    assert points(right, BEYOND) == {2: [end] * 32}
    assert len(points(right, POINT)[2]) == 64
    assert side_labels(right) == ["96"] * 3
    assert tables[""]["validation_nll"].max() == 1e6


def test_fig9_points_are_spread_and_in_the_same_place_each_time():
    rows = searched("paper", datasets=[OBJECT_SLIDE], methods=[HALF])
    with report_style():
        first = fig9(rows, "paper").figure
        again = fig9(rows[::-1], "paper").figure
    (line,) = [ln for ln in first.axes[0].lines if ln.get_label() == POINT]
    assert len(set(line.get_ydata())) == 96
    assert np.ptp(line.get_ydata()) == pytest.approx(0.6, abs=0.02)
    assert rendered(first, "png") == rendered(again, "png")


def test_fig9_the_note_says_what_is_shorter():
    slide, fetch = PRESETS["laptop"].epochs.values()
    note = fig9(searched("laptop"), "laptop").figure.get_supxlabel()
    start, _, end = note.rpartition(", ")
    assert start == (
        f"Shortened run (preset laptop): {slide} epochs of ObjectSlide instead of "
        f"5,000, {fetch} epochs of Fetch instead of 500"
    )
    assert end.endswith("configurations a method instead of 96.")


def test_fig9_nothing_to_draw():
    with pytest.raises(NothingToDraw, match="no configuration has a result"):
        fig9([], "smoke")
    # That all have diverged is a result.
    rows = map(without_score, searched("smoke", datasets=[FETCH], methods=[NLL]))
    figure, _ = fig9(list(rows), "smoke")
    n = len(search_tasks("smoke", datasets=[FETCH], methods=[NLL]))
    assert side_labels(figure.axes[1]) == [f"{n}, {n} diverged"]


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
    epochs = PRESETS["laptop"].epochs[FETCH]
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


def test_no_label_is_cut_off():
    with report_style():
        for figure, _ in (
            fig6(slide_rows("laptop"), "laptop"),
            fig9(searched("laptop"), "laptop"),
            figS4(fetch_rows("laptop"), "laptop"),
        ):
            figure.draw_without_rendering()
            box = figure.get_tightbbox()
            assert min(box.x0, box.y0) >= 0
            assert box.x1 <= figure.get_figwidth()
            assert box.y1 <= figure.get_figheight()
