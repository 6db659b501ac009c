"""What users give to ``fit`` and ``predict``, checked."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    validate_data,
)

from betanll.blocks import RowBlocks
from betanll.columns import (
    TableError,
    as_pandas,
    fit_columns,
    is_frame,
    named_columns,
    take_rows,
)
from betanll.model_selection import TrainingData
from betanll.preprocessing import Standardizer, value_ranges
from betanll.sentences import listed
from betanll.typing import Array

if TYPE_CHECKING:
    from betanll.estimators._predictions import Predictions
    from betanll.estimators._regressor import HeteroscedasticRegressor

#: Training and validation need so many rows together.
MIN_ROWS = 3
#: Smaller ones, in the largest, vanish in the single precision of training.
_MIN_WEIGHT = 1e-30


class MissingCellsWarning(UserWarning):
    """Cells are missing in columns that had no missing cells in training.

    Examples
    --------
    >>> import warnings
    >>> from betanll.estimators import MissingCellsWarning
    >>> warnings.simplefilter("default", MissingCellsWarning)
    """


@contextlib.contextmanager
def quiet_about_missing_cells() -> Iterator[None]:
    """Ignore :class:`MissingCellsWarning`, for held-out rows of one table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingCellsWarning)
        yield


def checked_data(
    estimator: HeteroscedasticRegressor,
    X: Any,
    y: Any,
    sample_weight: Any,
    random: np.random.RandomState,
    blocks: RowBlocks | None = None,
) -> TrainingData:
    """Return the rows that can be used; the estimator notes what they look like."""
    given = _checked_table(estimator, X, reset=True)
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None"
        )
    names = (
        [str(name) for name in as_pandas(y).columns] if hasattr(y, "columns") else None
    )
    y = check_array(
        y,
        dtype=np.float64,
        ensure_2d=False,
        ensure_all_finite="allow-nan",
        input_name="y",
        estimator=estimator,
    )
    check_consistent_length(given, y)
    estimator.__dict__.pop("target_names_", None)
    if names is not None and y.ndim == 2:
        estimator.target_names_ = names
    if blocks is not None and len(blocks) != len(y):
        what = "times" if blocks.is_ordered else "groups"
        raise ValueError(f"{what} has {len(blocks)} entries for {len(y)} rows")
    estimator._y_is_vector = y.ndim == 1
    if estimator._y_is_vector:
        assert_all_finite(y, input_name="y")
    targets = y[:, None] if y.ndim == 1 else y
    is_used = ~np.isnan(targets).all(axis=1)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, y, dtype=np.float64, ensure_non_negative=True
        )[:, None]
        # Only their ratios matter, and sums of large ones could overflow.
        weights = weights / max(weights.max(), np.finfo(np.float64).tiny)
        is_used &= weights[:, 0] > _MIN_WEIGHT
    if not is_used.all():
        rows = np.flatnonzero(is_used)
        given = take_rows(given, rows)
        targets = targets[rows]
        weights = None if weights is None else weights[rows]
        blocks = None if blocks is None else blocks[rows]
    if len(targets) < MIN_ROWS:
        raise ValueError(
            f"at least {MIN_ROWS} rows with a target and a positive weight are "
            f"needed, got n_samples = {len(targets)}"
        )
    empty = np.flatnonzero(np.isnan(targets).all(axis=0))
    if empty.size:
        raise ValueError(f"target {empty[0]} of y has no values that are used")
    estimator.encoder_, inputs = fit_columns(
        given,
        targets,
        weights,
        kinds=estimator.columns,
        blocks=None if blocks is None else blocks.codes,
        random_state=random,
    )
    estimator.input_range_ = value_ranges(inputs)
    return TrainingData(inputs, targets, weights, blocks)


def checked_inputs(estimator: Predictions, X: Any) -> npt.NDArray[np.floating]:
    """Return the matrix that the input map of a fitted estimator takes."""
    given = _checked_table(estimator, X, reset=False)
    if estimator.encoder_ is not None:
        names = [column.name for column in estimator.encoder_.columns]
        frame = named_columns(given, names)
        new = [
            column.name
            for column in estimator.encoder_.used
            if not column.has_missing and frame[column.name].isna().any()
        ]
        if new:
            warnings.warn(
                f"X has missing cells in {listed(new)}, but the training data had none",
                MissingCellsWarning,
                stacklevel=4,
            )
        return estimator.encoder_.encode(frame)
    assert not isinstance(given, pd.DataFrame)
    is_missing = np.isnan(given)
    if is_missing.any():
        warnings.warn(
            f"X has {is_missing.sum()} missing cells, but the training data had none: "
            "the middle of the training data stands for them",
            MissingCellsWarning,
            stacklevel=4,
        )
        given = np.where(is_missing, _middle(estimator), given)
    return given


def _checked_table(
    estimator: Any, X: Any, *, reset: bool
) -> pd.DataFrame | npt.NDArray[np.floating]:
    """Return a table whose columns need a look, else a matrix of numbers."""
    if is_frame(X) and (reset or estimator.encoder_ is not None):
        frame = as_pandas(X)
        if not reset:
            frame = _matched(estimator, frame)
        # Names that are numbers are names for the encoder alone, as in scikit-learn.
        has_texts = all(isinstance(name, str) for name in getattr(X, "columns", ()))
        named = reset or hasattr(estimator, "feature_names_in_")
        if has_texts and named:
            validate_data(estimator, frame, skip_check_array=True, reset=reset)
        elif reset:
            validate_data(estimator, X, skip_check_array=True, reset=True)
        if not len(frame):
            raise ValueError(
                f"Found array with 0 sample(s) (shape={frame.shape}) while a minimum "
                "of 1 is required."
            )
        return frame
    matrix: npt.NDArray[np.floating] = validate_data(
        estimator,
        X,
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        reset=reset,
    )
    return matrix


def _matched(estimator: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the columns of training first, in their order."""
    names = [column.name for column in estimator.encoder_.columns]
    lacking = [name for name in names if name not in frame.columns]
    if not lacking:
        others = [name for name in frame.columns if name not in names]
        return frame[[*names, *others]]
    if not hasattr(estimator, "feature_names_in_") and len(names) == frame.shape[1]:
        of_array = list(named_columns(np.empty((0, len(names)))).columns)
        if names == of_array:  # trained on an array: columns match by place
            return frame.set_axis(names, axis=1)
    new = [name for name in frame.columns if name not in names]
    noun = "column" if len(lacking) == 1 else "columns"
    also = f", and has {listed(new)}, unseen in training" if new else ""
    raise TableError(f"X lacks the {noun} {listed(lacking)}{also}")


def _middle(estimator: Predictions) -> Array:
    """Return the middle of each input column in the training data."""
    inputs = estimator.inputs_
    if isinstance(inputs, Standardizer):
        return inputs.mean
    n_knots = np.sum(np.isfinite(inputs.knots), axis=0)
    middle: Array = inputs.knots[n_knots // 2, np.arange(len(n_knots))]
    return middle
