import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from betanll.distributions import Mixture, Normal, StudentT
from betanll.reports import Finding, Picture, sine_figure
from betanll.reports.style import format_number


def panel(text="Look at this."):
    figure = Figure(figsize=(5, 2))
    figure.subplots().plot([0, 1], [0, 1], label="line")
    return Picture(figure, "First things first", text)


def test_report_tells_the_story(make_report, parse):
    report = make_report(introduction=[panel()])
    document = parse(report.html())
    for part in (
        "House prices",
        "First things first",
        "Look at this.",
        "typical error",
        "Of 100 90% intervals,",
        "smaller error than always guessing the average",
        "✓ Good: Predictions are far better than guessing.",
        "i Note: Intervals",
        "! Warning: Three rows",
        "★ best:",
        "A negative value is normal",
        "beta-nll, beta 0.5 81%",
        "objective beta-nll",
        report.command.strip(),
    ):
        assert part in document.text, part
    # five figures of the target, three curves, a panel and two bars, all with names
    images = [attrs for attrs in document.all("svg") if attrs["role"] == "img"]
    assert len(images) == 5 + 3 + 1 + 2
    assert len({attrs["aria-label"] for attrs in images}) == len(images)
    assert len(document.all("figcaption")) == 9


def test_report_is_self_contained_and_small(make_report, parse):
    html = make_report(d=6, n=5000, introduction=[panel()]).html()
    assert len(html.encode()) < 1_000_000
    document = parse(html)
    assert not document.all("script")
    assert not document.all("img")
    assert [a["href"] for a in document.all("link")] == ["data:,"]
    assert "http:" not in html
    assert "https:" not in html
    assert not re.search(r"url\((?!#)|@import", html)
    (policy,) = [
        attrs["content"]
        for attrs in document.all("meta")
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'")
    ids = [attrs["id"] for _, attrs in document.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_same_report_same_bytes(make_report):
    one, two = (make_report(introduction=[panel()]).html() for _ in range(2))
    assert one == two


def test_texts_of_the_user_are_escaped(make_report, parse):
    evil = "<script>alert('$x_1$')</script> & \"quotes\" 価格"
    report = make_report(
        title=evil,
        target_names=[evil],
        scores={evil: next(iter(make_report().scores[0].values()))},
        findings=[Finding("note", evil)],
        sample_fractions={evil: 0.5},
        configuration={evil: evil},
        command=evil,
        introduction=[panel(evil)],
    )
    html = report.html()
    assert "<script" not in html
    document = parse(html)
    # title twice, name, scores, finding, fraction, configuration twice, command, panel
    assert document.text.count(evil) == 10


def test_sections_of_targets_are_limited(make_report, parse):
    html = make_report(d=8, n=50, history={}).html()
    document = parse(html)
    assert "Figures are shown for the first 6 of 8 targets" in document.text
    assert len(document.all("figure")) == 6 * 5
    # the overview and the scores have them all
    assert '<th scope="row">target 7</th>' in html
    assert "<h3>target 7</h3>" in html
    names = [attrs["aria-label"] for attrs in document.all("svg")]
    assert len(set(names)) == len(names)


def test_each_target_is_scored_in_its_own_unit(make_report, parse):
    report = make_report(d=2, n=60, target_names=["grams", "mm"], history={})
    html = report.html()
    document = parse(html)
    for name in report.target_names:
        assert f'aria-label="Scores of the models, {name}"' in html
    for scores in report.scores:
        assert format_number(scores["This model"].rmse) in document.text
    assert document.text.count("★ best:") >= 4
    # one target needs no headings
    assert "Scores of the models," not in make_report(n=60, history={}).html()


def test_adjusted_intervals_are_told(make_report, parse):
    plain, wide = make_report(history={}), make_report()
    wide = make_report(
        interval=wide.target[:, None] + np.array([-9.0, 9.0])[:, None], history={}
    )
    for report, is_told in ((plain, False), (wide, True)):
        text = parse(report.html()).text
        assert ("The diamond is the 90% interval" in text) is is_told
        assert ("intervals as they were before adjustment" in text) is is_told


def test_infinite_intervals(make_report, parse):
    report = make_report(n=50)
    some, lower, every = (report.interval.copy() for _ in range(3))
    some[:3, 0], some[:3, 1] = -np.inf, np.inf
    lower[:, 0] = -np.inf
    every[:, 0], every[:, 1] = -np.inf, np.inf
    text = parse(make_report(n=50, interval=some, history={}).html()).text
    assert "3 of 50 are infinite and not drawn" in text
    for interval in (lower, every):
        text = parse(make_report(n=50, interval=interval, history={}).html()).text
        assert "no interval is finite" in text
        assert "50 of 50 are infinite" in text
    assert "Of 50 90% intervals, 50 held the truth" in text


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("n", [2, 200])
def test_any_scale(make_report, parse, scale, n):
    document = parse(make_report(n=n, scale=scale, history={}).html())
    power = "10⁻³" if scale < 1 else "10³"
    assert power in document.text
    # no long tails of zeros
    assert not re.search(r"0{12}", document.text)


@pytest.mark.parametrize("value", [0.0, 1.0, -1e30, 1e-30])
def test_constant_targets(make_report, parse, value):
    target = np.full((30, 1), value)
    spread = np.full((30, 1), abs(value) or 1.0)
    for mean in (target, target + spread):
        predictive = Normal(mean, spread)
        report = make_report(
            n=30,
            target=target,
            predictive=predictive,
            interval=predictive.interval(0.9),
            history={},
        )
        text = parse(report.html()).text
        assert "The held-out values are all equal" in text


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows(make_report, parse, n):
    text = parse(make_report(n=n, d=2, history={}).html()).text
    assert f"Of {n} 90% intervals" in text


def test_missing_targets(make_report, parse):
    report = make_report(d=2, n=300, is_missing=True)
    n_known = int(np.sum(~np.isnan(report.target)))
    assert f"{n_known:,} held-out values" in parse(report.html()).text
    # a target that was never observed
    target = report.target.copy()
    target[:, 1] = np.nan
    document = parse(make_report(d=2, n=300, target=target, history={}).html())
    assert "There are no held-out values of this target." in document.text
    assert len(document.all("figure")) == 5


def test_optional_parts_may_be_empty(make_report, parse):
    document = parse(
        make_report(
            scores={},
            findings=[],
            history={},
            sample_fractions={},
            configuration={},
            command="",
        ).html()
    )
    assert "No training history was recorded." in document.text
    assert "Against simpler models" not in document.text
    report = make_report()
    first = dict([next(iter(report.scores[0].items()))])
    text = parse(make_report(scores=first).html()).text
    assert "No simpler model was compared." in text
    assert "★" not in text


def test_history_may_have_gaps(make_report, parse):
    nan = np.full(3, np.nan)
    history = {
        "epoch": np.array([10, 20, 30]),
        "train_loss": np.array([np.inf, 1.0, 0.5]),
        "validation_nll": nan,
        "validation_mse": nan,
    }
    text = parse(make_report(history=history).html()).text
    assert "Loss during training" in text
    assert "Error during training" not in text
    # no epochs; one record; a start that is far off
    for history in (
        {"train_loss": [3.0, 2.0]},
        {"epoch": [1], "validation_nll": [-1.0], "validation_mse": [0.0]},
        {"epoch": range(100), "validation_nll": [1e9, *np.linspace(2, 1, 99)]},
        {"epoch": [], "train_loss": []},
    ):
        make_report(n=2, history=history).html()


def test_other_distributions(make_report):
    report = make_report(n=60)
    mean, std = report.predictive.mean, report.predictive.std
    heavy = StudentT(np.full_like(mean, 1.5), mean, std)
    for predictive in (heavy, Mixture([report.predictive, heavy])):
        report = make_report(
            n=60,
            predictive=predictive,
            interval=predictive.interval(0.9),
            history={},
        )
        report.html()


def test_wrong_shapes_raise(make_report):
    report = make_report(d=2, n=10)
    for fields, message in (
        ({"target": report.target[:, 0]}, r"must both have the shape \(n, d\)"),
        ({"target": report.target[:5]}, r"got \(5, 2\) and \(10, 2\)"),
        ({"interval": report.interval[..., 0]}, r"must have shape \(10, 2, 2\)"),
        ({"target_names": ["a"]}, "1 names were given for 2 targets"),
        ({"scores": report.scores[0]}, "scores of 1 targets were given for 2"),
        (
            {"predictive": Normal(np.full((10, 2), np.nan), np.ones((10, 2)))},
            "means that are not finite",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            make_report(d=2, n=10, **fields)


def test_sine_figure_may_be_narrow():
    x = np.linspace(0, 1, 50)[:, None]
    predictions = {"fit": Normal(x, np.ones_like(x))}
    assert sine_figure(x, x, predictions).get_figwidth() == 9
    assert sine_figure(x, x, predictions, width=5).get_figwidth() == 5
