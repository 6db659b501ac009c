"""Which cells of one row widen its interval."""

from __future__ import annotations

import numpy as np

from betanll.evaluation._inputs import InputRows
from betanll.evaluation._why import Driver

#: Smaller factors are not worth a sentence.
_MIN_FACTOR = 1.1
_MAX_DRIVERS = 3
_MAX_PREDICTIONS = 20_000


def max_references(n_columns: int) -> int:
    """Return how many rows lend their cells, fewer if there are many columns."""
    return int(np.clip(_MAX_PREDICTIONS // max(1, n_columns), 20, 100))


def drivers_of(
    row: InputRows, references: InputRows, target: int
) -> tuple[Driver, ...]:
    """Return the columns whose cells widen the interval of a row, most first.

    The cell of one column is replaced by the cells of the reference rows, one after
    the other, while the rest of the row stays.
    """
    n = len(references)
    own = row.predict().std[0, target]
    found = []
    for column in row.columns:
        varied = np.repeat(row.matrix, n, axis=0)
        varied[:, column.places] = references.matrix[:, column.places]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            spread = np.exp(np.mean(np.log(row.predict(varied).std[:, target])))
            factor = float(own / spread)
        if np.isfinite(factor) and factor >= _MIN_FACTOR:
            value = column.cells.shown(float(column.cells.values[0]))
            found.append(Driver(column.name, value, factor))
    found.sort(key=lambda driver: -driver.factor)
    return tuple(found[:_MAX_DRIVERS])
