"""Columns of real tables as numbers: categories, dates, booleans, missing cells.

:class:`ColumnEncoder` is inferred from a training table, stored as JSON, and encodes
the training table and every later one by the same rules. The estimator uses it for data
frames, and the command line through the estimator.
"""

from betanll.columns._cells import (
    MISSING_TEXTS,
    Cells,
    is_number,
    parse_cells,
    target_numbers,
)
from betanll.columns._column import KINDS, Column, check_texts
from betanll.columns._counters import row_counters
from betanll.columns._encoder import ColumnEncoder, check_present
from betanll.columns._errors import TableError, check_known, repeated
from betanll.columns._frame import as_pandas, is_frame, take_rows
from betanll.columns._infer import DECIMAL, infer_notation
from betanll.columns._notation import Notation
from betanll.columns._order import groups_of, sorting_dates, times_of
from betanll.columns._summary import ColumnSummary, summarise
from betanll.columns._training import fit_columns, named_columns

__all__ = [
    "DECIMAL",
    "KINDS",
    "MISSING_TEXTS",
    "Cells",
    "Column",
    "ColumnEncoder",
    "ColumnSummary",
    "Notation",
    "TableError",
    "as_pandas",
    "check_known",
    "check_present",
    "check_texts",
    "fit_columns",
    "groups_of",
    "infer_notation",
    "is_frame",
    "is_number",
    "named_columns",
    "parse_cells",
    "repeated",
    "row_counters",
    "sorting_dates",
    "summarise",
    "take_rows",
    "target_numbers",
    "times_of",
]
