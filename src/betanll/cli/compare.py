"""``betanll compare``: objectives side by side on a user's table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from betanll.cli.options import (
    MAX_COUNT,
    beta_or_auto,
    note_unusual_beta,
    objective_and_beta,
    preset_option,
    read_training_table,
    table_options,
    training_options,
)
from betanll.cli.output import (
    BETTER,
    check_file,
    coloured,
    example,
    naming,
    print_elapsed,
    stars,
)
from betanll.cli.target_options import chosen, target_options, without_student_t

_DEFAULT = ("mse", "nll", "beta-nll:0.5", "beta-nll:1", "faithful", "student-t", "crps")


def _contender(text: str) -> str:
    """Check the name of a contender and keep it as it was written."""
    objective_and_beta(text, beta_or_auto)
    return text


@click.command(epilog=example("betanll compare houses.csv --target price --folds 10"))
@table_options
@click.option(
    "--objective",
    "contenders",
    type=_contender,
    multiple=True,
    default=_DEFAULT,
    metavar="NAME",
    help="Objective, see `betanll objectives`; beta-nll also as beta-nll:0.25 or "
    "beta-nll:auto; may be repeated."
    f"  [default: {', '.join(_DEFAULT)}]",
)
@click.option(
    "--folds", type=click.IntRange(2, MAX_COUNT), default=5, show_default=True
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="CSV file for the table.",
)
@target_options("none")
@preset_option("fast")
@training_options
def command(
    data: Path,
    targets: tuple[str, ...],
    drop: tuple[str, ...],
    kinds: tuple[tuple[str, str], ...],
    ids: tuple[str, ...],
    time: str | None,
    group: str | None,
    reading: dict[str, Any],
    contenders: tuple[str, ...],
    folds: int,
    out: Path | None,
    target_transform: list[str],
    is_log: bool,
    preset: str,
    hidden: tuple[int, ...] | str,
    members: int | str,
    max_updates: int | str,
    seed: int,
    jobs: int | None,
) -> None:
    """Rank objectives on the table DATA by cross-validation.

    All trainings of all folds run as one fleet. Objectives whose scores on the rows
    do not differ significantly (paired, 5 %) share a rank.
    """
    import pandas as pd

    from betanll.estimators import HeteroscedasticRegressor
    from betanll.evaluation import compare
    from betanll.files import written_atomically

    if out is not None:
        if out.suffix != ".csv":
            raise click.UsageError(f"--out must end in .csv, got {out}")
        check_file(out, data)
    transform = chosen(target_transform, is_log, targets)
    are_given = contenders != _DEFAULT
    contenders = tuple(without_student_t(contenders, transform, are_given=are_given))
    table = read_training_table(data, reading, targets, drop, ids, kinds, time, group)
    n_rows, names = len(table.frame), table.schema.targets
    if folds > n_rows // 2:
        raise click.UsageError(
            f"--folds {folds} is too many for {n_rows} rows: take at most {n_rows // 2}"
        )
    models = {}
    for contender in dict.fromkeys(contenders):
        name, beta = objective_and_beta(contender, beta_or_auto)
        note_unusual_beta(beta)
        models[contender] = HeteroscedasticRegressor(
            preset=preset,
            objective=name,
            beta=0.5 if beta is None else beta,
            hidden_layer_sizes=hidden,
            max_updates=max_updates,
            n_members=members,
            target_transform=transform,
            columns={c.name: c for c in table.schema.encoder.columns},
            random_state=seed,
        )
    file = Path(table.name).name  # "standard input" for -
    click.echo(f"{file}: {n_rows} rows, {len(models)} objectives, {folds} folds.")
    comparison = compare(
        models,
        table.inputs,
        table.targets,
        n_folds=folds,
        blocks=table.blocks,
        random_state=seed,
        n_jobs=jobs,
        progress=True,
    )
    is_one = len(names) == 1
    tables = [comparison.table(i) for i in range(len(names))]
    if out is not None:
        named = [
            line if is_one else {"target": name, **line}
            for name, lines in zip(names, tables, strict=True)
            for line in lines
        ]
        with naming(out), written_atomically(out) as temporary:
            pd.DataFrame(named).to_csv(temporary, index=False)
    for name, lines in zip(names, tables, strict=True):
        click.echo("" if is_one else f"\nTarget {name}")
        _print(lines)
    click.echo(
        f"\n{BETTER}\nEqual ranks: no significant difference to the first of that rank."
    )
    for i, name in enumerate(names):
        _warn(name, comparison.no_better_than_guessing(i), len(models))
    if out is not None:
        click.echo(f"\nTable: {out}")
    print_elapsed()


def _print(lines: list[dict[str, Any]]) -> None:
    click.echo(
        f"{'objective':16}{'log-lik.':>10}  rank{'CRPS':>11}  rank{'RMSE':>11}  rank"
        f"{'covers 90%':>12}"
    )
    best = (
        stars([line["log_likelihood"] for line in lines], "higher"),
        stars([line["crps"] for line in lines], "lower"),
        stars([line["rmse"] for line in lines], "lower"),
    )
    for line, likelihood, crps, rmse in zip(lines, *best, strict=True):
        click.echo(
            f"{line['model']:16}{line['log_likelihood']:10.4g}{likelihood}"
            f"{line['rank']:5}{line['crps']:11.4g}{crps}{line['crps_rank']:5}"
            f"{line['rmse']:11.4g}{rmse}{line['rmse_rank']:5}{line['coverage_90']:12.1%}"
        )


def _warn(target: str, weak: list[str], n_models: int) -> None:
    """Say which objectives a constant would do for."""
    mark = coloured("WARNING", "yellow")
    if len(weak) == n_models:
        click.echo(
            f"{mark}: no objective predicts {target!r} clearly better (CRPS) than "
            "always guessing the average: add inputs or rows."
        )
    elif weak:
        click.echo(
            f"{mark}: not clearly better (CRPS) than always guessing the average of "
            f"{target!r}: {', '.join(weak)}. Choose another objective."
        )
