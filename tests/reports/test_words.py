import numpy as np
import pytest

from betanll.distributions import Normal
from betanll.metrics import Scores
from betanll.reports import Column
from betanll.reports._target import TargetResult
from betanll.reports._words import (
    count_of_hundred,
    headlines,
    score_table,
    versus_guessing,
)


def scores(rmse=1.0, log_likelihood=0.0, crps=1.0, coverage=0.9):
    return Scores(rmse, log_likelihood, crps, {0.5: 0.4, 0.9: coverage}, {0.9: 2.0})


def results(make_report, *args, **kwargs):
    report = make_report(*args, **kwargs)
    return [TargetResult(report, i) for i in range(len(report.target_names))]


@pytest.mark.parametrize(
    ("inside", "n", "expected"),
    [
        (178, 200, ("89", 100)),
        (200, 200, ("100", 100)),
        (1999, 2000, ("more than 99", 100)),
        (33, 37, ("33", 37)),
        (0, 2, ("0", 2)),
    ],
)
def test_count_of_hundred(inside, n, expected):
    assert count_of_hundred(inside, n) == expected


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.38, "62% smaller"),
        (0.0012, "99.88% smaller"),
        (0.0, "100% smaller"),
        (1.001, "equal"),
        (1.25, "25% larger"),
        (3.0, "3 times larger"),
        (float("nan"), "–"),
    ],
)
def test_versus_guessing(ratio, text):
    assert versus_guessing(ratio) == text


def test_headlines_by_hand(make_report):
    # errors of 1 against truths that lie 2 from their average; all intervals hold
    target = np.array([[0.0], [4.0], [0.0], [4.0]])
    predictive = Normal(target + 1, np.ones_like(target))
    (result,) = results(
        make_report,
        n=4,
        target=target,
        predictive=predictive,
        interval=predictive.interval(0.9),
    )
    error, coverage, gain = headlines([result])
    assert error.value == "1"
    assert coverage.value == "4 of 4"
    assert "Of 4 90% intervals, 4 held the truth. The aim is 3.6" in coverage.text
    assert gain.value == "50% smaller"
    assert "is off by 2." in gain.text


def test_headlines_of_several_targets_are_of_the_worst(make_report):
    error, coverage, gain = headlines(results(make_report, d=3, is_missing=True))
    assert (error.value, error.label) == ("3", "targets")
    assert coverage.value.endswith("of 100")
    assert gain.value.endswith("smaller")
    # One too careful, one too sure and worse than the average, one never seen.
    target = np.tile([[1.0], [-1.0]], (100, 3))
    target[:, 2] = np.nan
    mean = np.zeros_like(target)
    mean[:, 1] = 3.0
    spread = np.tile([9.0, 0.01, 1.0], (200, 1))
    predictive = Normal(mean, spread)
    _, coverage, gain = headlines(
        results(
            make_report,
            d=3,
            n=200,
            target=target,
            predictive=predictive,
            interval=predictive.interval(0.9),
        )
    )
    assert coverage.value == "0 of 100"
    assert coverage.text.startswith("For target 1, the target farthest from the aim.")
    assert gain.value == "3.162 times larger"  # the root of (16 + 4) / 2
    assert gain.text.startswith("For target 1, the worst of the targets.")


def test_headlines_without_variation_or_values(make_report):
    constant = results(make_report, target=np.ones((400, 1)))
    assert [h.value for h in headlines(constant)][2] == "–"
    missing = results(make_report, target=np.full((400, 1), np.nan))
    assert [h.value for h in headlines(missing)] == ["–", "–", "–"]


def marks_of(table):
    """Return by row which columns are marked as the best."""
    return {
        name: [cell.mark == "best" for cell in cells] for name, *cells in table.rows
    }


def test_best_of_each_column_is_marked():
    table = score_table(
        {
            "model": scores(rmse=1.0, log_likelihood=-1.0, crps=2.0, coverage=0.95),
            "other": scores(rmse=2.0, log_likelihood=-0.5, crps=2.0, coverage=0.88),
        }
    )
    # equal values are both best; the width has no best
    assert marks_of(table) == {
        "model": [True, False, True, False, False],
        "other": [False, True, True, True, False],
    }
    _, *cells = table.rows[0]
    assert [cell.text for cell in cells] == ["1", "−1", "2", "95.0%", "2"]
    assert table.columns[4] == Column("Held by 90% intervals", "90% is best")


def test_table_of_one_model_or_with_gaps():
    assert not any(marks_of(score_table({"model": scores()}))["model"])
    nan = float("nan")
    gaps = Scores(1.0, nan, nan, {}, {})
    table = score_table({"model": scores(), "point": gaps})
    assert [cell.text for cell in table.rows[1][1:]] == ["1", "–", "–", "–", "–"]
    assert marks_of(table)["model"] == [True] * 4 + [False]
    table = score_table({"a": gaps, "b": gaps})
    assert table.rows[0][2].text == "–"
