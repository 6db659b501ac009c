"""``python -m benchmarks.real_tables``: run what has no result yet, then sum up."""

from __future__ import annotations

import os
from pathlib import Path

import click

from betanll.cli.sweeping import opened_store, run_and_tell, sweep_options


@click.command()
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME",
    help="A table, or development or report for all of these; may be repeated.  "
    "[default: report]",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="May be repeated.  [default: all]",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(["random", "time", "group"]),
    help="How to split; may be repeated.  [default: all that a table has]",
)
@click.option(
    "--split",
    "splits",
    multiple=True,
    type=click.IntRange(0, 9),
    help="May be repeated.  [default: 0 to 4]",
)
@click.option("--max-rows", type=int, help="Leave out tables with more rows.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results/real_tables/report"),
    show_default=True,
    help="Folder for the store of results and the tables.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes, of one thread each.",
)
@sweep_options
def main(
    tables: tuple[str, ...],
    methods: tuple[str, ...],
    kinds: tuple[str, ...],
    splits: tuple[int, ...],
    max_rows: int | None,
    out: Path,
    workers: int,
    retry_failed: bool,
    stored_only: bool,
    imported: Path | None,
    exported: Path | None,
) -> None:
    """Compare regressors on raw tables of public Python packages.

    Results are stored one by one in OUT/sweep.db; the same command resumes a run that
    was stopped. Summaries contain all stored results that were asked for.
    """
    from benchmarks.real_tables._catalogue import TABLES, expand
    from benchmarks.real_tables._methods import METHODS
    from benchmarks.real_tables._tables import is_installed
    from benchmarks.real_tables._tasks import REPORT_SPLITS, real_table_tasks

    # Workers inherit it; libraries read it when they load.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        names = [
            name
            for name in expand(tables or ["report"])
            if max_rows is None
            or min(TABLES[name].n_rows, TABLES[name].cap) <= max_rows
        ]
        if unknown := [name for name in methods if name not in METHODS]:
            raise ValueError(
                f"there is no method {unknown[0]!r}; there are {', '.join(METHODS)}"
            )
        wanted = list(methods or METHODS)
        out.mkdir(parents=True, exist_ok=True)
        of_kinds, of_splits = (
            kinds or ("random", "time", "group"),
            splits or REPORT_SPLITS,
        )
        tasks = real_table_tasks(names, wanted, of_kinds, of_splits)
        with opened_store(
            out / "sweep.db",
            imported=imported,
            exported=exported,
            retry_failed=retry_failed,
        ) as store:
            if not stored_only:
                here = [name for name in names if is_installed(TABLES[name])]
                _note_absent("table", set(names) - set(here))
                usable = [name for name in wanted if METHODS[name].is_installed]
                _note_absent("method", set(wanted) - set(usable))
                run_and_tell(
                    real_table_tasks(here, usable, of_kinds, of_splits),
                    store,
                    n_workers=workers,
                    progress=True,
                )
            rows = store.rows(tasks)
    except (ValueError, OSError) as error:
        raise click.UsageError(str(error)) from None
    if not rows:
        raise click.UsageError(
            f"{out / 'sweep.db'} has no results of what was asked for"
        )
    _write(rows, out)


def _note_absent(kind: str, names: set[str]) -> None:
    if names:
        listed = ", ".join(sorted(names))
        click.echo(f"Not run, for want of its package: {kind} {listed}.", err=True)


def _write(rows: list[dict[str, object]], out: Path) -> None:
    import pandas as pd
    from benchmarks.real_tables._summary import render, summarise

    runs = pd.DataFrame(rows)
    summary = summarise(runs)
    for name, frame in {
        "runs.csv": runs,
        "tables.csv": summary.tables,
        "overall.csv": summary.overall,
    }.items():
        text = frame.to_csv(index=False, float_format="%.5g", lineterminator="\n")
        _write_text(out / name, text)
    _write_text(out / "summary.md", render(summary))
    click.echo(summary.overall.round(3).to_string(index=False))
    click.echo(str(out / "summary.md"))


def _write_text(path: Path, text: str) -> None:
    from betanll.files import written_atomically

    with written_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
