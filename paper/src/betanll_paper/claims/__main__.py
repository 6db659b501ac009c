"""Write the overview from the committed results.

python -m betanll_paper.claims
"""

from __future__ import annotations

from pathlib import Path

import click

from betanll.files import write_files
from betanll_paper.claims.overview import render_overview


@click.command()
@click.option(
    "--results",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("paper/results"),
    show_default=True,
    help="Folder of the committed results.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("paper/docs"),
    show_default=True,
    help="Folder for overview.md.",
)
def main(results: Path, out: Path) -> None:
    """Write overview.md: every claim of the paper with a verdict."""
    for path in write_files(out, {"overview.md": render_overview(results).encode()}):
        click.echo(path)


if __name__ == "__main__":
    main()
