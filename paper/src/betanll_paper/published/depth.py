"""The depth models of the paper: Table S4, and its excerpt in Table 3."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from betanll_paper.published.methods import METHODS, Method, paper_rows

#: Losses of depth regression that are no objectives of the library.
L1, SCALE_INVARIANT = Method("l1"), Method("scale-invariant")
#: Ours and the paper's own runs, in the order of Table S4.
ROWS = (
    *(method for method in METHODS if method.name in ("beta-nll", "mse")),
    L1,
    SCALE_INVARIANT,
)
#: Those of Table 3.
SELECTED = (
    *(Method(f"beta-nll:{beta}") for beta in (0.0, 0.5, 1.0)),
    *(Method("mse"), L1, SCALE_INVARIANT),
)
#: Those of figure S6.
SHOWN = (
    *(Method(f"beta-nll:{beta}") for beta in (0.0, 0.5, 0.75, 1.0)),
    Method("mse"),
)
#: Columns of Table S4 with their names and decimals.
METRICS = {
    "delta1": ("δ1 ↑", 4),
    "delta2": ("δ2 ↑", 4),
    "delta3": ("δ3 ↑", 4),
    "rel": ("REL ↓", 4),
    "rmse": ("RMSE ↓", 4),
    "log10": ("log10 ↓", 4),
    "log_likelihood": ("LL ↑", 2),
}


class PaperLine(NamedTuple):
    """A line of Table S4 as it is printed; an empty number is not in the paper."""

    method: Method
    source: str
    numbers: dict[str, str]


@cache
def paper_lines() -> tuple[PaperLine, ...]:
    """Return Table S4.

    Examples
    --------
    >>> line = paper_lines()[2]
    >>> line.method.label, line.numbers["rmse"]
    ('β-NLL, β = 0.5', '0.3789')
    """
    return tuple(
        PaperLine(
            Method.of_row(row), row["source"], {name: row[name] for name in METRICS}
        )
        for row in paper_rows("tableS4.csv")
    )
