"""All the usual metrics at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from betanll.distributions import Distribution
from betanll.metrics._crps import crps
from betanll.metrics._intervals import interval_coverage, interval_width
from betanll.metrics._points import log_likelihood, rmse


@dataclass(frozen=True)
class Scores:
    """What `evaluate` returns.

    Parameters
    ----------
    rmse, crps : float
        Averaged over samples and outputs, in the unit of the target.
    log_likelihood : float
        Summed over outputs, averaged over samples.
    coverage, width : dict from level to float
        Observed coverage and mean width of the intervals of each nominal level.
    """

    rmse: float
    log_likelihood: float
    crps: float
    coverage: dict[float, float]
    width: dict[float, float]


def evaluate(
    predictive: Distribution,
    target: ArrayLike,
    *,
    levels: Sequence[float] = (0.5, 0.9, 0.95),
    intervals: Callable[[float], ArrayLike] | None = None,
) -> Scores:
    """Return error, log-likelihood, CRPS, and coverage and width of intervals.

    Parameters
    ----------
    predictive : Distribution of shape (n,) or (n, d)
    target : array of the same shape
        NaN marks missing entries. Widths do not depend on targets and are averaged
        over all entries.
    levels : sequence of floats in (0, 1)
        Nominal coverages of the intervals.
    intervals : callable, optional
        Takes a coverage and returns intervals of shape (n, 2) or (n, 2, d), perhaps
        conformal ones, which may be infinite. By default ``predictive.interval``.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> scores = evaluate(Normal([0.0, 0.0], [1.0, 1.0]), [0.0, 1.0], levels=[0.5])
    >>> round(scores.rmse, 3), scores.coverage
    (0.707, {0.5: 0.5})
    """
    bounds = {level: (intervals or predictive.interval)(level) for level in levels}
    return Scores(
        rmse=rmse(predictive.mean, target),
        log_likelihood=log_likelihood(predictive, target),
        crps=crps(predictive, target),
        coverage={level: interval_coverage(b, target) for level, b in bounds.items()},
        width={level: interval_width(b) for level, b in bounds.items()},
    )
