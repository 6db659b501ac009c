"""What a model has learnt, as a part of a report and as a page of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from betanll.evaluation import (
    ColumnImportance,
    Explanation,
    PartialDependence,
    RowExplanation,
    TargetExplanation,
)
from betanll.reports import _explanation_figures as figures
from betanll.reports._explained_rows import row_tables
from betanll.reports._made import how_it_was_made
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

#: Targets with figures; each has about seven.
MAX_TARGETS = 3
_MAX_TABLE_ROWS = 30


def explanation_blocks(
    explanation: Explanation | None, *, rows: str = "held-out rows"
) -> Iterator[Block]:
    """Yield importances, partial dependence and odd rows of the first targets."""
    if explanation is None:
        return
    targets = explanation.targets
    for target in targets[:MAX_TARGETS]:
        of_target = f" of {target.name}" if len(targets) > 1 else ""
        yield from _importances(explanation, target, of_target, rows)
        yield from _dependences(target, of_target)
        suffix = f": {target.name}" if of_target else ""
        yield Heading(f"Rows to look at{suffix}")
        yield from row_tables(target, rows)
    if len(targets) > MAX_TARGETS:
        yield Text(f"The first {MAX_TARGETS} of {len(targets)} targets are explained.")


def explanation_page(
    explanation: Explanation,
    *,
    title: str,
    configuration: Mapping[str, str],
    command: str,
    rows: Sequence[RowExplanation] = (),
) -> Page:
    """Return an explanation as a page; `rows` are explained in sentences.

    Parameters
    ----------
    explanation : Explanation
        From :func:`betanll.evaluation.explain`.
    title : str
    configuration : mapping of str to str
        What a reader should know about the data and the model.
    command : str
        What made the explanation.
    rows : sequence of RowExplanation, optional
        Single rows to explain, shown first.
    """
    blocks: list[Block] = []
    for row in rows:
        first, *rest = str(row).splitlines()
        title = f"Row {row.name}"
        name = f", {row.target}" if len(explanation.targets) > 1 else ""
        blocks += [Heading(title + name), Text(first.removeprefix(f"{title}: "))]
        blocks += [Text(sentence) for sentence in rest]
    blocks += explanation_blocks(explanation, rows="rows")
    blocks += how_it_was_made(configuration, command)
    return Page(title, blocks)


def _importances(
    explanation: Explanation, target: TargetExplanation, of_target: str, rows: str
) -> Iterator[Block]:
    ranked = target.ranked
    if not ranked:
        return
    n, n_repeats = len(explanation.importance_rows), explanation.n_repeats
    times = "once" if n_repeats == 1 else f"{n_repeats} times"
    suffix = f" for {target.name}" if of_target else ""
    yield Heading(f"Which columns matter{suffix}")
    yield Text(
        f"The cells of one column are shuffled among {n:,} {rows}, {times}. What the "
        "predictions lose shows how much the model relies on the column: for the mean, "
        "and separately for the spread. Columns that say the same share their "
        "importance. It is what the model uses, which need not be a cause."
    )
    yield Picture(
        figures.importance_figure(ranked),
        f"Importance of the columns{of_target}",
        "Blue: the squared error that shuffling adds, halved, as a share of the "
        "target’s variance. Orange: the log-likelihood that is lost if only the "
        "spread comes from the shuffled row. The grey lines are two standard errors; "
        "pale bars may be chance."
        + (
            f" Drawn are {figures.MAX_BARS} of {len(ranked)} columns."
            if len(ranked) > figures.MAX_BARS
            else ""
        ),
        f"Importance of columns for mean and spread{of_target}, most important first: "
        + ", ".join(one.column for one in ranked[:3]),
    )
    yield _importance_table(ranked, of_target)


def _importance_table(ranked: Sequence[ColumnImportance], of_target: str) -> Table:
    hidden = len(ranked) - _MAX_TABLE_ROWS
    return Table(
        [
            "Column",
            Column("For the mean", "share of the variance"),
            Column("For the spread", "nats lost"),
            Column("Typical error", "with the column shuffled"),
        ],
        [
            [
                one.column,
                Cell(
                    _with_error(one.mean, one.mean_error, percent=True),
                    "" if one.is_clear_for_mean else "note",
                ),
                Cell(
                    _with_error(one.spread, one.spread_error),
                    "" if one.is_clear_for_spread else "note",
                ),
                format_number(one.rmse),
            ]
            for one in ranked[:_MAX_TABLE_ROWS]
        ],
        note=f"{hidden} columns that matter less are left out." if hidden > 0 else "",
        label=f"Importance of the columns{of_target}",
    )


def _dependences(target: TargetExplanation, of_target: str) -> Iterator[Block]:
    if not target.importances:
        return
    yield Heading(f"How predictions{of_target} change with a column")
    if not target.dependences:
        yield Text("No column matters clearly.")
        return
    yield Text(
        "The column is set to one value after the other, and the predictions are "
        "averaged over rows that differ in all other columns. All figures have the "
        "same scale, so that they can be compared. Dots are values with equally many "
        "rows between them, or levels of a category."
    )
    view = figures.common_view(target.dependences)
    for one in target.dependences:
        yield Picture(
            figures.dependence_figure(one, target.name, view),
            f"{target.name} by {one.column}",
            _effect(one),
            f"Partial dependence of {target.name} on {one.column}",
        )


def _effect(one: PartialDependence) -> str:
    """Say in words what a figure of partial dependence shows."""
    width = one.upper - one.lower
    if one.kind in ("number", "date"):
        return (
            f"From {one.labels[0]} to {one.labels[-1]}, the mean goes from "
            f"{format_number(one.mean[0])} to {format_number(one.mean[-1])} and the "
            f"width of the interval from {format_number(width[0])} to "
            f"{format_number(width[-1])}."
        )
    low, high, wide = one.mean.argmin(), one.mean.argmax(), width.argmax()
    return (
        f"Lowest mean: {one.labels[low]}, {format_number(one.mean[low])}. Highest: "
        f"{one.labels[high]}, {format_number(one.mean[high])}. Widest interval: "
        f"{one.labels[wide]}, {format_number(width[wide])}."
    )


def _with_error(value: float, error: float, *, percent: bool = False) -> str:
    if percent:
        text = f"{100 * value:.1f} ± {100 * error:.1f} %"
    else:
        text = f"{value:.3f} ± {error:.3f}"
    return text.replace("-", "−")
