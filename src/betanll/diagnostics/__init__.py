"""Why a prediction is as good or as bad as it is: functions on arrays, and a monitor.

The functions are pure; :class:`PitfallMonitor` follows a training run.
:func:`betanll.doctor.diagnose`, which trains networks, is found here as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from betanll.diagnostics._calibration import calibration_curve, calibration_error, pit
from betanll.diagnostics._jacobian import feature_jacobians, jacobian_variance
from betanll.diagnostics._monitor import PitfallMonitor, PitfallWarning
from betanll.diagnostics._residuals import LogResidualHistogram, log_residual_histogram
from betanll.diagnostics._weights import (
    BetaTradeoff,
    beta_tradeoff,
    effective_sample_fraction,
    effective_sampling_probabilities,
    log_variance_spread,
    oracle_sampling_probabilities,
    starved_fraction,
)
from betanll.metrics import interval_coverage, mean_squared_z

if TYPE_CHECKING:
    from betanll.doctor import diagnose as diagnose

__all__ = [
    "BetaTradeoff",
    "LogResidualHistogram",
    "PitfallMonitor",
    "PitfallWarning",
    "beta_tradeoff",
    "calibration_curve",
    "calibration_error",
    "effective_sample_fraction",
    "effective_sampling_probabilities",
    "feature_jacobians",
    "interval_coverage",
    "jacobian_variance",
    "log_residual_histogram",
    "log_variance_spread",
    "mean_squared_z",
    "oracle_sampling_probabilities",
    "pit",
    "starved_fraction",
]


def __getattr__(name: str) -> Any:
    if name == "diagnose":  # stands on the estimators, which stand on this module
        from betanll.doctor import diagnose

        return diagnose
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
