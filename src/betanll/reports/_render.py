"""A report as one HTML document."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from betanll import __version__
from betanll.metrics import Scores
from betanll.reports import _figures
from betanll.reports._report import LEVEL, FitReport, TargetResult
from betanll.reports._svg import inline_svg
from betanll.reports._words import (
    count_of_hundred,
    headlines,
    score_table,
    versus_guessing,
)
from betanll.reports.pages import environment
from betanll.reports.style import format_number

#: Targets with figures of their own; the summary counts all.
MAX_TARGETS = 6


class Plot(NamedTuple):
    title: str
    svg: Markup
    caption: str


class Ink:
    """Draws figures with numbered ids."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __call__(self, title: str, figure: Figure, label: str, caption: str) -> Plot:
        svg = inline_svg(figure, prefix=f"f{next(self._numbers)}", label=label)
        return Plot(title, svg, caption)


def render_report(report: FitReport) -> str:
    """Return the report as one HTML document that needs nothing else.

    It holds no script and asks nothing of the network. The same report gives the same
    text. Write it with the encoding UTF-8.

    Parameters
    ----------
    report : FitReport

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from betanll.distributions import Normal
    >>> from betanll.metrics import evaluate
    >>> from betanll.reports import FitReport, render_report
    >>> y = np.random.default_rng(0).normal(size=(200, 1))
    >>> predictive = Normal(np.zeros_like(y), np.ones_like(y))
    >>> html = render_report(
    ...     FitReport(
    ...         title="Noise",
    ...         target_names=["noise"],
    ...         target=y,
    ...         predictive=predictive,
    ...         interval=predictive.interval(0.9),
    ...         scores={"model": evaluate(predictive, y)},
    ...         findings=[],
    ...         history={},
    ...         sample_fractions={},
    ...         configuration={"objective": "nll"},
    ...         command="betanll fit noise.csv",
    ...     )
    ... )
    >>> html.splitlines()[0]
    '<!doctype html>'
    """
    ink = Ink()
    results = [TargetResult(report, i) for i in range(len(report.target_names))]
    template = environment("betanll.reports").get_template("report.html")
    return template.render(
        report=report,
        introduction=[
            ink(panel.title, panel.figure, panel.title, panel.text)
            for panel in report.introduction
        ],
        headlines=headlines(results),
        overview=_overview(results) if len(results) > 1 else [],
        sections=[(r, _target_plots(ink, r)) for r in results[:MAX_TARGETS]],
        n_targets=len(results),
        tables=[
            (result.name, table, _is_table_unadjusted(scores, result))
            for result, scores in zip(results, report.scores, strict=True)
            if (table := score_table(scores)) is not None
        ],
        curves=_curves(ink, report),
        fractions=[
            (label, float(np.clip(100 * fraction, 0, 100)))
            for label, fraction in report.sample_fractions.items()
        ],
        level=f"{100 * LEVEL:.0f} %",
        version=__version__,
    )


def _is_table_unadjusted(scores: Mapping[str, Scores], result: TargetResult) -> bool:
    """Whether the model's scores count other intervals than those of the report."""
    own = next(iter(scores.values()))
    if not result.n or LEVEL not in own.coverage:
        return False
    return abs(own.coverage[LEVEL] - result.n_inside / result.n) > 0.005


def _overview(results: list[TargetResult]) -> list[tuple[str, list[str]]]:
    """Return a row of texts for each target."""
    rows = []
    for result in results:
        count, total = count_of_hundred(result.n_inside, result.n)
        texts = [
            format_number(result.rmse),
            format_number(result.guess_rmse),
            versus_guessing(result.error_ratio),
            f"{count} of {total}" if total else "–",
            f"{result.n:,}",
        ]
        rows.append((result.name, texts))
    return rows


