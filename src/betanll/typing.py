"""Names of types that appear in many signatures."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

#: Numbers in double precision.
Array: TypeAlias = npt.NDArray[np.float64]
#: Positions of rows in a table.
Rows: TypeAlias = npt.NDArray[np.intp]
#: What random numbers are drawn from.
Seed: TypeAlias = int | np.random.Generator | None
