"""Tables in files: CSV or Parquet in, float64 matrices out, twice in the same way.

`open_table` finds out how a file is written and reads it whole or in chunks.
`TableSchema` is inferred from the training table, stored as JSON, and turns the
training table and every later one into numbers by the same rules.
"""

from betanll.tables._errors import TableError
from betanll.tables._file import TableFile
from betanll.tables._open import open_table
from betanll.tables._schema import Column, TableSchema

__all__ = ["Column", "TableError", "TableFile", "TableSchema", "open_table"]
