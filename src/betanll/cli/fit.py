"""``betanll fit``: a table in, a model folder and a report out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from betanll.cli.options import (
    MAX_COUNT,
    beta_or_auto,
    fraction,
    note_unusual_beta,
    objective_spec,
    preset_option,
    read_training_table,
    table_options,
    training_options,
)
from betanll.cli.output import (
    check_file,
    command_line,
    example,
    naming,
    print_assessment,
    print_columns,
    print_elapsed,
)
from betanll.cli.target_options import chosen, say_transforms, target_options

if TYPE_CHECKING:
    from betanll.blocks import SplitRows


@click.command(epilog=example("betanll fit houses.csv --target price --id address"))
@table_options
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("betanll-fit"),
    show_default=True,
    help="Folder for model/ and report.html.",
)
@click.option(
    "--objective",
    type=objective_spec,
    default="beta-nll",
    show_default=True,
    metavar="NAME",
    help="Objective to train; `betanll objectives` lists them.",
)
@click.option(
    "--beta",
    type=beta_or_auto,
    default="0.5",
    show_default=True,
    metavar="NUMBER",
    help='Exponent of beta-nll, or "auto".',
)
@click.option(
    "--calibration",
    type=click.Choice(["auto", "none", "scale", "student-t", "conformal"]),
    default="auto",
    show_default=True,
    help="Correct spreads, tails or intervals with rows that training has not seen.",
)
@click.option(
    "--test-fraction",
    type=fraction,
    metavar="NUMBER",
    help="Share of the rows to hold out, once.  [default: 0.2]",
)
@click.option(
    "--folds",
    type=click.IntRange(2, MAX_COUNT),
    help="Judge by cross-validation with so many folds.  [default: 5 for fewer than "
    "250 rows without --time]",
)
@click.option(
    "--all-rows/--training-rows",
    default=True,
    show_default=True,
    help="Rows that train the delivered model, after others have judged it.",
)
@target_options("auto")
@preset_option("default")
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
    out: Path,
    objective: str,
    beta: float | str,
    calibration: str,
    test_fraction: float | None,
    folds: int | None,
    all_rows: bool,
    target_transform: list[str],
    is_log: bool,
    preset: str,
    hidden: tuple[int, ...] | str,
    members: int | str,
    max_updates: int | str,
    seed: int,
    jobs: int | None,
) -> None:
    """Learn mean and spread of columns of a table.

    DATA is a CSV, Excel, JSON or Parquet file, or - for the standard input. The
    command scores the model on held-out rows, next to three baselines.
    """
    from betanll.estimators import (
        MODEL_FOLDER,
        HeteroscedasticRegressor,
        check_replaceable,
    )
    from betanll.files import set_aside, write_synced, written_atomically
    from betanll.tables import TableModel

    started = perf_counter()
    context = click.get_current_context()
    is_beta_given = context.get_parameter_source("beta") != ParameterSource.DEFAULT
    if is_beta_given and objective != "beta-nll":
        raise click.UsageError(f"--beta is for --objective beta-nll, not {objective}")
    note_unusual_beta(beta)
    transform = chosen(target_transform, is_log, targets)
    check_file(out / "report.html")
    model_path = out / MODEL_FOLDER
    is_replaced = check_replaceable(model_path)
    table = read_training_table(data, reading, targets, drop, ids, kinds, time, group)
    n_rows = len(table.frame)
    if folds is not None and test_fraction is not None:
        raise click.UsageError("give --test-fraction or --folds, not both")
    if folds is not None and folds > n_rows // 2:
        raise click.UsageError(
            f"--folds {folds} is too many for {n_rows} rows: take at most {n_rows // 2}"
        )
    if not all_rows and folds is not None:
        raise click.UsageError("--training-rows needs a single held-out part")
    if not all_rows and test_fraction is None:
        test_fraction = 0.2
    splits = table.splits(test_fraction, folds, random_state=seed)
    print_columns(table.columns)
    name = Path(table.name).name  # "standard input" for -
    click.echo(f"{name}: {_plan(n_rows, splits, all_rows)}")
    regressor = HeteroscedasticRegressor(
        preset=preset,
        objective=objective,
        beta=beta,
        hidden_layer_sizes=hidden,
        max_updates=max_updates,
        n_members=members,
        calibration=None if calibration == "none" else calibration,
        target_transform=transform,
        random_state=seed,
    )
    model = TableModel.of_table(
        table, splits, regressor, all_rows=all_rows, n_jobs=jobs, progress=True
    )
    report = model.report(
        title=f"{', '.join(table.schema.targets)} in {name}",
        command=command_line(),
        data=name,
        seconds=f"{perf_counter() - started:.1f}",
    )
    page = report.html()
    path = out / "report.html"
    with naming(path), written_atomically(path) as temporary:
        # On the disk before the model changes, so that a full disk leaves both as they
        # were. The data's name, which is in the page, need not be text.
        write_synced(temporary, page.encode(errors="replace"))
        # A kill leaves no report rather than that of another model.
        with set_aside(path), naming(model_path):
            model.save(model_path)
    assert model.assessment is not None
    say_transforms(table.schema.targets, regressor.target_transform_, transform)
    print_assessment(model.assessment.targets, report.findings)
    click.echo(f"\nModel:  {model_path}\nReport: {path}")
    if is_replaced:
        click.echo("Replaced the model and the report of an earlier fit.")
    print_elapsed()
    click.echo(f"Next:   betanll predict {shlex.quote(str(out))} NEW.csv")


def _plan(n_rows: int, splits: Sequence[SplitRows], all_rows: bool) -> str:
    """Return which rows judge models, and which train the delivered one."""
    train, held_out = splits[0]
    if len(splits) > 1:
        return (
            f"{len(splits)} folds judge models without their rows; the delivered model "
            f"trains on all {n_rows} rows."
        )
    parts = f"training on {len(train)} rows, {len(held_out)} rows held out"
    return f"{parts}; then training on all {n_rows}." if all_rows else f"{parts}."
