"""How much each column matters for the mean, and for the spread."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from betanll.distributions import Distribution, Transformed
from betanll.evaluation._inputs import InputColumn, InputRows
from betanll.typing import Array, Rows

#: Rows with a target that importances need.
MIN_IMPORTANCE_ROWS = 10


class ColumnImportance(NamedTuple):
    """What is lost for one target if the cells of a column are shuffled among rows.

    Parameters
    ----------
    column : str
    mean, mean_error : float
        Half the increase of the squared error of the mean, as a share of the target's
        variance on these rows, and its standard error. If columns are independent and
        the model is exact, this is the share of the variance that the column causes.
    spread, spread_error : float
        Increase of the NLL if only the spread comes from the shuffled row, in nats,
        and its standard error.
    rmse : float
        Typical error with the shuffled column, in the unit of the target.
    """

    column: str
    mean: float
    mean_error: float
    spread: float
    spread_error: float
    rmse: float

    @property
    def is_clear_for_mean(self) -> bool:
        """Whether the loss for the mean exceeds two standard errors."""
        return self.mean > 2 * self.mean_error

    @property
    def is_clear_for_spread(self) -> bool:
        """Whether the loss for the spread exceeds two standard errors."""
        return self.spread > 2 * self.spread_error


def column_importances(
    rows: InputRows, target: Array, *, n_repeats: int, seed: int
) -> list[list[ColumnImportance]]:
    """Return for each target the importance of every column, none if rows are few.

    Let x be a row with target y, and x' the row with the cell of one column taken from
    another row. The mean of x' alone, and the spread of x' alone, are judged:

    - mean: (y - mean(x'))² - (y - mean(x))², averaged over rows and divided by twice
      the variance of y, which gives the total Sobol' index of an exact model;
    - spread: NLL(y; mean(x), spread(x')) - NLL(y; mean(x), spread(x)), averaged over
      rows, where the first distribution is the one predicted for x', moved to the mean
      of x; of a transformed target, moved on the scale that was learnt.

    All columns are shuffled by the same permutations. A row's increases are averaged
    over the repeats; the standard error is the one of the average over rows.

    Parameters
    ----------
    rows : InputRows
    target : array of shape (n, d)
        NaN where missing.
    n_repeats : int
    seed : int
    """
    rng = np.random.default_rng(seed)
    permutations = [rng.permutation(len(rows)) for _ in range(n_repeats)]
    usual = rows.predict()
    losses = _Losses(target, usual)
    found = [
        losses.of(rows.predict(shuffled(rows, column, permutations)))
        for column in rows.columns
    ]
    return [
        [
            _importance(column.name, error[:, i], nll[:, i], losses, i)
            for column, (error, nll) in zip(rows.columns, found, strict=True)
        ]
        if n_known >= MIN_IMPORTANCE_ROWS
        else []
        for i, n_known in enumerate(np.sum(~np.isnan(target), axis=0))
    ]


def shuffled(rows: InputRows, column: InputColumn, permutations: list[Rows]) -> Array:
    """Return the rows once for each permutation, one column with cells of others."""
    stacked = np.tile(rows.matrix, (len(permutations), 1))
    cells = rows.matrix[:, column.places]
    stacked[:, column.places] = cells[np.concatenate(permutations)]
    return stacked


class _Losses:
    """Squared errors and NLLs of rows, and how much shuffled columns add to them."""

    def __init__(self, target: Array, usual: Distribution) -> None:
        self.target, self.usual = target, usual
        self.mean = usual.mean
        self.squared_error = (target - self.mean) ** 2
        self.nll = _nll(usual, target)
        known = [column[~np.isnan(column)] for column in target.T]
        variance = np.array([np.var(column) if column.size else 0 for column in known])
        self.unit = 2 * np.where(variance > 0, variance, 0.5)

    def of(self, predictive: Distribution) -> tuple[Array, Array]:
        """Return the increases of each row, averaged over the repeats."""
        n_repeats = len(predictive) // len(self.target)
        target = np.tile(self.target, (n_repeats, 1))
        error = (target - predictive.mean) ** 2
        nll = _nll(_moved(predictive, self.usual, n_repeats), target)
        shape = (n_repeats, *self.target.shape)
        with np.errstate(invalid="ignore"):
            return (
                error.reshape(shape).mean(axis=0) - self.squared_error,
                nll.reshape(shape).mean(axis=0) - self.nll,
            )


def _moved(
    predictive: Distribution, usual: Distribution, n_repeats: int
) -> Distribution:
    """Return predictions moved to the means of the usual ones, within their range."""
    if isinstance(predictive, Transformed) and isinstance(usual, Transformed):
        base = _moved(predictive.base, usual.base, n_repeats)
        return replace(predictive, base=base)
    shift = np.tile(usual.mean, (n_repeats, 1)) - predictive.mean
    return predictive.affine(1.0, shift)


def _nll(predictive: Distribution, target: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return -predictive.log_prob(target)


def _importance(
    name: str, error: Array, nll: Array, losses: _Losses, i: int
) -> ColumnImportance:
    is_seen = ~np.isnan(losses.target[:, i])
    mean, mean_error = _average(error[is_seen] / losses.unit[i])
    spread, spread_error = _average(nll[is_seen])
    square = np.mean(losses.squared_error[is_seen, i] + error[is_seen])
    return ColumnImportance(
        name, mean, mean_error, spread, spread_error, float(np.sqrt(square))
    )


def _average(increases: Array) -> tuple[float, float]:
    """Return the average over rows and its standard error."""
    with np.errstate(invalid="ignore"):
        error = np.std(increases, ddof=1) / np.sqrt(len(increases))
    return float(np.mean(increases)), float(error)
