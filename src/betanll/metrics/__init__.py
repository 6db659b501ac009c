"""Scores of predictions, in the unit of the target and in double precision.

Targets have exactly the shape of the prediction. All metrics skip NaN targets, which
are missing entries, and raise for infinite targets. A NaN in a *prediction* makes the
result NaN.

The scorers fit scikit-learn's ``scoring`` parameter.
"""

from betanll.metrics._intervals import (
    interval_coverage,
    interval_score,
    interval_width,
    pinball_loss,
)
from betanll.metrics._scorers import (
    CoverageScorer,
    NegCoverageErrorScorer,
    NegIntervalScoreScorer,
    coverage_scorer,
    log_likelihood_scorer,
    neg_coverage_error_scorer,
    neg_crps_scorer,
    neg_interval_score_scorer,
)
from betanll.metrics._scores import (
    Scores,
    crps,
    evaluate,
    log_likelihood,
    mean_squared_z,
    rmse,
)

__all__ = [
    "CoverageScorer",
    "NegCoverageErrorScorer",
    "NegIntervalScoreScorer",
    "Scores",
    "coverage_scorer",
    "crps",
    "evaluate",
    "interval_coverage",
    "interval_score",
    "interval_width",
    "log_likelihood",
    "log_likelihood_scorer",
    "mean_squared_z",
    "neg_coverage_error_scorer",
    "neg_crps_scorer",
    "neg_interval_score_scorer",
    "pinball_loss",
    "rmse",
]
