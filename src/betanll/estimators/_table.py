"""What a table with named columns needs of a fitted estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from betanll.typing import Array

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from betanll.distributions import Distribution
    from betanll.estimators._regressor import HeteroscedasticRegressor


class TablePredictions(NamedTuple):
    """Predictions of rows: a column for each target, also for a single one.

    Parameters
    ----------
    mean, std : arrays of shape (n, n_outputs)
    interval : array of shape (n, 2, n_outputs)
    """

    mean: Array
    std: Array
    interval: Array


def is_of_table(regressor: HeteroscedasticRegressor) -> bool:
    """Return whether an estimator was fitted with a data frame and a target matrix."""
    return regressor.encoder_ is not None and not regressor._y_is_vector


def predict_table(
    regressor: HeteroscedasticRegressor, frame: pd.DataFrame, coverage: float
) -> TablePredictions:
    """Return predictions of rows that have the same bits in any company.

    The network always sees blocks of the same number of rows.
    """
    assert regressor.encoder_ is not None
    X = regressor.encoder_.encode(frame)
    predictive = regressor._distribution(X, in_blocks=True)
    interval = regressor._interval(predictive, coverage)
    return TablePredictions(predictive.mean, predictive.std, interval)


def distribution_of(
    regressor: HeteroscedasticRegressor, matrix: npt.NDArray[np.floating]
) -> Distribution:
    """Return the predictions of encoded rows, of shape (n, n_outputs)."""
    return regressor._distribution(matrix)


def interval_of(
    regressor: HeteroscedasticRegressor, predictive: Distribution, coverage: float
) -> Array:
    """Return the intervals that belong to predictions, of shape (n, 2, n_outputs)."""
    return regressor._interval(predictive, coverage)


def checked_targets(regressor: HeteroscedasticRegressor, y: Any, n: int) -> Array:
    """Return targets of `n` rows as a matrix, or raise if they do not fit."""
    return regressor._checked_targets(y, n)
