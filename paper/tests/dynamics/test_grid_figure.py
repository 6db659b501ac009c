"""Figure 9, the scores of all configurations, from made-up results."""

import json

import numpy as np
import pytest

from betanll.reports.style import rendered, report_style
from betanll_paper.drawing.marks import NothingToDraw
from betanll_paper.drawing.strips import BEYOND, CUT_SHORT, MEDIAN, POINT
from betanll_paper.dynamics.figures import fig9
from betanll_paper.dynamics.protocol import PRESETS, search_tasks
from betanll_paper.published.dynamics import CONTROL, DATASETS, FETCH, OBJECT_SLIDE
from betanll_paper.published.methods import METHODS, SLOW, Method

NLL, MSE, HALF = Method("nll"), Method("mse"), Method("beta-nll:0.5")
SUBSTITUTE = "substitute data: scripted controller"


def of_method(rows, method):
    return [row for row in rows if Method.of_row(row) == method]


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
    return json.loads(json.dumps(rows, allow_nan=False))


def without_score(row):
    """Return a row of the grid as it is if a training diverged at once."""
    left = {n: v for n, v in row.items() if not n.startswith("validation")}
    return {**left, "score": None, "best_epoch": 0, "status": "diverged"}


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
            own = [r for r in of_method(rows, method) if r["dataset"] == dataset]
            rmse = sorted(row["validation_rmse"] for row in own)
            assert sorted(points(left, POINT)[y]) == rmse
            assert points(left, MEDIAN)[y] == [pytest.approx(np.median(rmse))]
            if method == MSE:
                assert y not in points(right, POINT)
            else:
                nll = sorted(-row["validation_log_likelihood"] for row in own)
                assert sorted(points(right, POINT)[y]) == nll
            assert side_labels(right)[y] == str(len(own))
        assert "no likelihood" in [text.get_text() for text in right.texts]
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
    nll, mse = of_method(rows, NLL), of_method(rows, MSE)
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
        if not of_method([row], mm) or row["n_layers"] != 4:
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
    slide, fetch = PRESETS["laptop"].length.values()
    note = fig9(searched("laptop"), "laptop").figure.get_supxlabel()
    assert note == (
        f"Shortened run (preset laptop): {slide} epochs of ObjectSlide instead of "
        f"5,000, {fetch} epochs of Fetch-PickAndPlace instead of 500, 1 seed, "
        "5 configurations instead of 96."
    )


def test_fig9_nothing_to_draw():
    with pytest.raises(NothingToDraw, match="no configuration has a result"):
        fig9([], "smoke")
    # That all have diverged is a result.
    rows = map(without_score, searched("smoke", datasets=[FETCH], methods=[NLL]))
    figure, _ = fig9(list(rows), "smoke")
    n = len(search_tasks("smoke", datasets=[FETCH], methods=[NLL]))
    assert side_labels(figure.axes[1]) == [f"{n}, {n} diverged"]


def test_no_label_is_cut_off(is_whole):
    with report_style():
        assert is_whole(fig9(searched("laptop"), "laptop").figure)
