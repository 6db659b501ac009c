"""The UCI regression sets: tables 1, S1 and S2."""

from betanll_paper.uci.render import write_tables
from betanll_paper.uci.runs import read_runs

__all__ = ["read_runs", "write_tables"]
