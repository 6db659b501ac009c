"""Comparison of our results with the paper's numbers: cells, ties and pages."""

from betanll_paper.comparison.cells import (
    Agreement,
    Cell,
    compare_with_paper,
    count_agreement,
    untrained,
    with_ties,
)
from betanll_paper.comparison.ties import ks_marks

__all__ = [
    "Agreement",
    "Cell",
    "compare_with_paper",
    "count_agreement",
    "ks_marks",
    "untrained",
    "with_ties",
]
