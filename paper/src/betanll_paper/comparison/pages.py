"""Pages on which our numbers stand beside the paper's."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from betanll import __version__
from betanll.reports.pages import environment
from betanll_paper.comparison.cells import Verdict

SOURCE = "Seitzer, Tavakoli, Antić and Martius, ICLR 2022, arXiv:2203.09168"

#: A sign and a word, so that nothing hangs on colour.
VERDICTS: dict[Verdict, str] = {
    "agrees": "✓ agrees",
    "better": "✗ better",
    "worse": "✗ worse",
    "not judged": "– one split",
    "not run": "– not run",
    "not in paper": "– not in the paper",
}


class Section(NamedTuple):
    """A table: a line is a name, some numbers, and how they compare."""

    title: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Page:
    """A table of the paper with everything that is said about it."""

    title: str
    preset: str
    warnings: Sequence[str]
    text: Sequence[str]
    sections: Sequence[Section]
    source: str


#: From here on the size matters and not the digits.
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


def render_markdown(page: Page) -> str:
    """Return the page as Markdown."""
    templates = environment("betanll_paper", autoescape=False)
    templates.filters["plain"] = escaped_markdown
    return templates.get_template("comparison.md").render(page=page)


def render_html(page: Page) -> str:
    """Return the page as one HTML document without scripts or outside requests."""
    template = environment("betanll_paper").get_template("comparison.html")
    return template.render(page=page, version=__version__)


def page_files(name: str, table: pd.DataFrame, page: Page) -> dict[str, bytes]:
    """Return the files of a table by their names: its numbers, and the page."""
    texts = {
        "csv": table.to_csv(index=False, float_format="%.10g", lineterminator="\n"),
        "md": render_markdown(page),
        "html": render_html(page),
    }
    return {f"{name}.{end}": text.encode() for end, text in texts.items()}


def escaped_markdown(text: str) -> str:
    """Return text that Markdown prints as it is."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", text)
