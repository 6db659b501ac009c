"""Diagnostics of predictions: functions on arrays, and a monitor of training runs.

The functions are pure; :class:`PitfallMonitor` has state.
"""

from betanll.diagnostics._calibration import calibration_curve, calibration_error, pit
from betanll.diagnostics._monitor import PitfallMonitor, PitfallWarning
from betanll.diagnostics._picture import calibration_svg
from betanll.diagnostics._residuals import (
    LogResidualHistogram,
    log_residual_histogram,
)
from betanll.diagnostics._weights import (
    BetaTradeoff,
    beta_tradeoff,
    effective_sample_fraction,
    effective_sampling_probabilities,
    log_variance_spread,
    oracle_sampling_probabilities,
    starved_fraction,
)

__all__ = [
    "BetaTradeoff",
    "LogResidualHistogram",
    "PitfallMonitor",
    "PitfallWarning",
    "beta_tradeoff",
    "calibration_curve",
    "calibration_error",
    "calibration_svg",
    "effective_sample_fraction",
    "effective_sampling_probabilities",
    "log_residual_histogram",
    "log_variance_spread",
    "oracle_sampling_probabilities",
    "pit",
    "starved_fraction",
]
