"""``betanll fit``: a table in, a model folder and a report out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from betanll.cli._options import (
    MIN_ROWS,
    OBJECTIVES,
    beta_or_auto,
    fraction,
    preset_option,
    read_table,
    table_options,
    training_options,
    training_rows,
)
from betanll.cli._output import check_file, command_line, naming, print_assessment

if TYPE_CHECKING:
    import pandas as pd

    from betanll.tables import TableSchema


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
    type=click.Choice(OBJECTIVES),
    default="beta-nll",
    show_default=True,
    help="What to train.",
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
@preset_option("default")
@training_options
def command(
    data: Path,
    targets: tuple[str, ...],
    drop: tuple[str, ...],
    ids: tuple[str, ...],
    delimiter: str | None,
    header: bool | None,
    out: Path,
    objective: str,
    beta: float | str,
    calibration: str,
    test_fraction: float,
    preset: str,
    hidden: tuple[int, ...] | str,
    members: int | str,
    max_updates: int | str,
    seed: int,
    jobs: int | None,
) -> None:
    """Learn mean and spread of columns of a table.

    DATA is a CSV or Parquet file. A part of the rows is held out to tell how good the
    model is, next to three simple rivals.
    """
    from betanll._files import write_synced, written_atomically
    from betanll.assessment import assess
    from betanll.estimators import HeteroscedasticRegressor, TableModel
    from betanll.estimators._persistence import check_replaceable
    from betanll.reports import render_report, report_of

    started = time.perf_counter()
    context = click.get_current_context()
    is_beta_given = context.get_parameter_source("beta") != ParameterSource.DEFAULT
    if is_beta_given and objective != "beta-nll":
        raise click.UsageError(f"--beta is for --objective beta-nll, not {objective}")
    check_file(out / "report.html")
    check_replaceable(out / "model")
    frame = read_table(data, delimiter, header, ids)
    frame, schema, y = training_rows(data, frame, targets, drop, ids)
    train, test = _split(len(frame), test_fraction, seed)
    schema = _relearnt(data, schema, frame.iloc[train])
    X = schema.encode(frame)
    model = HeteroscedasticRegressor(
        preset=preset,
        objective=objective,
        beta=beta,
        hidden_layer_sizes=hidden,
        max_updates=max_updates,
        n_members=members,
        calibration=None if calibration == "none" else calibration,
        random_state=seed,
    )
    click.echo(
        f"{data.name}: training on {len(train)} rows with {X.shape[1]} inputs, "
        f"{len(test)} rows held out."
    )
    assessment = assess(
        model, (X[train], y[train]), (X[test], y[test]), n_jobs=jobs, progress=True
    )
    report = report_of(
        assessment,
        title=f"{', '.join(schema.targets)} in {data.name}",
        target_names=schema.targets,
        configuration={
            "data": data.name,
            "training rows": f"{len(train)}",
            "held-out rows": f"{len(test)}",
            "inputs": ", ".join(schema.encoded_names),
            "seconds": f"{time.perf_counter() - started:.1f}",
        },
        command=command_line(),
    )
    page = render_report(report)
    path = out / "report.html"
    with naming(path), written_atomically(path) as temporary:
        # On the disk before the model changes, so that a full disk leaves both as they
        # were. The data's name, which is in the page, need not be text.
        write_synced(temporary, page.encode(errors="replace"))
        with naming(out / "model"):
            TableModel(schema, model).save(out / "model")
    print_assessment(assessment.scores, report.findings)
    click.echo(f"\nModel:  {out / 'model'}\nReport: {path}")


def _split(n: int, fraction: float, seed: int) -> tuple[Any, Any]:
    """Return training and test rows, both in the order of the table."""
    import numpy as np

    n_test = min(max(2, round(fraction * n)), n - MIN_ROWS // 2)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def _relearnt(data: Path, schema: TableSchema, train: pd.DataFrame) -> TableSchema:
    """Learn what fills gaps, and which categories there are, from training rows alone.

    What kind a column is remains as the whole table says: a rare "unknown" among yes
    and no may be held out.
    """
    from betanll.tables import TableError

    names = [column.name for column in schema.features]
    try:
        learnt = schema.infer(train[[*schema.targets, *names]], targets=schema.targets)
    except TableError as error:
        raise TableError(f"{data}, {len(train)} training rows: {error}") from None
    features = tuple(
        new if new.kind == old.kind else old
        for new, old in zip(learnt.features, schema.features, strict=True)
    )
    return replace(schema, features=features)
