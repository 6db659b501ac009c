"""The sizes of residuals, on a logarithmic axis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from betanll._arrays import as_array
from betanll.typing import Array


class LogResidualHistogram(NamedTuple):
    """Counts of residuals by the logarithm of their size.

    Parameters
    ----------
    edges : array of shape (n_bins + 1,)
        In decades, ``log10(abs(residual))``.
    counts : array of shape (n_bins,)
    rmse : float
        Root mean square of the residuals, not a logarithm.
    """

    edges: Array
    counts: NDArray[Any]
    rmse: float


def log_residual_histogram(
    residual: ArrayLike, bins: int | ArrayLike = 50, *, floor: float = 1e-12
) -> LogResidualHistogram:
    """Count residuals by ``log10(abs(residual))``.

    Two humps mean that the network fits some points and neglects others, which form the
    right hump. A network that fits all points shows one hump.

    Parameters
    ----------
    residual : array
        Of any shape, in the unit of the target; NaN entries are left out.
    bins : int or array of edges, default=50
        Their number, from the smallest to the largest residual, or their edges in
        decades. Residuals outside the edges are not counted.
    floor : float, default=1e-12
        Smaller residuals, such as zero, count as this.

    Examples
    --------
    >>> log_residual_histogram([0.1, -0.1, 100.0], bins=[-2, 0, 2, 4]).counts
    array([2, 0, 1])
    """
    values = as_array(residual).ravel()
    values = values[~np.isnan(values)]
    if not values.size:
        raise ValueError("there is no residual")
    if not np.all(np.isfinite(values)):
        raise ValueError("residual has infinite entries")
    if not floor > 0:
        raise ValueError(f"floor must be positive, got {floor}")
    decades = np.log10(np.maximum(np.abs(values), floor))
    counts, edges = np.histogram(decades, bins)
    return LogResidualHistogram(
        as_array(edges), counts, float(np.sqrt(np.mean(values**2)))
    )
