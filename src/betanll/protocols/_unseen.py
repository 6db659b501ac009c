"""What rows that members have not seen say about the ensemble.

Residuals of a member are larger than those of the ensemble, which averages its whims
out. Where two members have not seen a row, half their squared difference estimates the
variance of one of them, and M members have an M-th of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from betanll.protocols._columns import Matrix
from betanll.protocols._recipe import (
    Unseen,
    root_mean_square,
    weighted_mean,
    whitened_moments,
)
from betanll.training import FitResult, PackedData

#: Residuals of more rows of each member would hardly change their scale.
_MAX_ROWS = 20_000
#: Windows that begin further apart, in their own lengths, count as disjoint.
_MAX_STRIDE = 0.75
#: An ensemble is not believed to have less than this share of a member's squared error.
_MIN_SHARE = 0.25


class _Part(NamedTuple):
    """Predictions for validation rows of one member, all of shape (n, n_targets).

    Half the squared difference to a second member that has not seen a row either, and
    the weight of that: zero if there is none.
    """

    residuals: Matrix
    variance: Matrix
    disagreement: Matrix
    weights: Matrix
    half_square: Matrix
    shared_weights: Matrix


def window_start(member: int, n_members: int, n: int) -> int:
    """Return where the validation window of a member starts."""
    return member * n // n_members


def unseen_residuals(
    members: Sequence[FitResult], parts: Sequence[PackedData]
) -> tuple[Unseen, Matrix]:
    """Return standardised residuals, and the root mean square of whitened ones.

    Both are those of members on rows that they have not seen, shrunk to the size that
    residuals of the ensemble would have.
    """
    part = _Part(
        *(
            np.concatenate(columns)
            for columns in zip(
                *(_part(m, members, parts[m]) for m in range(len(members))),
                strict=True,
            )
        )
    )
    averaged = 1 - 1 / len(members)
    shared = part.shared_weights
    # Members that have seen a row agree about it more than they do elsewhere.
    single = weighted_mean(part.half_square, shared, default=0.0)
    seen = weighted_mean(part.disagreement, shared, default=0.0)
    stretch = np.where(seen > 0, averaged * single / np.where(seen > 0, seen, 1), 1.0)
    variance = part.variance + np.maximum(stretch, 1.0) * part.disagreement
    standardised = part.residuals / np.sqrt(variance)

    def shrunk(residuals: Matrix, half_square: Matrix) -> Matrix:
        gain = averaged * weighted_mean(half_square, shared, default=0.0)
        total = weighted_mean(residuals**2, part.weights, default=1.0)
        share = 1 - gain / np.where(total > 0, total, 1.0)
        return residuals * np.sqrt(np.clip(share, _MIN_SHARE, 1.0))

    whitened = shrunk(part.residuals, part.half_square)
    return (
        Unseen(shrunk(standardised, part.half_square / variance), part.weights),
        root_mean_square(whitened, part.weights),
    )


def _part(m: int, members: Sequence[FitResult], part: PackedData) -> _Part:
    n_members, n = len(members), len(part)
    # The window of the next member begins so many rows later.
    stride = window_start(m + 1, n_members, n) - window_start(m, n_members, n)
    n_rows = min(part.n_validation, _MAX_ROWS)
    first = max(0, min(stride - n_rows // 2, part.n_validation - n_rows))
    x, y, w = part.samples(part.n_train + first + np.arange(n_rows))
    moments = [whitened_moments(member, x) for member in members]
    means = [mean for mean, _ in moments]
    weights: Matrix = np.broadcast_to(w, means[m].shape).astype(np.float64)
    # A few rows, by which windows overlap that are meant to be disjoint, say nothing.
    overlaps = n_members > 1 and stride <= _MAX_STRIDE * part.n_validation
    is_shared = overlaps & (first + np.arange(n_rows) >= stride)[:, None]
    return _Part(
        residuals=y - means[m],
        variance=moments[m][1],
        disagreement=np.var(means, axis=0),
        weights=weights,
        half_square=(means[m] - means[(m + 1) % n_members]) ** 2 / 2,
        shared_weights=weights * is_shared,
    )
