"""Pages on which our numbers stand beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from betanll import reports
from betanll.reports import Block, Column, Finding, Heading, Page, Table, Text
from betanll_paper.comparison.cells import Verdict

SOURCE = "Seitzer, Tavakoli, Antić and Martius, ICLR 2022, arXiv:2203.09168"
COMPARED = Column("Compared", align="left")

#: A sign and a word, so that readers need no colours; for tables with several seeds.
VERDICTS: dict[Verdict, str] = {
    "agrees": "✓ agrees",
    "better": "✗ better",
    "worse": "✗ worse",
    "not judged": "– one seed",
    "not run": "– not run",
    "not in paper": "– not in the paper",
    "too short": "– too short to judge",
}
#: Larger numbers are printed with an exponent and fewer digits.
_HUGE = 1e4


def spread(mean: float, std: float, digits: int) -> str:
    """Return a mean and its deviation as a table prints them.

    Examples
    --------
    >>> spread(-1.234, 0.5, 2), spread(1.0, float("nan"), 1)
    ('−1.23 ± 0.50', '1.0')
    >>> spread(-79732.18, 138117.0, 2)
    '−8e+04 ± 1.4e+05'
    """
    if not math.isfinite(mean):
        return "not finite"
    values = [mean] if math.isnan(std) else [mean, std]
    form = f"z.{digits}f" if max(map(abs, values)) < _HUGE else ".2g"
    return " ± ".join(f"{value:{form}}" for value in values).replace("-", "−")


def verdict_cell(text: str) -> reports.Cell:
    """Return a verdict in the colour of its sign."""
    signs = {"✓": "good", "✗": "warning", "–": "note"}
    return reports.Cell(text, signs.get(text[0], ""))  # type: ignore[arg-type]


def comparison_page(
    title: str,
    tables: Sequence[Table],
    *,
    preset: str,
    warnings: Sequence[str],
    text: Sequence[str],
    source: str,
) -> Page:
    """Return the page of tables of the paper, with warnings and explanations.

    Parameters
    ----------
    title : str
    tables : sequence of Table
    preset : str
        Name of the settings of the run.
    warnings, text : sequence of str
        Sentences for above the tables.
    source : str
        Which table of the paper it is.
    """
    blocks: list[Block] = [
        *(Finding("warning", warning) for warning in warnings),
        Text(f"Preset: {preset}. {' '.join(text)}"),
        Heading("Results"),
        *tables,
    ]
    return Page(title, blocks, footer=f"Paper: {SOURCE}, {source}.")


def table_csv(table: pd.DataFrame) -> bytes:
    """Return numbers as CSV, in the format of the result files."""
    text: str = table.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    return text.encode()


def page_files(name: str, table: bytes, page: Page) -> dict[str, bytes]:
    """Return the files of a table by their names: its numbers, and the page."""
    return {
        f"{name}.csv": table,
        f"{name}.md": page.markdown().encode(),
        f"{name}.html": page.html().encode(),
    }
