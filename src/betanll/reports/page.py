"""A page made of blocks, written as HTML or as Markdown.

All reports and tables of betanll are such pages: the report of a fit, a diagnosis, and
the tables of the paper. Make your own from the same blocks.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from matplotlib import figure as matplotlib_figure

from betanll import __version__
from betanll.reports._svg import inline_svg

Kind: TypeAlias = Literal["good", "note", "warning"]


@dataclass(frozen=True)
class Heading:
    """The title of a section, which ends at the next heading."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """A command or other text in letters of equal width."""

    text: str


@dataclass(frozen=True)
class Finding:
    """One sentence on the results, with an icon and a word for its kind.

    Parameters
    ----------
    kind : {"good", "note", "warning"}
    text : str

    Examples
    --------
    >>> Finding("warning", "Three rows are far off.").kind
    'warning'
    """

    kind: Kind
    text: str

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(
                f"kind must be 'good', 'note' or 'warning', got {self.kind!r}"
            )


@dataclass(frozen=True)
class Card:
    """A number in large letters, its name, and a sentence on what it means."""

    value: str
    label: str
    text: str = ""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure that Matplotlib draws into the HTML page; Markdown has only its words.

    Parameters
    ----------
    figure : matplotlib Figure
        Black and white take the colours of the page's text and background.
    title : str
    caption : str
        What there is to see, below the figure.
    label : str, optional
        Text for screen readers; by default the title.
    """

    figure: matplotlib_figure.Figure
    title: str
    caption: str
    label: str = ""


class Column(NamedTuple):
    """The head of a column: a name, and smaller below it a hint."""

    name: str
    hint: str = ""
    align: Literal["left", "right"] = "right"


class Cell(NamedTuple):
    """An entry of a table.

    Parameters
    ----------
    text : str
    mark : {"", "best", "tied", "good", "note", "warning"}
        "best" and "tied" add a sign and a word, the others a colour.
    share : float in [0, 1], optional
        Drawn as a bar on the HTML page.
    """

    text: str
    mark: Literal["", "best", "tied", Kind] = ""
    share: float | None = None


@dataclass(frozen=True)
class Table:
    """A table, whose first column names the rows.

    Parameters
    ----------
    columns : sequence of str or Column
        Without any, the table has no head, and its texts may be long.
    rows : sequence of sequences of str or Cell
    title, note : str, optional
        Above the table.
    label : str, optional
        What a screen reader calls the table; by default the title.
    """

    columns: Sequence[str | Column]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    note: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if self.columns and len(row) != len(self.columns):
                raise ValueError(
                    f"the row {row[0] if row else ''!r} has {len(row)} cells, but the "
                    f"table has {len(self.columns)} columns"
                )


Block: TypeAlias = Heading | Text | Code | Finding | Card | Picture | Table


@dataclass(frozen=True)
class Page:
    """A title and blocks below each other, as one HTML document or as Markdown.

    Consecutive pictures, cards or tables stand side by side where there is room. The
    HTML document has no script and loads nothing from the network. It supports dark
    mode, phones and screen readers. The same page gives the same text. Write it in
    UTF-8.

    Parameters
    ----------
    title : str
    blocks : sequence of blocks
        :class:`Heading`, :class:`Text`, :class:`Finding`, :class:`Card`,
        :class:`Table`, :class:`Picture` or :class:`Code`.
    footer : str, optional
        A sentence at the end.

    Examples
    --------
    >>> page = Page(
    ...     "Tips",
    ...     [
    ...         Finding("note", "Ten splits."),
    ...         Heading("Results"),
    ...         Table(
    ...             ["Method", Column("CRPS", "lower is better")],
    ...             [["nll", "0.60"], ["beta-nll", Cell("0.54", "best")]],
    ...         ),
    ...     ],
    ... )
    >>> page.html().splitlines()[0]
    '<!doctype html>'
    >>> print(page.markdown())
    # Tips
    <BLANKLINE>
    > **Note:** Ten splits.
    <BLANKLINE>
    ## Results
    <BLANKLINE>
    | Method | CRPS (lower is better) |
    |---|--:|
    | nll | 0.60 |
    | beta-nll | **★ 0.54** |
    <BLANKLINE>
    """

    title: str
    blocks: Sequence[Block]
    footer: str = ""

    def html(self) -> str:
        """Return the page as one HTML document that needs no other file."""
        numbers = itertools.count(1)

        def svg(picture: Picture) -> str:
            label = picture.label or picture.title
            return inline_svg(picture.figure, prefix=f"f{next(numbers)}", label=label)

        return self._rendered(_template("page.html", autoescape=True), svg=svg)

    def markdown(self) -> str:
        """Return the page as Markdown, with titles and captions of the pictures."""
        return self._rendered(_template("page.md", autoescape=False))

    def _rendered(self, template: Template, **names: Any) -> str:
        groups = [
            (kind.__name__, list(blocks))
            for kind, blocks in itertools.groupby(self.blocks, type)
        ]
        return template.render(page=self, groups=groups, version=__version__, **names)


def _template(name: str, *, autoescape: bool) -> Template:
    environment = Environment(
        loader=PackageLoader("betanll.reports"),
        autoescape=autoescape,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        cell=lambda cell: Cell(cell) if isinstance(cell, str) else cell,
        column=lambda column: Column(column) if isinstance(column, str) else column,
        kept=_kept_together,
        plain=_plain_markdown,
    )
    return environment.get_template(name)


def _kept_together(text: str) -> str:
    """Return text in which no line breaks beside "=", after "±" or before "%"."""
    return re.sub(" = |± | %", lambda found: found[0].replace(" ", "\u00a0"), text)


def _plain_markdown(text: str) -> str:
    """Return text on one line that Markdown prints as it is."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(text.splitlines()))
