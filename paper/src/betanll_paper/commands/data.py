"""``betanll data``: the paper's data sets on this computer."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from betanll.cli.options import MAX_COUNT
from betanll.cli.output import check_file, check_new_folder, example, naming

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


@click.group("data", epilog=example("betanll data download uci"))
def command() -> None:
    """List, download and generate the data sets of the paper."""


@command.command("list", epilog=example("betanll data list"))
@_data_dir
def list_(data_dir: Path | None) -> None:
    """Show the data sets, their sizes, and whether they are here."""
    from betanll_paper.datasets import IMAGE_NAMES, UCI_NAMES, data_directory
    from betanll_paper.datasets.images import image_facts, image_files
    from betanll_paper.datasets.uci import uci_facts, uci_files

    folder = data_directory(data_dir)
    click.echo(f"{'set':19}{'rows':>6}{'inputs':>8}{'splits':>8}  {'here':6}targets")
    for name in UCI_NAMES:
        facts = uci_facts(name)
        click.echo(
            f"{name:19}{facts.n_rows:6}{len(facts.inputs):8}{facts.n_splits:8}"
            f"  {_here(uci_files(name, folder)):6}"
            f"{', '.join(target[2:] for target in facts.targets)}"
        )
    click.echo(f"\n{'images':19}{'train':>6}{'test':>8}{'size':>8}  here")
    for name in IMAGE_NAMES:
        train, test = image_facts(name).train_images, image_facts(name).test_images
        size = "x".join(map(str, train.shape[1:]))
        click.echo(
            f"{name:19}{train.shape[0]:6}{test.shape[0]:8}{size:>8}"
            f"  {_here(image_files(name, folder).values())}"
        )
    click.echo(f"\nFolder: {folder}")
    click.echo(f"To be generated: {', '.join(_GENERATED)}")


def _here(paths: Iterable[Path]) -> str:
    present = [path.is_file() for path in paths]
    return "yes" if all(present) else "half" if any(present) else "no"


@command.command(epilog=example("betanll data download mnist"))
@click.argument("names", nargs=-1, metavar="[NAME...]")
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
    """Download data sets: UCI sets, mnist, fashion-mnist.

    The name uci, or none, stands for all UCI sets; they come from the repository of the
    paper's authors. All files are checked byte for byte. Sets that are here are not
    touched. To resume after an interruption, run the same command again: complete files
    stay, and a broken file starts over.
    """
    from betanll.progress import Progress
    from betanll_paper.commands.downloads import (
        count_files,
        download_set,
        expand,
        is_here,
    )
    from betanll_paper.datasets import data_directory

    folder = data_directory(data_dir)
    missing = []
    for name in expand(names):
        if is_here(name, folder):
            click.echo(f"{name}: already here")
        else:
            missing.append(name)
    n_files = sum(map(count_files, missing))
    with naming(folder), Progress(n_files, "files") as shown:
        n_received = 0

        def progress(n_files: int, n_bytes: int) -> None:
            nonlocal n_received
            n_received += n_bytes
            shown.update(n_files, note=f"{n_received / 1e6:.1f} MB")

        for name in missing:
            size = download_set(
                name, folder, base_url=base_url, timeout=timeout, progress=progress
            )
            shown.say(f"{name}: {size}")
    click.echo(f"Folder: {folder}")


@command.command(epilog=example("betanll data generate sine --out sine.csv"))
@click.argument("name", type=click.Choice(_GENERATED))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="CSV file to write, or .csv.gz; for object-slide and fetch-pick-and-place, a "
    "folder.  [default for fetch-pick-and-place: the folder of `betanll reproduce`]",
)
@click.option(
    "--rows",
    type=click.IntRange(2, MAX_COUNT),
    help="Rows of a curve.  [default: 1000 for sine, 500 for heteroscedastic-sine]",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed of the noise or the episodes.",
)
@click.option(
    "--rollouts",
    type=click.IntRange(7, MAX_COUNT),
    help="Rollouts of 50 steps, for fetch-pick-and-place.  [default: 16800]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, MAX_COUNT),
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

    sine: the curve on which training with NLL gets stuck, as a table with the columns x
    and y.

    heteroscedastic-sine: a curve whose noise grows with x, with the same columns.

    object-slide: an agent that may push an object, as a folder with train.csv.gz,
    validation.csv.gz and test.csv.gz of 60000 transitions each. The target is the
    column change, how far the object moves.

    fetch-pick-and-place: rollouts of a simulated robot, a substitute for the paper's
    unpublished recordings. Takes about a quarter of an hour on two cores. To resume
    after an interruption, run the same command again.
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
    from betanll.datasets import heteroscedastic_sine, sine
    from betanll.files import written_atomically

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
    from betanll.files import folder_written_atomically, write_synced
    from betanll.progress import Progress
    from betanll_paper.simulators import object_slide_splits
    from betanll_paper.simulators.object_slide import OBJECT_SLIDE_COLUMNS

    check_new_folder(out)
    splits = object_slide_splits(seed=seed)._asdict()
    folder = Path(os.path.realpath(out))  # only this can be replaced, not a link to it
    with (
        naming(out),
        folder_written_atomically(folder) as temporary,
        Progress(len(splits), "files") as progress,
    ):
        for part, samples in splits.items():
            content = gzip.compress(_csv(samples, OBJECT_SLIDE_COLUMNS), 6, mtime=0)
            write_synced(temporary / f"{part}.csv.gz", content)
            progress.update()
    for part, samples in splits.items():
        click.echo(f"{len(samples.x)} rows: {out / part}.csv.gz")


def _generate_fetch(
    out: Path | None, rollouts: int | None, seed: int, workers: int | None
) -> None:
    from betanll_paper.datasets import data_directory
    from betanll_paper.simulators import generate_fetch, summarize_fetch

    folder = out or data_directory() / _FETCH
    given = {} if rollouts is None else {"n_rollouts": rollouts}
    try:
        generate_fetch(folder, **given, seed=seed, n_jobs=workers, progress=True)
    except KeyboardInterrupt:
        click.echo(
            f"\nStopped. Run the same command again to resume in {folder}.", err=True
        )
        raise
    summary = summarize_fetch(folder)
    click.echo(f"{'skill':10}{'rollouts':>9}{'object moves':>14}{'arrives':>9}")
    for skill, (n, moving, arrived) in summary.items():
        click.echo(f"{skill:10}{n:9}{100 * moving:13.1f}%{100 * arrived:8.1f}%")
    click.echo(str(folder))


def _csv(samples: Samples, columns: Sequence[str]) -> bytes:
    """Return a table whose numbers are read back bit for bit."""
    import numpy as np

    rows = np.hstack(samples).tolist()
    lines = [",".join(map(repr, row)) for row in rows]
    return "\n".join([",".join(columns), *lines, ""]).encode()
