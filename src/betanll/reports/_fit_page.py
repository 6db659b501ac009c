"""The page of a fit report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from betanll.metrics import Scores
from betanll.reports import _figures
from betanll.reports._explanation import explanation_blocks
from betanll.reports._made import how_it_was_made
from betanll.reports._target import LEVEL, TargetResult
from betanll.reports._words import (
    PERCENT,
    count_of_hundred,
    headlines,
    score_table,
    versus_guessing,
)
from betanll.reports.page import (
    Block,
    Cell,
    Column,
    Heading,
    Page,
    Picture,
    Table,
    Text,
)
from betanll.reports.style import format_number
from betanll.typing import Array

if TYPE_CHECKING:
    from betanll.reports._report import FitReport

#: Targets with figures of their own; the summary counts all.
MAX_TARGETS = 6
_UNADJUSTED = "Here the model stands with its intervals as they were before adjustment."


def fit_page(report: FitReport) -> Page:
    """Return the page of a report: the story first, how it was made last."""
    results = [TargetResult(report, i) for i in range(len(report.target_names))]
    curves: list[Block] = [*_curves(report)]
    blocks: list[Block] = [
        *report.introduction,
        Heading("In short"),
        *headlines(results),
        *report.findings,
        *_overview(results),
        *_against_simpler_models(report, results),
        *_predictions(results),
        *explanation_blocks(report.explanation),
        Heading("Training"),
        *(curves or [Text("No training history was recorded.")]),
        *_shares_of_rows(report.sample_fractions),
        *how_it_was_made(report.configuration, report.command),
    ]
    return Page(report.title, blocks)


def _overview(results: list[TargetResult]) -> Iterator[Block]:
    """Yield a table with a row for each of several targets."""
    if len(results) == 1:
        return
    columns: list[str | Column] = [
        *("Target", "Typical error", "Guessing the average", "The model’s error is"),
        Column(f"{PERCENT} intervals", "that held the truth"),
        "Held-out values",
    ]
    rows = []
    for result in results:
        count, total = count_of_hundred(result.n_inside, result.n)
        texts = [
            result.name,
            format_number(result.rmse),
            format_number(result.guess_rmse),
            versus_guessing(result.error_ratio),
            f"{count} of {total}" if total else "–",
            f"{result.n:,}",
        ]
        rows.append(texts)
    yield Table(columns, rows, label="Results by target")


def _against_simpler_models(
    report: FitReport, results: list[TargetResult]
) -> Iterator[Block]:
    if not any(report.scores):
        return
    yield Heading("Against simpler models")
    if max(map(len, report.scores)) > 1:
        yield Text(
            "A star marks the best of each column. The width has none, since narrow "
            "intervals are worth nothing if they miss the truth."
        )
    else:
        yield Text("No simpler model was compared.")
    for result, scores in zip(results, report.scores, strict=True):
        if scores:
            title = result.name if len(results) > 1 else ""
            note = _UNADJUSTED if _is_unadjusted(scores, result) else ""
            yield score_table(scores, title=title, note=note)


def _is_unadjusted(scores: Mapping[str, Scores], result: TargetResult) -> bool:
    """Whether the model's scores count other intervals than those of the report."""
    own = next(iter(scores.values()))
    if not result.n or LEVEL not in own.coverage:
        return False
    return abs(own.coverage[LEVEL] - result.coverage) > 0.005


def _predictions(results: list[TargetResult]) -> Iterator[Block]:
    """Yield the figures of the first targets."""
    for result in results[:MAX_TARGETS]:
        is_one = len(results) == 1
        yield Heading(f"Predictions of {result.name}" if is_one else result.name)
        if result.n:
            yield from _pictures(result)
        else:
            yield Text("There are no held-out values of this target.")
    if len(results) > MAX_TARGETS:
        yield Text(
            f"Figures are shown for the first {MAX_TARGETS} of {len(results)} targets; "
            "the table above has them all."
        )


