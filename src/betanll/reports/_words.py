"""Numbers put into words for readers who are no specialists."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from betanll.metrics import Scores
from betanll.reports._report import LEVEL, TargetResult
from betanll.reports.style import format_number


class Headline(NamedTuple):
    """A number in large letters and what it means."""

    value: str
    label: str
    text: str


class Cell(NamedTuple):
    """An entry of the table of scores."""

    text: str
    is_best: bool


class ScoreTable(NamedTuple):
    """Rows of scores under their column heads and what is best in each column."""

    columns: list[tuple[str, str]]
    rows: list[tuple[str, list[Cell]]]


def count_of_hundred(n_inside: int, n: int) -> tuple[str, int]:
    """Return how many of 100, or of all if there are fewer, as text and total."""
    if n < 100:
        return str(n_inside), n
    share = 100 * n_inside / n
    if n_inside < n and share > 99:
        return "more than 99", 100
    return f"{share:.0f}", 100


def versus_guessing(ratio: float) -> str:
    """Return how the error compares, for example ``62 % smaller``."""
    if math.isnan(ratio):
        return "–"
    change = 100 * (1 - ratio)
    if abs(change) < 0.5:
        return "equal"
    if ratio >= 2:
        return f"{format_number(ratio)} times larger"
    digits = 2 if 99 < change < 100 else 0
    return f"{abs(change):.{digits}f} % {'smaller' if change > 0 else 'larger'}"


def headlines(results: Sequence[TargetResult]) -> list[Headline]:
    """Return error, coverage and gain; of several targets those of the worst."""
    if len(results) == 1:
        (result,) = results
        return [_error(result), _coverage(result), _gain(result)]
    return [_targets(results), _worst_coverage(results), _worst_gain(results)]


def _error(result: TargetResult) -> Headline:
    return Headline(
        format_number(result.rmse),
        "typical error",
        "By about this much predictions differ from the truth, in the unit of the "
        "target (root of the mean squared error).",
    )


def _targets(results: Sequence[TargetResult]) -> Headline:
    n_values = sum(result.n for result in results)
    return Headline(
        str(len(results)),
        "targets",
        f"Predicted together and compared with {n_values:,} held-out values. The "
        "typical error of each is in the table below.",
    )


def _coverage(result: TargetResult) -> Headline:
    label = "intervals that held the truth"
    if not result.n:
        return Headline("–", label, "No held-out values.")
    count, total = count_of_hundred(result.n_inside, result.n)
    level = f"{100 * LEVEL:.0f} %"
    return Headline(
        f"{count} of {total}",
        label,
        f"Of {total} {level} intervals, {count} held the truth. The aim is "
        f"{format_number(round(LEVEL * total, 1))}: fewer means too sure, more means "
        "too careful.",
    )


def _worst_coverage(results: Sequence[TargetResult]) -> Headline:
    # An average would let intervals that are too wide hide others that are too narrow.
    seen = [result for result in results if result.n]
    if not seen:
        return _coverage(results[0])
    worst = max(seen, key=lambda result: abs(result.n_inside / result.n - LEVEL))
    headline = _coverage(worst)
    text = f"For {worst.name}, the target farthest from the aim. {headline.text}"
    return headline._replace(text=text)


def _gain(result: TargetResult) -> Headline:
    label = "error than always guessing the average"
    if math.isnan(result.error_ratio):
        text = "The held-out values are all equal, so there is nothing to explain."
        return Headline("–", label, text)
    guess = format_number(result.guess_rmse)
    text = f"Guessing the average of the held-out values is off by {guess}."
    return Headline(versus_guessing(result.error_ratio), label, text)


def _worst_gain(results: Sequence[TargetResult]) -> Headline:
    known = [result for result in results if not math.isnan(result.error_ratio)]
    if not known:
        return _gain(results[0])
    worst = max(known, key=lambda result: result.error_ratio)
    headline = _gain(worst)
    text = f"For {worst.name}, the worst of the targets. {headline.text}"
    return headline._replace(text=text)


def score_table(scores: Mapping[str, Scores]) -> ScoreTable | None:
    """Return the table of scores, in which the best of each column is marked."""
    if not scores:
        return None
    levels = {level for score in scores.values() for level in score.coverage}
    level = min(levels, key=lambda x: (abs(x - LEVEL), x)) if levels else LEVEL
    percent = f"{100 * level:.4g} %"
    columns = [
        ("Typical error (RMSE)", "lower is better"),
        ("Log-likelihood", "higher is better"),
        ("CRPS", "lower is better"),
        (f"Held by {percent} intervals", f"{percent} is best"),
        (f"Width of {percent} intervals", "lower, if they hold the truth"),
    ]
    values = np.array(
        [
            (
                score.rmse,
                score.log_likelihood,
                score.crps,
                score.coverage.get(level, np.nan),
                score.width.get(level, np.nan),
            )
            for score in scores.values()
        ],
        dtype=np.float64,
    )
    # The width alone ranks nothing, so no entry of its column is marked.
    badness = np.column_stack(
        [
            values[:, 0],
            -values[:, 1],
            values[:, 2],
            np.abs(values[:, 3] - level),
            np.full(len(values), np.nan),
        ]
    )
    lowest = np.fmin.reduce(badness, axis=0)
    is_best = (badness == lowest) & (len(values) > 1)
    rows = []
    for name, row, best in zip(scores, values, is_best, strict=True):
        texts = [format_number(value) for value in row]
        texts[3] = "–" if np.isnan(row[3]) else f"{100 * row[3]:.1f} %"
        rows.append((name, [Cell(*cell) for cell in zip(texts, best, strict=True)]))
    return ScoreTable(columns, rows)
