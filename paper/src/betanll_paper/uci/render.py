"""The tables of the UCI benchmark as CSV, Markdown and HTML files."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from betanll import __version__
from betanll.files import write_files
from betanll.reports.pages import environment
from betanll_paper.comparison.cells import Cell, compare_with_paper
from betanll_paper.comparison.pages import escaped_markdown
from betanll_paper.published.methods import Mark
from betanll_paper.published.uci import paper_ties
from betanll_paper.uci.pages import TITLES, Page, cells_of, count_ties, page_of


def write_tables(
    runs: pd.DataFrame,
    folder: str | os.PathLike[str],
    artefacts: Sequence[str] = ("tableS1", "tableS2", "table1"),
    *,
    preset: str,
) -> list[Path]:
    """Write tables of the UCI benchmark beside the paper's numbers.

    Each is written three times: as CSV with all digits and all cells, as Markdown, and
    as an HTML page that needs no other file.

    Parameters
    ----------
    runs : DataFrame
        As :func:`read_runs` returns it.
    folder : path
        Made if it does not exist. Files of the same names are replaced.
    artefacts : sequence of {"tableS1", "tableS2", "table1"}
        Log-likelihood, RMSE, and the overview with the number of ties.
    preset : str
        Name of the settings of the run, which the tables state. Unless it is
        ``"paper"`` or ``"laptop"`` they warn that the training may be shortened.

    Returns
    -------
    list of Path
        The files, for example ``tableS1.csv``, ``tableS1.md`` and ``tableS1.html``.
    """
    for artefact in artefacts:
        if artefact not in TITLES:
            raise ValueError(
                f"artefacts must be among {', '.join(TITLES)}, got {artefact!r}"
            )
    cells = compare_with_paper(runs)
    files: dict[str, bytes] = {}
    for artefact in artefacts:
        files |= table_files(artefact, cells, preset=preset)
    return write_files(folder, files)


def table_files(
    artefact: str, cells: Sequence[Cell], *, preset: str
) -> dict[str, bytes]:
    """Return the files of a table by their names."""
    page = page_of(artefact, cells, preset=preset)
    texts = {
        "csv": render_csv(artefact, cells, preset=preset),
        "md": render_markdown(page),
        "html": render_html(page),
    }
    return {f"{artefact}.{end}": text.encode() for end, text in texts.items()}


def render_csv(artefact: str, cells: Sequence[Cell], *, preset: str) -> str:
    """Return a line for each cell; empty where there is no number."""
    has_ties = artefact == "table1"
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    ties_head = ["ties", "ties_datasets", "paper_ties_of_12"] if has_ties else []
    writer.writerow(
        [
            *("metric", "dataset", "method", "beta", "n_splits", "mean", "std", "mark"),
            *("paper_n_splits", "paper_mean", "paper_std", "paper_mark"),
            *("difference", "tolerance", "verdict", *ties_head, "preset"),
        ]
    )
    for cell in cells_of(artefact, cells):
        paper = cell.paper
        ties: list[int | None] = []
        if has_ties:
            ours, _, n = count_ties(cells, cell.metric, cell.method)
            ties = [ours if n else None, n, paper_ties(cell.metric).get(cell.method)]
        writer.writerow(
            [
                *(cell.metric, cell.dataset, *cell.method, cell.n_splits),
                *(_number(cell.mean), _number(cell.std), cell.mark),
                *((paper.n_splits, paper.mean, paper.std) if paper else ("", "", "")),
                paper.mark if paper else "",
                _number(cell.mean - paper.mean) if paper else "",
                *(_number(cell.tolerance), cell.verdict, *ties, preset),
            ]
        )
    return file.getvalue()


def render_markdown(page: Page) -> str:
    """Return the page as Markdown, a table for each dataset."""
    templates = environment("betanll_paper", autoescape=False)
    templates.filters.update(marked=_marked_markdown, plain=escaped_markdown)
    return templates.get_template("uci_table.md").render(page=page)


def render_html(page: Page) -> str:
    """Return the page as one HTML document without scripts or outside requests."""
    template = environment("betanll_paper").get_template("uci_table.html")
    return template.render(page=page, version=__version__)


def _marked_markdown(text: str, mark: Mark) -> str:
    marked: dict[Mark, Callable[[str], str]] = {
        "best": lambda text: f"**{text}**",
        "tied": lambda text: f"{text} †",
        "": lambda text: text,
    }
    return marked[mark](text)


def _number(value: float) -> float | str:
    return "" if math.isnan(value) else value