def _pictures(result: TargetResult) -> Iterator[Picture]:
    count, total = count_of_hundred(result.n_inside, result.n)
    shown = adjusted = infinite = ""
    if result.n > _figures.MAX_POINTS:
        shown = f" Drawn are {_figures.MAX_POINTS} of {result.n:,} rows."
    if result.is_adjusted:
        adjusted = (
            f" The diamond is the {PERCENT} interval of this report, which was "
            "adjusted after training; the curve is the model without the adjustment."
        )
    if n_infinite := result.n - len(_figures.finite_widths(result)):
        infinite = f" {n_infinite:,} of {result.n:,} are infinite and not drawn."
    yield Picture(
        _figures.interval_figure(result),
        "Prediction and truth",
        "Each point is a held-out row; the closer to the dashed line, the better. The "
        f"grey bar is its {PERCENT} interval. A cross marks a row whose truth lies "
        f"outside.{shown}",
        f"Predictions of {result.name} against the truth: {count} of {total} intervals "
        "held the truth",
    )
    yield Picture(
        _figures.calibration_figure(result),
        "Are the intervals honest?",
        "For intervals from narrow to wide: the share of rows they promise to hold, "
        "and the share they held. On the dashed line the model is honest, below it too "
        "sure, above it too careful. The grey band is what chance allows with "
        f"{result.n:,} rows.{adjusted}",
        f"Calibration of {result.name}: promised share against the share held",
    )
    yield Picture(
        _figures.pit_figure(result),
        "Where the truth falls",
        "From 0, far below what was predicted, to 1, far above. Bars of about the same "
        "height are best. High at both ends: too sure. High in the middle: too "
        "careful. High on the right: predictions are too low; on the left: too high. "
        "The grey band is what chance allows.",
        f"Histogram of the position of the truth in the prediction, {result.name}",
    )
    yield Picture(
        _figures.sharpness_figure(result),
        "How much the intervals say",
        "Narrow intervals say more, as long as they hold the truth. The dashed line is "
        "the width without a model: the range of the middle 90% of the held-out "
        f"values.{infinite}",
        f"Histogram of the widths of the {PERCENT} intervals, {result.name}",
    )
    yield Picture(
        _figures.residual_figure(result),
        "How large the errors are",
        "Sizes of the errors, on an axis that spreads small and large alike. The "
        "dashed line is the typical error. Bars far to its right are rows to look at.",
        f"Histogram of the errors, {result.name}: typical error "
        f"{format_number(result.rmse)}",
    )


_CURVES: dict[str, tuple[str, str, Callable[[Array], Array], str]] = {
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


def _curves(report: FitReport) -> Iterator[Picture]:
    for key, (title, ylabel, transform, caption) in _CURVES.items():
        values = np.asarray(report.history.get(key, ()), np.float64)
        epoch = np.asarray(report.history.get("epoch", range(1, len(values) + 1)))
        finite = np.isfinite(values)
        if not finite.any():
            continue
        values = transform(values[finite])
        figure = _figures.curve_figure(epoch[finite], values, ylabel=ylabel)
        ends = f"from {format_number(values[0])} to {format_number(values[-1])}"
        yield Picture(figure, title, caption, f"{title}: {ylabel} {ends}")


def _shares_of_rows(fractions: Mapping[str, float]) -> Iterator[Block]:
    if not fractions:
        return
    yield Heading("How many rows the loss listens to")
    yield Text(
        "A loss for mean and uncertainty gives each row a weight: rows whose predicted "
        "uncertainty is small count more. The bar is the share of rows that this "
        "amounts to. At 100% all rows count alike; at a low share a few easy rows "
        "decide, and rows that are hard to predict may never be learnt."
    )
    shares = {label: float(np.clip(share, 0, 1)) for label, share in fractions.items()}
    yield Table(
        ["Loss", "Share of the rows"],
        [
            [label, Cell(f"{100 * share:.3g}%", share=share)]
            for label, share in shares.items()
        ],
        label="Shares of the rows that losses listen to",
    )
