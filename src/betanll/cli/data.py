"""``betanll data``: the paper's data sets on this computer."""

from __future__ import annotations

import gzip
from pathlib import Path

import click

from betanll.cli._output import check_file, naming

_data_dir = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the data.  [default: $BETANLL_DATA, else the user's cache]",
)

# With their usual numbers of rows; spelt out, because --help must be fast.
_GENERATED = {"sine": 1000, "heteroscedastic-sine": 500}


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
@click.argument("name", type=click.Choice(list(_GENERATED)))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="CSV file to write, perhaps compressed (.csv.gz).",
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
    help="Of the noise.",
)
def generate(name: str, out: Path, rows: int | None, seed: int) -> None:
    """Write synthetic data as a table with the columns x and y.

    sine: the curve on which the Gaussian likelihood gets stuck.

    heteroscedastic-sine: a curve whose noise grows with x.
    """
    import numpy as np

    from betanll._files import written_atomically
    from betanll.datasets import heteroscedastic_sine, sine

    if not out.name.endswith((".csv", ".csv.gz")):
        raise click.UsageError(f"--out must end in .csv or .csv.gz, got {out}")
    check_file(out)
    draw = {"sine": sine, "heteroscedastic-sine": heteroscedastic_sine}[name]
    x, y = draw(rows or _GENERATED[name], seed=seed)
    lines = [f"{a!r},{b!r}" for a, b in np.hstack([x, y]).tolist()]
    content = "\n".join(["x,y", *lines, ""]).encode()
    if out.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    with naming(out), written_atomically(out) as temporary:
        temporary.write_bytes(content)
    click.echo(f"{len(x)} rows: {out}")
