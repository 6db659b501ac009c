"""Tables of odd rows, and the reasons for their spread in a few words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from betanll.evaluation import RowExplanation, TargetExplanation
from betanll.reports.page import Cell, Column, Table
from betanll.reports.style import format_number

#: Cells outside of the training data that are named.
_MAX_OUTSIDE = 2


def row_tables(target: TargetExplanation, rows: str) -> Iterator[Table]:
    """Yield the worst and the most uncertain rows of a target."""
    if target.worst:
        yield _row_table(
            target.worst,
            "The model was most wrong here",
            f"The {rows} whose truth is most standard deviations away from the "
            "prediction. Look for errors in the data, or for what the columns lack.",
        )
    yield _row_table(
        target.uncertain,
        "The model is least sure here",
        f"The {rows} with the widest intervals, and the main reason.",
    )


def _row_table(found: Sequence[RowExplanation], title: str, note: str) -> Table:
    return Table(
        [
            "Row",
            "Truth",
            "Prediction",
            Column("90 % interval"),
            Column("Off by", "standard deviations"),
            Column("CRPS", "lower is better"),
            Column("Spread", "times the typical one"),
            Column("Reason for the spread", align="left"),
        ],
        [
            [
                row.name,
                format_number(row.truth),
                format_number(row.mean),
                f"{format_number(row.lower)} to {format_number(row.upper)}",
                _off_by(row),
                format_number(row.crps),
                f"{row.std_ratio:.2f}",
                reason_of(row),
            ]
            for row in found
        ],
        title=title,
        note=note,
    )


def _off_by(row: RowExplanation) -> Cell:
    """Return how far the truth is away, marked if it lies outside of the interval."""
    if math.isnan(row.z):
        return Cell("–")
    is_inside = row.lower <= row.truth <= row.upper
    text = f"{row.z:+.1f}".replace("-", "−")
    return Cell(text, "" if is_inside else "warning")


def reason_of(row: RowExplanation) -> str:
    """Return in a few words why an interval is wide."""
    if row.outside:
        cells = [f"{cell.column} {cell.value}" for cell in row.outside[:_MAX_OUTSIDE]]
        more = len(row.outside) - len(cells)
        return f"outside: {', '.join(cells)}" + (f" and {more} more" if more else "")
    if row.cause == "noise":
        return f"noise, {row.noise / row.usual_noise:.2g} × the typical"
    if row.cause == "little data":
        return f"little data, {100 * row.doubt_share:.0f} % of the variance"
    return "usual"
