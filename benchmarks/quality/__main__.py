"""``python -m benchmarks.quality``: run what has no result yet, then sum up."""

from __future__ import annotations

import os
from pathlib import Path

import click

from betanll.cli.sweeping import opened_store, run_and_tell, sweep_options


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Folder of the UCI sets.  [default: $BETANLL_DATA, else the user's cache]",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="May be repeated.  [default: all that are installed]",
)
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="NAME",
    help="A table, or uci or packaged for all of these; may be repeated.  [default: "
    "all that are installed]",
)
@click.option(
    "--split",
    "splits",
    multiple=True,
    type=click.IntRange(0, 19),
    help="May be repeated; 5 to 19 are for development.  [default: 0 to 4]",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes, of one thread each.  [default: one for each core]",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results/quality"),
    show_default=True,
    help="Folder for the store of results, tables and picture.",
)
@sweep_options
def main(
    data_dir: Path | None,
    methods: tuple[str, ...],
    datasets: tuple[str, ...],
    splits: tuple[int, ...],
    workers: int | None,
    out: Path,
    retry_failed: bool,
    stored_only: bool,
    imported: Path | None,
    exported: Path | None,
) -> None:
    """Compare regressors that predict a distribution on real tables.

    Results are stored one by one in OUT/sweep.db; the same command resumes a run that
    was stopped. Summaries have all stored results of the methods, datasets and splits
    that were asked for, whether or not their packages are installed here.
    """
    from benchmarks.quality._methods import METHODS, get_method
    from benchmarks.quality._names import MissingPackageError
    from benchmarks.quality._tables import TABLES, expand, n_splits, packages_of
    from benchmarks.quality._tasks import REPORT_SPLITS, quality_tasks

    from betanll.files import check_writable

    try:
        for name in methods:
            get_method(name)
        names = list(dict.fromkeys(methods or METHODS))
        tables = expand(datasets or TABLES)
        chosen = sorted(set(splits or REPORT_SPLITS))
        wanted = {t: [k for k in chosen if k < n_splits(t)] for t in tables}
        for table in [t for t, of_table in wanted.items() if not of_table]:
            click.echo(f"{table} has none of the splits asked for.", err=True)
            del wanted[table]
        if not wanted:
            raise ValueError("there is nothing to run")
        check_writable(out)
        if stored_only and imported is None and not (out / "sweep.db").exists():
            raise ValueError(f"{out / 'sweep.db'} does not exist")
        tasks = quality_tasks(wanted, names, chosen)
        with opened_store(
            out / "sweep.db",
            imported=imported,
            exported=exported,
            retry_failed=retry_failed,
        ) as store:
            if not stored_only:
                usable = _installed(
                    "method", {m: get_method(m).packages for m in names}, methods
                )
                loadable = _installed(
                    "dataset", {t: packages_of(t) for t in wanted}, datasets
                )
                _check_data(loadable, data_dir)
                run_and_tell(
                    quality_tasks(loadable, usable, chosen),
                    store,
                    n_workers=workers,
                    progress=True,
                )
            rows = store.rows(tasks)
    except (MissingPackageError, ValueError, OSError) as error:
        raise _Refusal(str(error)) from None
    if not rows:
        raise _Refusal(f"{out / 'sweep.db'} has no results of what was asked for")
    _write(rows, wanted, chosen, out)


class _Refusal(click.ClickException):
    """One sentence on what is wrong with the input."""

    exit_code = 2


def _installed(
    kind: str, packages: dict[str, tuple[str, ...]], asked: tuple[str, ...]
) -> list[str]:
    """Return what has its packages here; refuse what was asked for and has not."""
    from benchmarks.quality._names import list_of, missing, require

    for name in asked:
        require(f"{kind} {name!r}", packages.get(name, ()))
    absent = {name: lacks for name, p in packages.items() if (lacks := missing(p))}
    if absent:
        needed = dict.fromkeys(p for lacks in absent.values() for p in lacks)
        click.echo(
            f"Not run here, for want of {list_of(needed)}: {list_of(absent)}.", err=True
        )
    return [name for name in packages if name not in absent]


def _check_data(tables: list[str], data_dir: Path | None) -> None:
    """Refuse UCI sets that are not here before anything is fitted."""
    from betanll_paper.datasets import UCI_NAMES, load_uci

    if data_dir is not None:
        # Workers inherit it; where the data is does not belong to a task.
        os.environ["BETANLL_DATA"] = str(data_dir.resolve())
    for name in tables:
        if name in UCI_NAMES:
            load_uci(name)


def _write(
    rows: list[dict[str, object]],
    wanted: dict[str, list[int]],
    splits: list[int],
    out: Path,
) -> None:
    """Write runs, tables and picture, and show the ranks."""
    import pandas as pd
    from benchmarks.quality._methods import VARIANTS
    from benchmarks.quality._picture import write_pictures
    from benchmarks.quality._summary import render, splits_note, summarise
    from benchmarks.quality._tasks import REPORT_SPLITS

    runs = pd.DataFrame(rows)
    summary = summarise(runs, wanted)
    note = splits_note(splits, REPORT_SPLITS)
    paths = []
    for name, frame in {
        "runs.csv": runs,
        "summary.csv": summary.datasets,
        "overall.csv": summary.overall,
    }.items():
        text = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        paths.append(_write_text(out / name, text))
    paths.append(_write_text(out / "summary.md", render(summary, note)))
    if n := len(summary.ranked):
        where = f"{n} dataset{'s' if n > 1 else ''}. {note}"
        paths += write_pictures(summary.overall, out, ours=set(VARIANTS), note=where)
        click.echo(summary.overall.round(3).to_string(index=False))
    for path in paths:
        click.echo(str(path))


def _write_text(path: Path, text: str) -> Path:
    from betanll.files import written_atomically

    with written_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return path


if __name__ == "__main__":
    main()
