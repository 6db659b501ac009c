"""What rows that members have not seen say about the ensemble.

Two members that have not seen a row predict it as two of the ensemble predict a new
one: half their squared difference estimates the variance of one of them, of which their
mean has a half and that of M members an M-th. Members that have seen the row are asked
only where there are no two that have not: they know its target, and disagree with the
others where those are wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
    """Predictions for rows that one or two members have not seen, (n, n_targets)."""

    residuals: Matrix
    variance: Matrix
    disagreement: Matrix
    weights: Matrix


def window_start(member: int, n_members: int, n: int) -> int:
    """Return where the validation window of a member starts."""
    return member * n // n_members


def unseen_residuals(
    members: Sequence[FitResult], parts: Sequence[PackedData]
) -> tuple[Unseen, Matrix]:
    """Return standardised residuals, and the root mean square of whitened ones.

    Both are of rows that members have not seen, shrunk to the size that residuals of
    the ensemble would have.
    """
    n_members, n = len(members), len(parts[0])
    # A few rows, by which windows overlap that are meant to be disjoint, say nothing.
    are_pairs = n_members > 1 and n / n_members <= _MAX_STRIDE * parts[0].n_validation
    judged = _pair if are_pairs else _single
    columns = zip(
        *(judged(m, members, parts[m]) for m in range(n_members)), strict=True
    )
    part = _Part(*map(np.concatenate, columns))
    if are_pairs:
        added = (1 - 1 / n_members) * part.disagreement
        gain = (1 / 2 - 1 / n_members) * part.disagreement
    else:
        # It is too large where the member is wrong, but there is nobody else to ask.
        added = part.disagreement
        gain = np.zeros_like(added)
    variance = part.variance + added

    def shrunk(residuals: Matrix, gain: Matrix) -> Matrix:
        less = weighted_mean(gain, part.weights, default=0.0)
        total = weighted_mean(residuals**2, part.weights, default=1.0)
        share = 1 - less / np.where(total > 0, total, 1.0)
        return residuals * np.sqrt(np.clip(share, _MIN_SHARE, 1.0))

    standardised = shrunk(part.residuals / np.sqrt(variance), gain / variance)
    return (
        Unseen(standardised, part.weights),
        root_mean_square(shrunk(part.residuals, gain), part.weights),
    )


def _pair(m: int, members: Sequence[FitResult], part: PackedData) -> _Part:
    """Return what a member and the next one say of rows that neither has seen."""
    n_members, n = len(members), len(part)
    # The window of the next member begins so many rows later.
    stride = window_start(m + 1, n_members, n) - window_start(m, n_members, n)
    x, y, w = _validation_rows(part, stride)
    (mean, variance), (other, its_variance) = (
        whitened_moments(member, x)
        for member in (members[m], members[(m + 1) % n_members])
    )
    return _Part(
        residuals=y - (mean + other) / 2,
        variance=(variance + its_variance) / 2,
        disagreement=(mean - other) ** 2 / 2,
        weights=np.broadcast_to(w, mean.shape).astype(np.float64),
    )


def _single(m: int, members: Sequence[FitResult], part: PackedData) -> _Part:
    """Return what a member says of its own rows, and how much all members differ."""
    x, y, w = _validation_rows(part, 0)
    moments = [whitened_moments(member, x) for member in members]
    mean, variance = moments[m]
    return _Part(
        residuals=y - mean,
        variance=variance,
        disagreement=np.var([mean for mean, _ in moments], axis=0),
        weights=np.broadcast_to(w, mean.shape).astype(np.float64),
    )


def _validation_rows(part: PackedData, first: int) -> tuple[Any, ...]:
    n_rows = max(0, min(part.n_validation - first, _MAX_ROWS))
    return part.samples(part.n_train + first + np.arange(n_rows))
