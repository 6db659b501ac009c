"""Numbers put into words for readers who are no specialists."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from betanll.metrics import Scores
from betanll.reports._target import LEVEL, TargetResult
from betanll.reports.page import Card, Cell, Column, Table
from betanll.reports.style import format_number

#: The coverage of the intervals of a report, in words.
PERCENT = f"{100 * LEVEL:.0f}%"


def count_of_hundred(n_inside: int, n: int) -> tuple[str, int]:
    """Return how many of 100, or of all if there are fewer, as text and total."""
    if n < 100:
        return str(n_inside), n
    share = 100 * n_inside / n
    if n_inside < n and share > 99:
        return "more than 99", 100
    return f"{share:.0f}", 100


def versus_guessing(ratio: float) -> str:
    """Return how the error compares, for example ``62% smaller``."""
    if math.isnan(ratio):
        return "–"
    change = 100 * (1 - ratio)
    if abs(change) < 0.5:
        return "equal"
    if ratio >= 2:
        return f"{format_number(ratio)} times larger"
    digits = 2 if 99 < change < 100 else 0
    return f"{abs(change):.{digits}f}% {'smaller' if change > 0 else 'larger'}"


def headlines(results: Sequence[TargetResult]) -> list[Card]:
    """Return error, coverage and gain; of several targets those of the worst."""
    if len(results) == 1:
        (result,) = results
        text = (
            "By about this much predictions differ from the truth, in the unit of the "
            "target (root of the mean squared error)."
        )
        error = Card(format_number(result.rmse), "typical error", text)
        return [error, _coverage(result), _gain(result)]
    n_values = sum(result.n for result in results)
    text = (
        f"Predicted together and compared with {n_values:,} held-out values. The "
        "typical error of each is in the table below."
    )
    # An average would let intervals that are too wide hide others that are too narrow.
    missed = {result: abs(result.coverage - LEVEL) for result in results}
    errors = {result: result.error_ratio for result in results}
    return [
        Card(str(len(results)), "targets", text),
        _of_worst(missed, _coverage, "the target farthest from the aim"),
        _of_worst(errors, _gain, "the worst of the targets"),
    ]


def _of_worst(
    badness: Mapping[TargetResult, float],
    card_of: Callable[[TargetResult], Card],
    words: str,
) -> Card:
    known = {result: bad for result, bad in badness.items() if not math.isnan(bad)}
    if not known:
        return card_of(next(iter(badness)))
    worst = max(known, key=lambda result: known[result])
    card = card_of(worst)
    return replace(card, text=f"For {worst.name}, {words}. {card.text}")


def _coverage(result: TargetResult) -> Card:
    label = "intervals that held the truth"
    if not result.n:
        return Card("–", label, "No held-out values.")
    count, total = count_of_hundred(result.n_inside, result.n)
    aim = format_number(round(LEVEL * total, 1))
    text = (
        f"Of {total} {PERCENT} intervals, {count} held the truth. The aim is {aim}: "
        "fewer means too sure, more means too careful."
    )
    return Card(f"{count} of {total}", label, text)


def _gain(result: TargetResult) -> Card:
    text = "The held-out values are all equal, so there is nothing to explain."
    if not math.isnan(result.error_ratio):
        guess = format_number(result.guess_rmse)
        text = f"Guessing the average of the held-out values is off by {guess}."
    label = "error than always guessing the average"
    return Card(versus_guessing(result.error_ratio), label, text)


def score_table(
    scores: Mapping[str, Scores], *, title: str = "", note: str = ""
) -> Table:
    """Return the scores of one target, in which the best of each column is marked."""
    levels = {level for score in scores.values() for level in score.coverage}
    level = min(levels, key=lambda x: (abs(x - LEVEL), x)) if levels else LEVEL
    percent = f"{100 * level:.4g}%"
    nan = math.nan
    # How to print each number, and how bad it is. The width alone ranks nothing.
    numbers = {
        name: [
            (format_number(score.rmse), score.rmse),
            (format_number(score.log_likelihood), -score.log_likelihood),
            (format_number(score.crps), score.crps),
            _share(score.coverage.get(level, nan), level),
            (format_number(score.width.get(level, nan)), nan),
        ]
        for name, score in scores.items()
    }
    badness = np.array([[bad for _, bad in row] for row in numbers.values()])
    lowest = np.fmin.reduce(badness, axis=0)
    return Table(
        [
            "Model",
            Column("Typical error (RMSE)", "lower is better"),
            Column("Log-likelihood", "higher is better"),
            Column("CRPS", "lower is better"),
            Column(f"Held by {percent} intervals", f"{percent} is best"),
            Column(f"Width of {percent} intervals", "lower, if they hold the truth"),
        ],
        [
            [
                name,
                *(
                    Cell(text, "best" if bad == low and len(scores) > 1 else "")
                    for (text, bad), low in zip(row, lowest, strict=True)
                ),
            ]
            for name, row in numbers.items()
        ],
        title=title,
        note=note,
        label="Scores of the models" + (f", {title}" if title else ""),
    )


def _share(coverage: float, level: float) -> tuple[str, float]:
    text = "–" if math.isnan(coverage) else f"{100 * coverage:.1f}%"
    return text, abs(coverage - level)
