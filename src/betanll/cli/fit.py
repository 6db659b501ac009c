"""``betanll fit``: a table in, a model folder and a report out."""

from __future__ import annotations

import time
from pathlib import Path

import click
from click.core import ParameterSource

from betanll.cli.options import (
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
    naming,
    print_assessment,
    print_columns,
)
from betanll.cli.target_options import chosen, say_transforms, target_options


@click.command()
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
    default="0.2",
    show_default=True,
    metavar="NUMBER",
    help="Share of the rows that only judge the model.",
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
    delimiter: str | None,
    header: bool | None,
    out: Path,
    objective: str,
    beta: float | str,
    calibration: str,
    test_fraction: float,
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

    DATA is a CSV or Parquet file. The command scores the model on held-out rows, next
    to three baselines.
    """
    from betanll.estimators import (
        MODEL_FOLDER,
        HeteroscedasticRegressor,
        check_replaceable,
    )
    from betanll.files import write_synced, written_atomically
    from betanll.tables import TableModel

    started = time.perf_counter()
    context = click.get_current_context()
    is_beta_given = context.get_parameter_source("beta") != ParameterSource.DEFAULT
    if is_beta_given and objective != "beta-nll":
        raise click.UsageError(f"--beta is for --objective beta-nll, not {objective}")
    note_unusual_beta(beta)
    transform = chosen(target_transform, is_log, targets)
    check_file(out / "report.html")
    model_path = out / MODEL_FOLDER
    is_replaced = check_replaceable(model_path)
    table = read_training_table(data, delimiter, header, targets, drop, ids, kinds)
    split = table.split(test_fraction, random_state=seed)
    print_columns(table.columns)
    n_train, n_test = len(split.train[1]), len(split.test[1])
    click.echo(f"{data.name}: training on {n_train} rows, {n_test} rows held out.")
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
    model = TableModel.of_split(split, regressor, n_jobs=jobs, progress=True)
    report = model.report(
        title=f"{', '.join(split.schema.targets)} in {data.name}",
        command=command_line(),
        data=data.name,
        **{"training rows": f"{n_train}"},
        seconds=f"{time.perf_counter() - started:.1f}",
    )
    page = report.html()
    path = out / "report.html"
    with naming(path), written_atomically(path) as temporary:
        # On the disk before the model changes, so that a full disk leaves both as they
        # were. The data's name, which is in the page, need not be text.
        write_synced(temporary, page.encode(errors="replace"))
        with naming(model_path):
            model.save(model_path)
    assert model.assessment is not None
    say_transforms(split.schema.targets, regressor.target_transform_, transform)
    print_assessment(model.assessment.targets, report.findings)
    click.echo(f"\nModel:  {model_path}\nReport: {path}")
    if is_replaced:
        click.echo("Replaced the model and the report of an earlier fit.")
