"""``betanll data``: the paper's data sets on this computer."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from betanll.cli._output import check_file, check_new_folder, naming

if TYPE_CHECKING:
    from betanll.datasets import Samples

_data_dir = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the data.  [default: $BETANLL_DATA, else the user's cache]",
)

# With their usual numbers of rows; spelt out, because --help must be fast.
_CURVES = {"sine": 1000, "heteroscedastic-sine": 500}
_FETCH = "fetch-pick-and-place"
_GENERATED = (*_CURVES, "object-slide", _FETCH)


@click.group("data")
def command() -> None:
    """List, download and generate the data sets of the paper."""


@command.command("list")
@_data_dir
def list_(data_dir: Path | None) -> None:
    """Show the data sets, their sizes, and whether they are here."""
    from betanll.datasets import UCI_NAMES, data_directory
    from betanll.datasets._uci import uci_facts, uci_files

    folder = data_directory(data_dir)
    click.echo(f"{'set':19}{'rows':>6}{'inputs':>8}{'splits':>8}  {'here':6}targets")
    for name in UCI_NAMES:
        facts = uci_facts(name)
        n_present = sum(path.is_file() for path in uci_files(name, folder))
        here = ("no", "half", "yes")[n_present]
        click.echo(
            f"{name:19}{facts.n_rows:6}{len(facts.inputs):8}{facts.n_splits:8}"
            f"  {here:6}{', '.join(target[2:] for target in facts.targets)}"
        )
    click.echo(f"\nFolder: {folder / 'uci'}")
    click.echo(f"To be generated: {', '.join(_GENERATED)}")


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME...|uci]")
@_data_dir
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds for which the server may be silent.",
)
@click.option("--base-url", envvar="BETANLL_DATA_URL", hidden=True)
def download(
    names: tuple[str, ...], data_dir: Path | None, timeout: float, base_url: str | None
) -> None:
    """Download data sets, all UCI sets if none is named.

    They come from the repository of the paper's authors and are checked byte for byte.
    Sets that are here are not touched. After an interruption the same command goes on
    where it stopped.
    """
    from tqdm import tqdm

    from betanll.datasets import (
        UCI_NAMES,
        DataError,
        data_directory,
        download_uci,
        load_uci,
    )
    from betanll.datasets._uci_download import BASE_URL, uci_sources

    folder = data_directory(data_dir)
    missing = []
    for name in _wanted(names, UCI_NAMES):
        uci_sources(name)  # refuses an unknown name
        try:
            load_uci(name, folder)
        except DataError:
            missing.append(name)
        else:
            click.echo(f"{name}: already here")
    n_files = sum(len(uci_sources(name)) for name in missing)
    with (
        naming(folder),
        tqdm(total=n_files, unit=" files", delay=2, leave=False, disable=None) as bar,
    ):
        n_received = 0

        def progress(n_files: int, n_bytes: int) -> None:
            nonlocal n_received
            n_received += n_bytes
            bar.set_postfix_str(f"{n_received / 1e6:.1f} MB", refresh=False)
            bar.update(n_files)

        for name in missing:
            table = download_uci(
                name,
                folder,
                base_url=base_url or BASE_URL,
                timeout=timeout,
                progress=progress,
            )
            bar.clear()
            click.echo(f"{name}: {len(table.x)} rows, {table.n_splits} splits")
    click.echo(f"Folder: {folder / 'uci'}")


def _wanted(names: tuple[str, ...], known: tuple[str, ...]) -> list[str]:
    """Return each name once; ``uci``, or none, stands for all sets."""
    expanded: list[str] = []
    for name in names or ("uci",):
        expanded += known if name == "uci" else [name]
    return list(dict.fromkeys(expanded))


@command.command()
@click.argument("name", type=click.Choice(_GENERATED))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="CSV file to write, perhaps compressed (.csv.gz); for the last two a folder.  "
    "[default for fetch-pick-and-place: where `betanll reproduce` looks for it]",
)
@click.option(
    "--rows",
    type=click.IntRange(min=2),
    help="[default: 1000 for sine, 500 for heteroscedastic-sine]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of the noise or the episodes.",
)
@click.option(
    "--rollouts",
    type=click.IntRange(min=7),
    help="Of 50 steps each, for fetch-pick-and-place.  [default: 16800]",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Processes, for fetch-pick-and-place.  [default: one for each core]",
)
def generate(
    name: str,
    out: Path | None,
    rows: int | None,
    seed: int,
    rollouts: int | None,
    workers: int | None,
) -> None:
    """Write synthetic data.

    sine: the curve on which the Gaussian likelihood gets stuck, as a table with the
    columns x and y.

    heteroscedastic-sine: a curve whose noise grows with x, likewise.

    object-slide: an agent that may push an object, as a folder with train.csv.gz,
    validation.csv.gz and test.csv.gz of 60000 transitions each. The target is the
    column change, how far the object moves.

    fetch-pick-and-place: rollouts of a simulated robot, about a quarter of an hour on
    two cores. After an interruption the same command goes on where it stopped. They are
    a substitute for the recordings of the paper, which were never published.
    """
    given = {
        "--rows": (rows, name in _CURVES),
        "--rollouts": (rollouts, name == _FETCH),
        "--workers": (workers, name == _FETCH),
    }
    for option, (value, concerns) in given.items():
        if value is not None and not concerns:
            raise click.UsageError(f"{option} does not concern {name}.")
    if name == _FETCH:
        _generate_fetch(out, rollouts, seed, workers)
    elif out is None:
        raise click.UsageError("Missing option '--out'.")
    elif name in _CURVES:
        _generate_curve(name, out, rows or _CURVES[name], seed)
    else:
        _generate_object_slide(out, seed)


def _generate_curve(name: str, out: Path, rows: int, seed: int) -> None:
    from betanll._files import written_atomically
    from betanll.datasets import heteroscedastic_sine, sine

    if not out.name.endswith((".csv", ".csv.gz")):
        raise click.UsageError(f"--out must end in .csv or .csv.gz, got {out}")
    check_file(out)
    draw = {"sine": sine, "heteroscedastic-sine": heteroscedastic_sine}[name]
    samples = draw(rows, seed=seed)
    content = _csv(samples, ("x", "y"))
    if out.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    with naming(out), written_atomically(out) as temporary:
        temporary.write_bytes(content)
    click.echo(f"{rows} rows: {out}")


def _generate_object_slide(out: Path, seed: int) -> None:
    from tqdm import tqdm

    from betanll._files import folder_written_atomically, write_synced
    from betanll.datasets import object_slide_splits
    from betanll.datasets._object_slide import OBJECT_SLIDE_COLUMNS

    check_new_folder(out)
    splits = object_slide_splits(seed=seed)._asdict()
    bar = tqdm(splits.items(), unit=" files", delay=2, leave=False, disable=None)
    folder = Path(os.path.realpath(out))  # only this can be replaced, not a link to it
    with naming(out), folder_written_atomically(folder) as temporary:
        for part, samples in bar:
            content = gzip.compress(_csv(samples, OBJECT_SLIDE_COLUMNS), 6, mtime=0)
            write_synced(temporary / f"{part}.csv.gz", content)
    for part, samples in splits.items():
        click.echo(f"{len(samples.x)} rows: {out / part}.csv.gz")


def _generate_fetch(
    out: Path | None, rollouts: int | None, seed: int, workers: int | None
) -> None:
    from betanll.datasets import data_directory
    from betanll.dynamics import generate_fetch, summarize_fetch

    folder = out or data_directory() / _FETCH
    given = {} if rollouts is None else {"n_rollouts": rollouts}
    try:
        generate_fetch(folder, **given, seed=seed, n_jobs=workers, progress=True)
    except KeyboardInterrupt:
        click.echo(
            f"\nStopped; the same command goes on with what is in {folder}.", err=True
        )
        raise
    summary = summarize_fetch(folder)
    click.echo(f"{'skill':10}{'rollouts':>9}{'object moves':>14}{'arrives':>9}")
    for skill, (n, moving, arrived) in summary.items():
        click.echo(f"{skill:10}{n:9}{100 * moving:12.1f} %{100 * arrived:7.1f} %")
    click.echo(str(folder))


def _csv(samples: Samples, columns: Sequence[str]) -> bytes:
    """Return a table whose numbers are read back bit for bit."""
    import numpy as np

    rows = np.hstack(samples).tolist()
    lines = [",".join(map(repr, row)) for row in rows]
    return "\n".join([",".join(columns), *lines, ""]).encode()
