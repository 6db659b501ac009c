"""Why a prediction is as good or as bad as it is: pure functions on arrays."""

from betanll.diagnostics._calibration import calibration_curve, calibration_error, pit
from betanll.diagnostics._weights import (
    effective_sample_fraction,
    effective_sampling_probabilities,
)

__all__ = [
    "calibration_curve",
    "calibration_error",
    "effective_sample_fraction",
    "effective_sampling_probabilities",
    "pit",
]
