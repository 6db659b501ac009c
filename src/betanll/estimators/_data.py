"""What users give to ``fit``, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    validate_data,
)

from betanll.model_selection import TrainingData

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor

#: Training and validation need so many rows together.
MIN_ROWS = 3
#: Smaller ones, in the largest, vanish in the single precision of training.
_MIN_WEIGHT = 1e-30


def checked_data(
    estimator: HeteroscedasticRegressor, X: Any, y: Any, sample_weight: Any
) -> TrainingData:
    """Return the rows that can be used; the estimator notes what they look like."""
    X, y = validate_data(
        estimator,
        X,
        y,
        validate_separately=(
            {"dtype": [np.float64, np.float32]},
            {
                "dtype": np.float64,
                "ensure_2d": False,
                "ensure_all_finite": "allow-nan",
            },
        ),
    )
    check_consistent_length(X, y)
    estimator._y_is_vector = y.ndim == 1
    if estimator._y_is_vector:
        assert_all_finite(y, input_name="y")
    targets = y[:, None] if y.ndim == 1 else y
    is_used = ~np.isnan(targets).all(axis=1)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )[:, None]
        # Only their ratios matter, and sums of large ones could overflow.
        weights = weights / max(weights.max(), np.finfo(np.float64).tiny)
        is_used &= weights[:, 0] > _MIN_WEIGHT
    data = TrainingData(X, targets, weights)
    if not is_used.all():
        data = data[np.flatnonzero(is_used)]
    if len(data) < MIN_ROWS:
        raise ValueError(
            f"at least {MIN_ROWS} rows with a target and a positive weight are "
            f"needed, got n_samples = {len(data)}"
        )
    empty = np.flatnonzero(np.isnan(data.targets).all(axis=0))
    if empty.size:
        raise ValueError(f"target {empty[0]} of y has no values that are used")
    return data
