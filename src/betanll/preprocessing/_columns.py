"""Maps of the columns of a table, worked out piece by piece."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

#: Rows worked on at a time: the temporary arrays stay small whatever the data.
_CHUNK = 16384


class InputMap(ABC):
    """What turns rows of a table into what a network reads."""

    @abstractmethod
    def blocks(
        self,
        values: npt.NDArray[np.floating],
        rows: npt.NDArray[np.intp] | None = None,
    ) -> Iterator[Matrix]:
        """Yield these rows piece by piece as the network reads them."""

    def apply(
        self,
        values: npt.NDArray[np.floating],
        rows: npt.NDArray[np.intp] | None = None,
    ) -> npt.NDArray[np.float32]:
        """Return these rows as the network reads them."""
        n = len(values) if rows is None else len(rows)
        mapped = np.empty((n, values.shape[1]), np.float32)
        first = 0
        for block in self.blocks(values, rows):
            mapped[first : first + len(block)] = block
            first += len(block)
        return mapped


def blocks(
    values: npt.NDArray[np.floating], rows: npt.NDArray[np.intp] | None = None
) -> Iterator[Matrix]:
    """Yield these rows in double precision piece by piece."""
    n = len(values) if rows is None else len(rows)
    for first in range(0, n, _CHUNK):
        place = slice(first, first + _CHUNK)
        part = values[place] if rows is None else values[rows[place]]
        yield part.astype(np.float64, copy=False)
