"""``betanll diagnose``: is the likelihood starving points of a user's table?"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import click

from betanll.cli.options import (
    MAX_COUNT,
    jobs_option,
    layer_sizes,
    read_training_table,
    seed_option,
    table_options,
)
from betanll.cli.output import check_file, command_line, naming


@click.command()
@table_options
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="HTML file for a report with figures.",
)
@click.option("--json", "as_json", is_flag=True, help="Print numbers for machines.")
@click.option(
    "--hidden",
    type=layer_sizes,
    default="128,128,128",
    show_default=True,
    metavar="SIZES",
    help="Units of the hidden layers.",
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(min=0, min_open=True),
    default=2e-3,
    show_default=True,
    help="Of all trainings.",
)
@click.option(
    "--max-updates",
    type=click.IntRange(1, MAX_COUNT),
    default=20_000,
    show_default=True,
    help="Budget of one training.",
)
@seed_option
@jobs_option
def command(
    data: Path,
    targets: tuple[str, ...],
    drop: tuple[str, ...],
    kinds: tuple[tuple[str, str], ...],
    ids: tuple[str, ...],
    time: str | None,
    group: str | None,
    delimiter: str | None,
    header: bool | None,
    out: Path | None,
    as_json: bool,
    hidden: tuple[int, ...],
    learning_rate: float,
    max_updates: int,
    seed: int,
    jobs: int | None,
) -> None:
    """Tell whether likelihood training starves points of the table DATA.

    The same network is trained with the likelihood, with two more betas and with the
    squared error; held-out rows tell whether what the likelihood calls noise is
    misfit.
    """
    from betanll.evaluation import MIN_ROWS, TrialSettings, diagnose
    from betanll.files import written_atomically
    from betanll.tables import TableError

    if out is not None:
        if out.suffix != ".html":
            raise click.UsageError(f"--out must end in .html, got {out}")
        check_file(out, data)
    # Notes on the table must not get between the numbers for machines.
    notes = sys.stderr if as_json else sys.stdout
    with contextlib.redirect_stdout(notes):
        table = read_training_table(
            data, delimiter, header, targets, drop, ids, kinds, time, group
        )
    schema = table.schema
    if len(table.frame) < MIN_ROWS:
        raise TableError(
            f"{data} has {len(table.frame)} rows with a target; the doctor needs "
            f"{MIN_ROWS}"
        )
    settings = TrialSettings(
        hidden_sizes=hidden, learning_rate=learning_rate, max_updates=max_updates
    )
    diagnosis = diagnose(
        settings,
        table.inputs,
        table.targets,
        columns={c.name: c for c in schema.encoder.columns},
        target_names=schema.targets,
        blocks=table.blocks,
        random_state=seed,
        n_jobs=jobs,
        progress=True,
    )
    if out is not None:
        from betanll.reports import diagnosis_page

        page = diagnosis_page(
            diagnosis,
            title=f"Is the likelihood starving points of {data.name}?",
            configuration={
                "data": str(data),
                "targets": ", ".join(schema.targets),
                "rows": f"{diagnosis.n_rows}, of which {diagnosis.n_training_rows} "
                f"train and {len(diagnosis.test_rows)} are held out",
                "hidden layers": ", ".join(map(str, settings.hidden_sizes)),
                "learning rate": f"{settings.learning_rate:g}",
                "updates of a training": f"{settings.max_updates}",
                "random seed": f"{seed}",
            },
            command=command_line(),
        )
        with naming(out), written_atomically(out) as temporary:
            temporary.write_text(page.html(), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(diagnosis.to_dict(), indent=2))
        return
    click.echo(f"\n{diagnosis}")
    for target in diagnosis.targets:
        if len(diagnosis.targets) > 1:
            click.echo(f"\nTarget {target.name}", nl=False)
        click.echo(f"\n{'objective':16}{'RMSE':>12}{'log-lik.':>12}")
        for name, error in target.rmse.items():
            click.echo(f"{name:16}{error:12.4g}{target.log_likelihood[name]:12.4g}")
    if out is not None:
        click.echo(f"\nReport: {out}")