def _target_plots(ink: Ink, result: TargetResult) -> list[Plot]:
    if not result.n:
        return []
    count, total = count_of_hundred(result.n_inside, result.n)
    held = f"{count} of {total} intervals held the truth"
    shown = ""
    if result.n > _figures.MAX_POINTS:
        shown = f" Drawn are {_figures.MAX_POINTS} of {result.n:,} rows."
    adjusted = ""
    if result.is_adjusted:
        adjusted = (
            " The diamond is the 90 % interval of this report, which was adjusted "
            "after training; the curve is the model without the adjustment."
        )
    n_infinite = result.n - len(_figures.finite_widths(result))
    infinite = ""
    if n_infinite:
        infinite = f" {n_infinite:,} of {result.n:,} are infinite and not drawn."
    return [
        ink(
            "Prediction and truth",
            _figures.interval_figure(result),
            f"Predictions of {result.name} against the truth: {held}",
            "Each point is a held-out row; the closer to the dashed line, the better. "
            "The grey bar is its 90 % interval. A cross marks a row whose truth lies "
            f"outside.{shown}",
        ),
        ink(
            "Are the intervals honest?",
            _figures.calibration_figure(result),
            f"Calibration of {result.name}: promised share against the share held",
            "For intervals from narrow to wide: the share of rows they promise to "
            "hold, and the share they held. On the dashed line the model is honest, "
            "below it too sure, above it too careful. The grey band is what chance "
            f"allows with {result.n:,} rows.{adjusted}",
        ),
        ink(
            "Where the truth falls",
            _figures.pit_figure(result),
            f"Histogram of the position of the truth in the prediction, {result.name}",
            "From 0, far below what was predicted, to 1, far above. Bars of about the "
            "same height are best. High at both ends: too sure. High in the middle: "
            "too careful. High on the right: predictions are too low; on the left: "
            "too high. The grey band is what chance allows.",
        ),
        ink(
            "How much the intervals say",
            _figures.sharpness_figure(result),
            f"Histogram of the widths of the 90 % intervals, {result.name}",
            "Narrow intervals say more, as long as they hold the truth. The dashed "
            "line is the width without a model: the range of the middle 90 % of the "
            f"held-out values.{infinite}",
        ),
        ink(
            "How large the errors are",
            _figures.residual_figure(result),
            f"Histogram of the errors, {result.name}: "
            f"typical error {format_number(result.rmse)}",
            "Sizes of the errors, on an axis that spreads small and large alike. The "
            "dashed line is the typical error. Bars far to its right are rows to look "
            "at.",
        ),
    ]


_CURVES: dict[str, tuple[str, str, Callable[[np.ndarray], np.ndarray], str]] = {
    "validation_mse": (
        "Error during training",
        "RMSE",
        np.sqrt,
        "Root of the mean squared error on the validation rows, in the units in "
        "which the network is trained. It should fall and level off; a rise means "
        "that training went on for too long.",
    ),
    "validation_nll": (
        "Likelihood during training",
        "NLL",
        np.asarray,
        "Negative log-likelihood on the validation rows, which rates prediction and "
        "uncertainty together; lower is better. A negative value is normal: it only "
        "says that the predicted spread is small compared with one unit.",
    ),
    "train_loss": (
        "Loss during training",
        "loss",
        np.asarray,
        "What the training makes small. Its value depends on the kind of loss, so "
        "compare models by the other two curves.",
    ),
}


def _curves(ink: Ink, report: FitReport) -> list[Plot]:
    plots = []
    for key, (title, ylabel, transform, caption) in _CURVES.items():
        values = np.asarray(report.history.get(key, ()), np.float64)
        epoch = np.asarray(report.history.get("epoch", range(1, len(values) + 1)))
        finite = np.isfinite(values)
        if not finite.any():
            continue
        values = transform(values[finite])
        figure = _figures.curve_figure(epoch[finite], values, ylabel=ylabel)
        label = (
            f"{title}: {ylabel} from {format_number(values[0])} "
            f"to {format_number(values[-1])}"
        )
        plots.append(ink(title, figure, label, caption))
    return plots
