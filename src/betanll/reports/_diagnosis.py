"""The page of the doctor's diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from betanll.diagnostics import log_residual_histogram
from betanll.evaluation import RULE, Diagnosis, TargetScores
from betanll.reports._made import how_it_was_made
from betanll.reports.page import (
    Card,
    Column,
    Finding,
    Heading,
    Page,
    Picture,
    Table,
    Text,
)
from betanll.reports.style import (
    BLUE,
    ORANGE,
    format_number,
    log_edges,
    report_style,
    use_log_scale,
)
from betanll.typing import Array

_MAX_POINTS = 1500
_SIZE = (4.6, 3.4)


@report_style()
def diagnosis_page(
    diagnosis: Diagnosis,
    *,
    title: str,
    configuration: Mapping[str, str],
    command: str,
) -> Page:
    """Return the page of a diagnosis: the verdict, the scores and the evidence.

    Parameters
    ----------
    diagnosis : Diagnosis
        From :func:`betanll.evaluation.diagnose`.
    title : str
    configuration : mapping of str to str
        What a reader should know about the data and the network.
    command : str
        What made the diagnosis.
    """
    verdict, *notes = str(diagnosis).splitlines()
    n_targets = diagnosis.target.shape[1]
    drawn = (
        f"Errors and spreads are drawn for the first of {n_targets} targets, weights "
        "for all of them together."
    )
    blocks = [
        Heading("In short"),
        *_cards(diagnosis),
        Finding("warning" if diagnosis.pitfall else "good", verdict),
        *(Finding("note", sentence) for sentence in notes),
        Heading("The same network, trained four ways"),
        Text(
            "On held-out rows, in the unit of the target. The log-likelihood of mse is "
            "from a constant spread."
        ),
        *(_scores(target, n_targets) for target in diagnosis.targets),
        Heading("Evidence"),
        *([Text(drawn)] if n_targets > 1 else []),
        *_pictures(diagnosis),
        Text(f"The rule: {RULE}"),
        *how_it_was_made(configuration, command),
    ]
    return Page(title, blocks)


def _cards(diagnosis: Diagnosis) -> list[Card]:
    return [
        Card(
            "Yes" if diagnosis.pitfall else "No",
            "does NLL starve points?",
            "Whether training with plain NLL neglects rows that the same network could "
            "learn.",
        ),
        Card(
            f"{diagnosis.effective_sample_fraction:.0%}",
            "of the rows train the mean",
            "The effective sample fraction under NLL; 100% if all rows have equal "
            "weight.",
        ),
        Card(
            f"{diagnosis.recommended_beta:g}",
            "is the recommended beta",
            "0 is plain NLL, 1 weights all rows alike.",
        ),
    ]


def _scores(target: TargetScores, n_targets: int) -> Table:
    rows = [
        [name, format_number(rmse), format_number(target.log_likelihood[name])]
        for name, rmse in target.rmse.items()
    ]
    title = target.name if n_targets > 1 else ""
    return Table(
        [
            "Objective",
            Column("RMSE", "lower is better"),
            Column("Log-likelihood", "higher is better"),
        ],
        rows,
        title=title,
        label="Scores of the objectives" + (f", {title}" if title else ""),
    )


def _pictures(diagnosis: Diagnosis) -> Iterator[Picture]:
    challenger = diagnosis.evidence.challenger
    if diagnosis.test_inputs.shape[1] == 1:
        yield Picture(
            _fit_figure(diagnosis),
            "The fits",
            "Held-out rows, with the means of NLL and of its challenger. The band is "
            "the spread of NLL, two standard deviations.",
            f"Held-out rows with the means of nll and {challenger}",
        )
    yield Picture(
        _spread_figure(diagnosis),
        "Noise or misfit?",
        "The errors of NLL and of the challenger on each held-out row, against the "
        "spread that NLL predicts. On the dashed line the error is as large as "
        "predicted. If the challenger's errors lie far below the line on the right, "
        "the spread is misfit; if they follow the line, the spread is noise.",
        f"Errors of nll and {challenger} against the spread that nll predicts",
    )
    yield Picture(
        _weight_figure(diagnosis),
        "Which rows train the mean",
        "Weight of each held-out row in NLL, relative to the average. Left of the "
        "dashed line the weight is less than a twentieth.",
        "Histogram of the weights of held-out rows under NLL",
    )
    yield Picture(
        _residual_figure(diagnosis),
        "How large the errors are",
        "Sizes of the errors on held-out rows. Two humps of NLL mean that it fits some "
        "rows and neglects others.",
        f"Histograms of the errors of nll and {challenger}",
    )


def _axes() -> tuple[Figure, Axes]:
    figure = Figure(figsize=_SIZE, layout="constrained")
    return figure, figure.subplots()


def _use_edges(ax: Axes, edges: Sequence[float]) -> None:
    ax.set_xlim(edges[0], edges[-1])
    use_log_scale(ax)


def _errors(diagnosis: Diagnosis, name: str) -> Array:
    """Return absolute errors of the first target, NaN where it is missing."""
    return np.abs(diagnosis.predictions[name].mean - diagnosis.target)[:, 0]


def _fit_figure(diagnosis: Diagnosis) -> Figure:
    figure, ax = _axes()
    order = np.argsort(diagnosis.test_inputs[:, 0])
    x = diagnosis.test_inputs[order, 0]
    ax.plot(x, diagnosis.target[order, 0], ".", color="0.55", markersize=3)
    nll = diagnosis.predictions["nll"]
    mean, std = nll.mean[order, 0], nll.std[order, 0]
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=ORANGE, alpha=0.25, lw=0)
    ax.plot(x, mean, color=ORANGE, label="nll")
    name = diagnosis.evidence.challenger
    ax.plot(x, diagnosis.predictions[name].mean[order, 0], color=BLUE, label=name)
    ax.set_xlabel(diagnosis.feature_names[0])
    ax.set_ylabel("target")
    ax.legend()
    return figure


def _spread_figure(diagnosis: Diagnosis) -> Figure:
    figure, ax = _axes()
    rows = slice(None, _MAX_POINTS)
    spread = diagnosis.predictions["nll"].std[rows, 0]
    for name, color, marker in (
        ("nll", ORANGE, "o"),
        (diagnosis.evidence.challenger, BLUE, "x"),
    ):
        errors = _errors(diagnosis, name)[rows]
        is_drawn = errors > 0
        style: dict[str, Any] = {"color": color, "markersize": 3, "alpha": 0.6}
        ax.plot(spread[is_drawn], errors[is_drawn], marker, label=name, **style)
    ends = [spread.min(), spread.max()]
    ax.plot(ends, ends, "--", color="black", lw=1)
    ax.set_xlabel("spread predicted by nll")
    ax.set_ylabel("absolute error")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: format_number(y)))
    _use_edges(ax, log_edges(spread, 1))
    ax.legend()
    return figure


def _weight_figure(diagnosis: Diagnosis) -> Figure:
    figure, ax = _axes()
    weight = diagnosis.evidence.weight
    edges = log_edges(np.append(weight, [0.02, 2.0]), 40)
    ax.hist(weight, edges, color=ORANGE)
    ax.axvline(0.05, linestyle="--", color="black", lw=1)
    ax.set_xlabel("weight relative to the average")
    ax.set_ylabel("held-out rows")
    _use_edges(ax, edges)
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    return figure


def _residual_figure(diagnosis: Diagnosis) -> Figure:
    figure, ax = _axes()
    challenger = diagnosis.evidence.challenger
    errors = {name: _errors(diagnosis, name) for name in ("nll", challenger)}
    sizes = np.concatenate(list(errors.values()))
    sizes = sizes[sizes > 0]
    edges = log_edges(sizes, 30) if sizes.size else list(np.logspace(-1, 1, 31))
    for (name, values), color in zip(errors.items(), (ORANGE, BLUE), strict=True):
        counts = log_residual_histogram(values, np.log10(edges)).counts
        ax.stairs(counts, edges, color=color, lw=1.6, label=name)
    ax.set_xlabel("absolute error")
    ax.set_ylabel("held-out rows")
    _use_edges(ax, edges)
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.legend()
    return figure
