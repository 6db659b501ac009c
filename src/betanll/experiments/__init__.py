"""The experiments of the paper, and their results beside the paper's numbers."""

from __future__ import annotations

from betanll.experiments._figures import figure_tasks, write_figures
from betanll.experiments._ks import ks_marks
from betanll.experiments._paper import Method, PaperCell
from betanll.experiments._render import write_tables
from betanll.experiments._uci_runs import read_runs
from betanll.experiments._uci_tables import (
    Agreement,
    Cell,
    compare_with_paper,
    count_agreement,
    summarise,
)

__all__ = [
    "Agreement",
    "Cell",
    "Method",
    "PaperCell",
    "compare_with_paper",
    "count_agreement",
    "figure_tasks",
    "ks_marks",
    "read_runs",
    "summarise",
    "write_figures",
    "write_tables",
]
