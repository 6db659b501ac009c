"""What rows that members have not seen say about the ensemble.

Two members that have not seen a row predict it as two of the ensemble predict a new
one. Half their squared difference estimates the variance of a member, of which their
mean has a half and that of M members an M-th. For one row that is a guess from one
number. The other members, which have seen the row, tell as well where members differ
more than elsewhere; as they know its target they differ too little, and the pairs have
to say how much. What is used is a mean of the guess and of what the others say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from betanll.model_selection._plan import (
    HeldOutResiduals,
    root_mean_square,
    weighted_mean,
    whitened_moments,
)
from betanll.model_selection._windows import Window, are_paired, shared_rows
from betanll.preprocessing import Matrix
from betanll.training import Data, FitResult

#: Residuals of more rows would hardly change their scale.
_MAX_ROWS = 50_000
#: Lower bound on the squared error of the ensemble relative to one member; smaller
#: estimates are treated as chance.
_MIN_SHARE = 0.25


class _Part(NamedTuple):
    """Predictions for rows that one or two members have not seen, (n, n_targets).

    The last two are about the variance of a member: a guess for each row, and a number
    that is to be proportional to it, 0 where nobody tells.
    """

    residuals: Matrix
    noise: Matrix
    weights: Matrix
    guess: Matrix
    shape: Matrix


def held_out_residuals(
    members: Sequence[FitResult], parts: Sequence[Data]
) -> tuple[HeldOutResiduals, Matrix]:
    """Return standardised residuals, and the root mean square of whitened ones.

    Both are of rows that members have not seen, shrunk to the size that residuals of
    the ensemble would have.
    """
    n_members, places = len(members), range(len(members))
    if are_paired([_window(part) for part in parts], len(parts[0])):
        part = _joined(_pair(m, (m + 1) % n_members, members, parts) for m in places)
        gained = 1 / 2 - 1 / n_members
    else:
        part = _joined(_single(m, members, parts[m]) for m in places)
        gained = 0.0
    between = _between(part, n_members)
    variance = part.noise + (1 - 1 / n_members) * between

    def shrunk(residuals: Matrix, gain: Matrix) -> Matrix:
        total = weighted_mean(residuals**2, part.weights, default=1.0)
        less = weighted_mean(gain, part.weights, default=0.0)
        share = 1 - less / np.where(total > 0, total, 1.0)
        return residuals * np.sqrt(np.clip(share, _MIN_SHARE, 1.0))

    gain = gained * between
    standardised = shrunk(part.residuals / np.sqrt(variance), gain / variance)
    return (
        HeldOutResiduals(standardised, part.weights),
        root_mean_square(shrunk(part.residuals, gain), part.weights),
    )


def _between(part: _Part, n_members: int) -> Matrix:
    """Return the variance of a member, for each row."""
    is_told = part.shape > 0
    usual = weighted_mean(part.shape, part.weights * is_told, default=0.0)
    relative = np.where(is_told, part.shape / np.where(usual > 0, usual, 1.0), 1.0)
    # Of three members one has seen a row, and differs from nobody.
    usual_noise = weighted_mean(part.noise, part.weights, default=1.0)
    relative = np.where(usual > 0, relative, part.noise / usual_noise)
    told = relative * weighted_mean(part.guess, part.weights, default=0.0)
    # Two members alone differ on a new row by just such a guess.
    share = max(1 / 2, 1 / math.sqrt(max(n_members - 1, 1)))
    return share * part.guess + (1 - share) * told


def _pair(
    one: int, two: int, members: Sequence[FitResult], parts: Sequence[Data]
) -> _Part:
    """Return what members say of rows that neither of two has seen."""
    part, n = parts[one], len(parts[one])
    shared = shared_rows(_window(part), _window(parts[two]), n)
    places = part.n_train + np.array(shared, np.intp)
    places = places[: _MAX_ROWS // len(members)]
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


def _window(part: Data) -> Window:
    return Window((part.first + part.n_train) % len(part), part.n_validation)


def _variance_of_seers(means: Matrix, have_seen: npt.NDArray[np.bool_]) -> Matrix:
    """Return the variance among the members that have seen a row, 0 without two."""
    count = have_seen.sum(axis=0)[:, None]
    seen = have_seen[:, :, None]
    centre = np.sum(means, axis=0, where=seen) / np.maximum(count, 1)
    squares = np.sum((means - centre) ** 2, axis=0, where=seen)
    return np.where(count > 1, squares / np.maximum(count - 1, 1), 0)


def _single(m: int, members: Sequence[FitResult], part: Data) -> _Part:
    """Return what members say of rows that one of them has not seen."""
    n_members = len(members)
    places = part.n_train + np.arange(part.n_validation)[: _MAX_ROWS // n_members]
    x, y, w = part.samples(places)
    moments = [whitened_moments(member, x) for member in members]
    mean, noise = moments[m]
    # It is too large where the member is wrong, but there is nobody else to ask.
    variance = np.var([its_mean for its_mean, _ in moments], axis=0)
    between = variance * n_members / max(n_members - 1, 1)
    return _Part(
        residuals=y - mean,
        noise=noise,
        weights=np.broadcast_to(w, mean.shape).astype(np.float64),
        guess=between,
        shape=between,
    )


def _joined(parts: Iterable[_Part]) -> _Part:
    return _Part(*map(np.concatenate, zip(*parts, strict=True)))
