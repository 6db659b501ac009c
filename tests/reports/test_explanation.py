"""The explanation of a model as a part of a report."""

import math

import numpy as np
import pytest

from betanll.evaluation import (
    ColumnImportance,
    OutsideCell,
    PartialDependence,
    RowExplanation,
    TargetExplanation,
)
from betanll.evaluation._explanation import Explanation
from betanll.reports import explanation_page, reason_of
from betanll.reports._explanation import explanation_blocks
from betanll.reports._explanation_figures import dependence_figure, importance_figure


def row(**changes):
    defaults = {
        "row": 16,
        "name": "17",
        "target": "price",
        "truth": 30.0,
        "mean": 10.0,
        "std": 5.0,
        "lower": 1.8,
        "upper": 18.2,
        "z": 4.0,
        "crps": 17.2,
        "std_ratio": 2.5,
        "noise": 4.0,
        "usual_noise": 1.6,
        "noise_rank": 0.996,
        "doubt": 3.0,
        "usual_doubt": 1.2,
        "outside": (),
    }
    return RowExplanation(**(defaults | changes))


def dependence(column="size", kind="number", values=(1.0, 2.0, 5.0), labels=None):
    values = np.array(values)
    mean = 10 * values
    labels = labels or tuple(f"{value:g}" for value in values)
    shares = np.full(len(values), np.nan)
    return PartialDependence(
        column, kind, values, labels, shares, mean, mean - 3, mean + values, values
    )


IMPORTANCES = [
    ColumnImportance("size", 0.8, 0.05, 0.001, 0.002, 20.0),
    ColumnImportance("age <b>", -0.001, 0.002, 0.4, 0.03, 9.0),
    ColumnImportance("$x_1$", 0.0, 0.001, math.inf, math.nan, 9.0),
]


def explanation(n_targets=1, **changes):
    fields = {
        "importances": IMPORTANCES,
        "dependences": [
            dependence(),
            dependence("city", "category", (0.0, 1.0), ("Frankfurt am Main", "$a$")),
            dependence("sold", "date", (18262.0, 18500.0, 19000.0)),
        ],
        "worst": [row(), row(name="3", z=-1.0, std_ratio=1.0, crps=3.0)],
        "uncertain": [row(doubt=math.nan, usual_doubt=math.nan)],
    }
    names = [f"price {i}" if n_targets > 1 else "price" for i in range(n_targets)]
    targets = [TargetExplanation(name, **(fields | changes)) for name in names]
    return Explanation(targets, 300, np.arange(300), np.arange(200), 5, None, None)


def page_of(found, **options):
    return explanation_page(
        found, title="Houses", configuration={"data": "x.csv"}, command="cmd", **options
    )


def test_a_page_tells_which_columns_matter_and_why(parse):
    page = page_of(explanation(), rows=[row()])
    document = parse(page.html())
    for text in (
        "Row 17 price 10, 90% interval 1.8 to 18.2.",
        "Main reason: noise.",
        "99% of the rows have less",
        "shuffled among 200 rows, 5 times",
        "80.0 ± 5.0 %",
        "−0.1 ± 0.2 %",
        "0.400 ± 0.030",
        "age <b>",
        "From 1 to 5, the mean goes from 10 to 50 and the width of the interval from "
        "4 to 8.",
        "Lowest mean: Frankfurt am Main, 0. Highest: $a$, 10.",
        "noise, 2.5 × the typical",
        "+4.0",
        "cmd",
    ):
        assert text in document.text, text
    images = [attrs for attrs in document.all("svg") if attrs["role"] == "img"]
    assert len(images) == 1 + 3


def test_few_targets_have_figures(parse):
    document = parse(page_of(explanation(5)).html())
    assert "Which columns matter for price 0" in document.text
    assert "Which columns matter for price 3" not in document.text
    assert "The first 3 of 5 targets are explained." in document.text


def test_a_page_without_importances_has_rows(parse):
    found = explanation(importances=[], dependences=[], worst=[])
    document = parse(page_of(found).html())
    assert "Which columns matter" not in document.text
    assert "The model is least sure here" in document.text
    nothing = explanation(
        dependences=[], importances=[ColumnImportance("a", 0.0, 0.1, 0.0, 0.1, 1.0)]
    )
    assert "No column matters clearly." in parse(page_of(nothing).html()).text


def test_no_explanation_gives_no_blocks():
    assert list(explanation_blocks(None)) == []


def test_a_fit_report_has_the_section(make_report, parse):
    document = parse(make_report(explanation=explanation()).html())
    assert "shuffled among 200 held-out rows" in document.text
    assert "Which columns matter" not in parse(make_report().html()).text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "noise, 2.5 × the typical"),
        ({"doubt": 9.0}, "little data, 84 % of the variance"),
        ({"std_ratio": 1.1}, "usual"),
        ({"std_ratio": math.nan}, "usual"),
        (
            {"outside": (OutsideCell("size", "99", "seen: 1 to 5"),) * 3},
            "outside: size 99, size 99 and 1 more",
        ),
    ],
)
def test_reasons_in_a_few_words(changes, words):
    assert reason_of(row(**changes)) == words


def test_bars_that_may_be_chance_do_not_hide_the_others():
    noisy = ColumnImportance("noisy", 2.0, 1.5, 0.0, 0.1, 20.0)
    figure = importance_figure([IMPORTANCES[0], noisy])
    assert figure.axes[0].get_xlim()[1] < 1.2


def test_infinite_intervals_are_drawn_as_far_as_the_view():
    one = dependence()
    wide = one._replace(lower=one.lower - np.inf, upper=one.upper + np.inf)
    figure = dependence_figure(wide, "price", (0.0, 60.0))
    assert figure.axes[0].get_ylim() == (0.0, 60.0)
