"""Models and baselines on held-out rows: assess, compare, diagnose, explain."""

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
from betanll.evaluation._dependence import PartialDependence
from betanll.evaluation._diagnosis import (
    MIN_ROWS,
    Diagnosis,
    TargetScores,
    conclude,
    diagnose,
)
from betanll.evaluation._explain import explain
from betanll.evaluation._explanation import Explanation, TargetExplanation, plain_row
from betanll.evaluation._importance import MIN_IMPORTANCE_ROWS, ColumnImportance
from betanll.evaluation._leaks import MAX_ERROR
from betanll.evaluation._outside import OutsideCell
from betanll.evaluation._ranks import differs, ranks_with_ties
from betanll.evaluation._regions import Region
from betanll.evaluation._rule import RULE, Evidence, judge
from betanll.evaluation._trial import SUBJECT, TrialSettings, run_trial
from betanll.evaluation._why import Driver, RowExplanation

__all__ = [
    "CONSTANT",
    "MAX_ERROR",
    "MIN_IMPORTANCE_ROWS",
    "MIN_ROWS",
    "MODEL",
    "MSE",
    "PLAIN_NLL",
    "RIDGE",
    "RULE",
    "SUBJECT",
    "Assessment",
    "ColumnImportance",
    "Comparison",
    "Diagnosis",
    "Driver",
    "Evidence",
    "Explanation",
    "OutsideCell",
    "PartialDependence",
    "Region",
    "RowExplanation",
    "TargetAssessment",
    "TargetExplanation",
    "TargetScores",
    "TrialSettings",
    "assess",
    "compare",
    "conclude",
    "constant_baseline",
    "diagnose",
    "differs",
    "explain",
    "judge",
    "plain_row",
    "ranks_with_ties",
    "ridge_baseline",
    "run_trial",
]
