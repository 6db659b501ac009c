"""The rule that tells misfit from noise.

NLL gives a point less weight the larger its predicted variance. This is right if the
variance is noise, and the pitfall if it is misfit. To distinguish them, compare with an
objective that weights all points alike. It predicts misfit points much better, and
noise no better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from betanll.diagnostics import (
    effective_sample_fraction,
    log_variance_spread,
    starved_fraction,
)
from betanll.typing import Array

#: The squared error of NLL must fall by this share with another objective ...
MIN_GAIN = 0.25
#: ... and by this one at the lower end of a one-sided 95% interval ...
MIN_LOW_GAIN = 0.1
#: ... and at least this share of the gain must lie in points with less than average
#: weight.
MIN_IGNORED_SHARE = 0.5

RULE = (
    "NLL starves points if another objective, trained on the same rows, "
    f"lowers the squared error on held-out rows by at least {MIN_GAIN:.0%} (by "
    f"{MIN_LOW_GAIN:.0%} at the lower end of a one-sided 95% interval), and at "
    f"least {MIN_IGNORED_SHARE:.0%} of that gain lies in rows to which NLL gives less "
    "than average weight."
)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Measurements on held-out rows of a network trained with NLL.

    Parameters
    ----------
    pitfall : bool
        The verdict of the rule.
    challenger : str
        The objective that NLL is compared with.
    gain : float
        Share of the squared error of NLL that the challenger removes.
    gain_low : float
        Lower end of the one-sided 95% interval of `gain`.
    ignored_share : float
        Share of the gain in rows to which NLL gives less than average weight.
    effective_sample_fraction, starved_fraction, log_variance_spread : float
        Of the training rows under NLL; a row is starved if its weight is below a
        twentieth of the average.
    weight : array of shape (n,)
        Weights of the held-out rows relative to the average training row.
    reduction : array of shape (n,)
        Reduction of the squared error of each held-out row by the challenger, in units
        of the target's spread.
    """

    pitfall: bool
    challenger: str
    gain: float
    gain_low: float
    ignored_share: float
    effective_sample_fraction: float
    starved_fraction: float
    log_variance_spread: float
    weight: Array
    reduction: Array


def judge(
    squared_errors: Mapping[str, npt.ArrayLike],
    *,
    subject: str,
    challenger: str,
    variance: npt.ArrayLike,
    training_variance: npt.ArrayLike,
) -> Evidence:
    """Apply the rule to predictions of any models.

    Parameters
    ----------
    squared_errors : mapping of str to array of shape (n,)
        Of held-out rows, averaged over targets in units of their spread; NaN where the
        target is missing.
    subject, challenger : str
        Names of NLL and of the other model in the mapping.
    variance : array of shape (n, d)
        Variances that NLL predicts for the same rows.
    training_variance : array of shape (m, d)
        Variances that NLL predicts for its training rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> known, unknown = np.full(100, 1e-4), np.full(100, 1.0)
    >>> variance = np.concatenate([known, unknown])[:, None]
    >>> misfit = variance[:, 0] * rng.chisquare(1, 200)
    >>> evidence = judge(
    ...     {"nll": misfit, "mse": 1e-4 * rng.chisquare(1, 200)},
    ...     subject="nll",
    ...     challenger="mse",
    ...     variance=variance,
    ...     training_variance=variance,
    ... )
    >>> evidence.pitfall, round(evidence.gain, 2), evidence.starved_fraction
    (True, 1.0, 0.5)
    """
    ours = np.asarray(squared_errors[subject], np.float64)
    theirs = np.asarray(squared_errors[challenger], np.float64)
    reduction = ours - theirs
    gain, gain_low = _gain(ours, reduction)
    weight = _relative_weight(
        np.asarray(variance, np.float64), np.asarray(training_variance, np.float64)
    )
    total = np.nansum(reduction)
    ignored = float(np.nansum(reduction[weight < 1]) / total) if total > 0 else 0.0
    return Evidence(
        pitfall=gain >= MIN_GAIN
        and gain_low >= MIN_LOW_GAIN
        and ignored >= MIN_IGNORED_SHARE,
        challenger=challenger,
        gain=gain,
        gain_low=gain_low,
        ignored_share=ignored,
        effective_sample_fraction=effective_sample_fraction(training_variance, 0.0),
        starved_fraction=starved_fraction(training_variance, 0.0),
        log_variance_spread=log_variance_spread(training_variance),
        weight=weight,
        reduction=reduction,
    )


def _gain(ours: Array, reduction: Array) -> tuple[float, float]:
    """Return the relative reduction, and its lower bound by linearisation."""
    is_seen = ~np.isnan(reduction)
    ours, reduction = ours[is_seen], reduction[is_seen]
    mean = float(np.mean(ours)) if ours.size else 0.0
    if mean == 0:
        return 0.0, 0.0
    gain = float(np.mean(reduction)) / mean
    if ours.size < 2:
        return gain, -math.inf
    error = np.std(reduction - gain * ours, ddof=1) / mean / math.sqrt(ours.size)
    return gain, float(gain - stats.t.ppf(0.95, ours.size - 1) * error)


def _relative_weight(variance: Array, training_variance: Array) -> Array:
    """Return 1 / variance relative to its average over training rows."""
    average = np.mean(1 / training_variance, axis=0)
    return np.mean(1 / (variance * average), axis=1)
