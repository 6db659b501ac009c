"""Tables in files: from a CSV or Parquet file to a model, twice in the same way.

:func:`open_table` detects how a file is written and reads it whole or in chunks.
:class:`TableSchema` says which columns are targets, inputs and ids; how inputs become
numbers is :mod:`betanll.columns`. :class:`TableModel`, which loads on first use because
it needs JAX, goes from a file to a model and a report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from betanll.columns import TableError
from betanll.tables._file import TableFile
from betanll.tables._open import open_table
from betanll.tables._schema import TableSchema
from betanll.tables._training import TrainingTable

if TYPE_CHECKING:
    from betanll.tables._model import TableModel

__all__ = [
    "TableError",
    "TableFile",
    "TableModel",
    "TableSchema",
    "TrainingTable",
    "open_table",
]


def __getattr__(name: str) -> Any:
    if name == "TableModel":
        from betanll.tables._model import TableModel

        return TableModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
