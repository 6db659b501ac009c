"""What rows that members have not seen say about the ensemble.

Two members that have not seen a row predict it as two of the ensemble predict a new
one. Half their squared difference estimates the variance of a member, of which their
mean has a half and that of M members an M-th. For one row that is a guess from one
number. The other members, which have seen the row, tell as well where members differ
more than elsewhere; as they know its target they differ too little, and the pairs have
to say how much. What is used is the mean of the guess and of what the others say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from betanll.protocols._columns import Matrix
from betanll.protocols._recipe import (
    Unseen,
    root_mean_square,
    weighted_mean,
    whitened_moments,
)
from betanll.training import FitResult, PackedData

#: Residuals of more rows of each member would hardly change their scale.
_MAX_ROWS = 5000
#: An ensemble is not believed to have less than this share of a member's squared error.
_MIN_SHARE = 0.25


class _Part(NamedTuple):
    """Predictions for rows that one or two members have not seen, (n, n_targets).

    The last two are the variance of a member: a guess for each row, and a number for
    each row that is to be proportional to it.
    """

    residuals: Matrix
    noise: Matrix
    weights: Matrix
    guess: Matrix
    shape: Matrix


def window_start(member: int, n_members: int, n: int, n_validation: int) -> int:
    """Return where the validation window of a member starts.

    Windows are evenly spaced over the rows if each then reaches beyond the middle of
    the one before, so that two members have not seen those rows. Else they are spaced
    such that they do.
    """
    if n_members * n_validation >= 2 * n:
        return member * n // n_members
    return member * -(-n_validation // 2) % n


def unseen_residuals(
    members: Sequence[FitResult], parts: Sequence[PackedData]
) -> tuple[Unseen, Matrix]:
    """Return standardised residuals, and the root mean square of whitened ones.

    Both are of rows that members have not seen, shrunk to the size that residuals of
    the ensemble would have.
    """
    n_members = len(members)
    part = _joined(
        _pair(m, (m + 1) % n_members, members, parts) for m in range(n_members)
    )
    gained = 1 / 2 - 1 / n_members
    if not len(part.residuals):
        # A member alone, or so few rows that windows have none in common.
        part = _joined(_single(m, members, parts[m]) for m in range(n_members))
        gained = 0.0

    def mean(values: Matrix, default: float = 0.0) -> Matrix:
        return weighted_mean(values, part.weights, default=default)

    # Of three members one has seen a row, and differs from nobody.
    shape = np.where(mean(part.shape) > 0, part.shape, part.noise)
    scaled = shape * (mean(part.guess) / mean(shape, default=1.0))
    between = (part.guess + scaled) / 2
    variance = part.noise + (1 - 1 / n_members) * between

    def shrunk(residuals: Matrix, gain: Matrix) -> Matrix:
        total = mean(residuals**2, default=1.0)
        share = 1 - mean(gain) / np.where(total > 0, total, 1.0)
        return residuals * np.sqrt(np.clip(share, _MIN_SHARE, 1.0))

    gain = gained * between
    standardised = shrunk(part.residuals / np.sqrt(variance), gain / variance)
    return (
        Unseen(standardised, part.weights),
        root_mean_square(shrunk(part.residuals, gain), part.weights),
    )


def _pair(
    one: int, two: int, members: Sequence[FitResult], parts: Sequence[PackedData]
) -> _Part:
    """Return what members say of rows that neither of two has seen."""
    part, n = parts[one], len(parts[one])
    n_later = (parts[two].first - part.first) % n if one != two else n
    places = part.n_train + np.arange(n_later, part.n_validation)[:_MAX_ROWS]
    x, y, w = part.samples(places)
    moments = [whitened_moments(member, x) for member in members]
    (mean, noise), (other, its_noise) = moments[one], moments[two]
    rows = (part.first + places) % n
    shape = _variance_of_seers(
        np.stack([its_mean for its_mean, _ in moments]),
        np.stack([(rows - its.first) % n < its.n_train for its in parts]),
    )
    return _Part(
        residuals=y - (mean + other) / 2,
        noise=(noise + its_noise) / 2,
        weights=np.broadcast_to(w, mean.shape).astype(np.float64),
        guess=(mean - other) ** 2 / 2,
        shape=shape,
    )


def _variance_of_seers(means: Matrix, have_seen: npt.NDArray[np.bool_]) -> Matrix:
    """Return the variance among the members that have seen a row, 0 without any."""
    count = np.maximum(have_seen.sum(axis=0), 1)[:, None]
    seen = have_seen[:, :, None]
    centre = np.sum(means, axis=0, where=seen) / count
    return np.sum((means - centre) ** 2, axis=0, where=seen) / count


def _single(m: int, members: Sequence[FitResult], part: PackedData) -> _Part:
    """Return what members say of rows that one of them has not seen."""
    x, y, w = part.samples(part.n_train + np.arange(part.n_validation)[:_MAX_ROWS])
    moments = [whitened_moments(member, x) for member in members]
    mean, noise = moments[m]
    # It is too large where the member is wrong, but there is nobody else to ask.
    between = np.var([its_mean for its_mean, _ in moments], axis=0)
    return _Part(
        residuals=y - mean,
        noise=noise,
        weights=np.broadcast_to(w, mean.shape).astype(np.float64),
        guess=between,
        shape=between,
    )


def _joined(parts: Iterable[_Part]) -> _Part:
    return _Part(*map(np.concatenate, zip(*parts, strict=True)))
