"""From the rows of a training table to the matrix that networks learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from betanll.columns._encoder import ColumnEncoder
from betanll.columns._infer import Known
from betanll.preprocessing import Standardizer
from betanll.typing import Array


def fit_columns(
    data: pd.DataFrame | npt.NDArray[np.floating],
    targets: Array,
    weights: Array | None = None,
    *,
    kinds: Mapping[str, Known] | None = None,
    blocks: npt.NDArray[np.intp] | None = None,
    random_state: Any = 0,
) -> tuple[ColumnEncoder | None, npt.NDArray[np.floating]]:
    """Learn how the columns of a training table are encoded, and encode them.

    Parameters
    ----------
    data : DataFrame or array of shape (n, n_columns)
        A matrix without missing cells comes back as it is, without an encoder.
    targets : array of shape (n, d)
        NaN where missing.
    weights : array of shape (n, 1), optional
    kinds : mapping of str to str or Column, optional
        As in :meth:`ColumnEncoder.infer`; for data frames alone.
    blocks : array of shape (n,), optional
        Numbers of blocks of rows that depend on each other.
    random_state : int or RandomState
        Draws folds for statistics of the targets.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan], [3.0, 4.0]])
    >>> encoder, matrix = fit_columns(X, np.zeros((2, 1)))
    >>> encoder.encoded_names
    ('x0', 'x1', 'x1 is missing')
    """
    if isinstance(data, pd.DataFrame):
        encoder = ColumnEncoder.infer(data, kinds)
    elif kinds:
        raise ValueError("columns is for data frames: arrays have columns of numbers")
    elif np.isnan(data).any():
        encoder = ColumnEncoder.infer(named_columns(data))
    else:
        return None, data
    # Blocks have zeros in place of missing targets.
    pieces = list(Standardizer.of_targets(targets, weights).blocks(targets))
    scaled = np.where(np.isnan(targets), np.nan, np.concatenate(pieces))
    shares = None if weights is None else weights[:, 0]
    return encoder.fit_encode(
        named_columns(data), scaled, shares, blocks=blocks, random_state=random_state
    )


def named_columns(
    data: pd.DataFrame | npt.NDArray[np.floating], names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return a table; the columns of a matrix are called x0, x1, ... by default."""
    if isinstance(data, pd.DataFrame):
        return data
    names = names or [f"x{i}" for i in range(data.shape[1])]
    return pd.DataFrame(data, columns=list(names))
