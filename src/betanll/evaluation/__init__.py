"""Models and baselines on held-out rows: assessment, comparison and diagnosis."""

from betanll.evaluation._assess import (
    CONSTANT,
    MODEL,
    MSE,
    PLAIN_NLL,
    RIDGE,
    Assessment,
    TargetAssessment,
    assess,
)
from betanll.evaluation._baselines import constant_baseline, ridge_baseline
from betanll.evaluation._compare import Comparison, compare
from betanll.evaluation._diagnosis import (
    MIN_ROWS,
    Diagnosis,
    TargetScores,
    conclude,
    diagnose,
)
from betanll.evaluation._leaks import MAX_ERROR
from betanll.evaluation._ranks import differs, ranks_with_ties
from betanll.evaluation._regions import Region
from betanll.evaluation._rule import RULE, Evidence, judge
from betanll.evaluation._trial import SUBJECT, TrialSettings, run_trial

__all__ = [
    "CONSTANT",
    "MAX_ERROR",
    "MIN_ROWS",
    "MODEL",
    "MSE",
    "PLAIN_NLL",
    "RIDGE",
    "RULE",
    "SUBJECT",
    "Assessment",
    "Comparison",
    "Diagnosis",
    "Evidence",
    "Region",
    "TargetAssessment",
    "TargetScores",
    "TrialSettings",
    "assess",
    "compare",
    "conclude",
    "constant_baseline",
    "diagnose",
    "differs",
    "judge",
    "ranks_with_ties",
    "ridge_baseline",
    "run_trial",
]
