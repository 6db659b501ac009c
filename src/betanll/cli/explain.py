"""``betanll explain``: which columns matter, odd rows, and why an interval is wide."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from betanll.cli._reading import reading_options
from betanll.cli.options import MAX_COUNT, plugin_option, say_note, seed_option
from betanll.cli.output import (
    check_file,
    command_line,
    example,
    load_table_model,
    naming,
    print_elapsed,
)

if TYPE_CHECKING:
    from betanll.evaluation import Explanation, RowExplanation, TargetExplanation
    from betanll.tables import TableModel

#: Columns and rows that are printed; the report and --json have more.
_MAX_COLUMNS, _MAX_ROWS = 20, 5


@click.command(epilog=example("betanll explain betanll-fit new-houses.csv --row 3"))
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--row",
    "numbers",
    type=click.IntRange(1, MAX_COUNT),
    multiple=True,
    metavar="NUMBER",
    help="Explain the interval of this row, counted from 1; may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="HTML file for a report with figures.",
)
@click.option("--json", "as_json", is_flag=True, help="Print numbers for machines.")
@reading_options
@seed_option
@plugin_option
def command(
    model: Path,
    data: Path,
    numbers: tuple[int, ...],
    out: Path | None,
    as_json: bool,
    reading: dict[str, Any],
    seed: int,
) -> None:
    """Explain MODEL, a folder that ``betanll fit`` wrote, by the rows of DATA.

    Prints how much each column matters for the mean and for the spread, which rows
    are predicted worst, and which are least certain. DATA must be rows that the model
    has not seen. Importances need the target columns; rows are explained without
    them.
    """
    from betanll.files import written_atomically

    if out is not None:
        if out.suffix != ".html":
            raise click.UsageError(f"--out must end in .html, got {out}")
        check_file(out, data)
    table_model = load_table_model(model)
    explanation = table_model.explain(data, **reading, random_state=seed)
    n = explanation.n_rows
    if too_large := [number for number in numbers if number > n]:
        raise click.UsageError(
            f"--row {too_large[0]} is too large: {data} has {n} rows"
        )
    rows = [
        explanation.why(number - 1, i)
        for number in dict.fromkeys(numbers)
        for i in range(len(explanation.targets))
    ]
    for note in _notes(table_model, explanation):
        say_note(note, err=as_json)
    if out is not None:
        from betanll.reports import explanation_page

        page = explanation_page(
            explanation,
            title=f"What {', '.join(table_model.schema.targets)} depends on",
            configuration={
                "model": str(model),
                "data": str(data),
                "rows": f"{n}",
                "rows with shuffled cells": f"{len(explanation.importance_rows)}",
                "repeats": f"{explanation.n_repeats}",
                "random seed": f"{seed}",
            },
            command=command_line(),
            rows=rows,
        )
        with naming(out), written_atomically(out) as temporary:
            # The data's name, which is in the page, need not be text.
            temporary.write_bytes(page.html().encode(errors="replace"))
    if as_json:
        click.echo(json.dumps(_plain(explanation, rows), indent=2))
        return
    for target in explanation.targets:
        _print_target(target)
    for row in rows:
        click.echo(f"\n{row}")
    if out is not None:
        click.echo(f"\nReport: {out}")
    print_elapsed()


def _notes(model: TableModel, explanation: Explanation) -> list[str]:
    """Return what the numbers do not say about themselves."""
    from betanll.evaluation import MIN_IMPORTANCE_ROWS

    notes = []
    names = [target.name for target in explanation.targets if not target.importances]
    if names:
        from betanll.sentences import listed

        notes.append(
            f"no importances for {listed(names)}: they need at least "
            f"{MIN_IMPORTANCE_ROWS} rows with the target. Rows are explained."
        )
    if len(explanation.rows) < explanation.n_rows:
        notes.append(
            f"the worst and the least certain rows are those of "
            f"{len(explanation.rows)} rows drawn at random."
        )
    return notes


def _plain(explanation: Explanation, rows: Sequence[RowExplanation]) -> dict[str, Any]:
    from betanll.evaluation import plain_row

    return explanation.to_dict() | {"rows": [plain_row(row) for row in rows]}


def _print_target(target: TargetExplanation) -> None:
    if target.importances:
        _print_importances(target)
    if target.worst:
        click.echo(f"\nMost wrong for {target.name}:")
        _print_rows(target.worst)
    click.echo(f"\nLeast certain for {target.name}:")
    _print_rows(target.uncertain)


def _print_importances(target: TargetExplanation) -> None:
    shown = target.ranked[:_MAX_COLUMNS]
    title = f"columns for {target.name}"
    width = min(40, max(map(len, [title, *(one.column for one in shown)]))) + 2
    click.echo(
        f"\n{title:{width}}{'mean: share of variance':>26}{'spread: nats':>20}"
        f"{'RMSE if shuffled':>20}"
    )
    for one in shown:
        mean = f"{one.mean:.1%} ± {one.mean_error:.1%}"
        spread = f"{one.spread:.3f} ± {one.spread_error:.3f}"
        name = _cut(one.column, width - 2)
        click.echo(f"{name:{width}}{mean:>26}{spread:>20}{one.rmse:20.4g}")
    if (more := len(target.importances) - len(shown)) > 0:
        click.echo(f"and {more} columns that matter less")


def _print_rows(rows: Sequence[RowExplanation]) -> None:
    from betanll.reports import reason_of

    shown = rows[:_MAX_ROWS]
    width = min(30, max(map(len, ["row", *(row.name for row in shown)]))) + 2
    click.echo(
        f"{'row':{width}}{'truth':>11}{'mean':>11}{'lower':>11}{'upper':>11}"
        f"{'off (std)':>11}  reason for the spread"
    )
    for row in shown:
        truth = f"{'':>11}" if math.isnan(row.truth) else f"{row.truth:11.4g}"
        off = f"{'':>11}" if math.isnan(row.z) else f"{row.z:+11.1f}"
        click.echo(
            f"{_cut(row.name, width - 2):{width}}{truth}{row.mean:11.4g}"
            f"{row.lower:11.4g}{row.upper:11.4g}{off}  {_cut(reason_of(row), 60)}"
        )


def _cut(text: str, length: int) -> str:
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= length else text[: length - 3] + "..."
