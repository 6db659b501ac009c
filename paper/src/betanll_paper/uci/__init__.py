"""The UCI regression sets: tables 1, S1 and S2."""

from betanll_paper.uci.tables import compare_uci, table_files

__all__ = ["compare_uci", "table_files"]
