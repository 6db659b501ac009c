"""Cross-validation of several models as one fleet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from betanll.blocks import RowBlocks, fit_options, splits_of
from betanll.columns import as_pandas, is_frame, take_rows
from betanll.estimators import (
    HeteroscedasticRegressor,
    fit_many,
    quiet_about_missing_cells,
)
from betanll.evaluation._baselines import constant_baseline
from betanll.evaluation._ranks import differs, ranks_with_ties
from betanll.typing import Array


@dataclass(frozen=True, eq=False)
class Comparison:
    """Out-of-fold losses of several models, row by row and target by target.

    Attributes
    ----------
    nll, crps, squared_error : dict of str to array of shape (n, d)
        Loss of each value by the name of the model, NaN where the target is missing.
    coverage : dict of str to array of shape (d,)
        Share of values inside their 90 % intervals.
    constant_crps : array of shape (n, d)
        CRPS of mean and spread of the other folds, which a model has to beat.
    """

    nll: dict[str, Array]
    crps: dict[str, Array]
    squared_error: dict[str, Array]
    coverage: dict[str, Array]
    constant_crps: Array

    def table(self, target: int = 0) -> list[dict[str, float | int | str]]:
        """Return a line for each model, by rank and log-likelihood, the best first.

        A rank is shared by models that do not differ significantly.

        Parameters
        ----------
        target : int, default=0
            Which of several targets: their units differ.
        """
        nll, crps, square = (
            self._observed(losses, target)
            for losses in (self.nll, self.crps, self.squared_error)
        )
        ranks = {
            "rank": ranks_with_ties(nll),
            "crps_rank": ranks_with_ties(crps),
            "rmse_rank": ranks_with_ties(square),
        }
        order = sorted(nll, key=lambda name: (ranks["rank"][name], np.mean(nll[name])))
        return [
            {
                "model": name,
                "log_likelihood": -float(np.mean(nll[name])),
                "rank": ranks["rank"][name],
                "crps": float(np.mean(crps[name])),
                "crps_rank": ranks["crps_rank"][name],
                "rmse": float(np.sqrt(np.mean(square[name]))),
                "rmse_rank": ranks["rmse_rank"][name],
                "coverage_90": float(self.coverage[name][target]),
            }
            for name in order
        ]

    def no_better_than_guessing(self, target: int = 0) -> list[str]:
        """Return the models whose CRPS is not clearly below that of the average."""
        crps = self._observed(self.crps, target)
        guess = self._observed({"": self.constant_crps}, target)[""]
        return [
            name
            for name, losses in crps.items()
            if not np.mean(losses) < np.mean(guess) or not differs(losses, guess)
        ]

    def _observed(self, losses: dict[str, Array], target: int) -> dict[str, Array]:
        is_seen = ~np.isnan(self.constant_crps[:, target])
        return {name: values[is_seen, target] for name, values in losses.items()}


@quiet_about_missing_cells()
def compare(
    models: Mapping[str, HeteroscedasticRegressor],
    X: Any,
    y: Array,
    *,
    n_folds: int = 5,
    blocks: RowBlocks | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Cross-validate models on the same folds, all trainings as one fleet.

    Parameters
    ----------
    models : mapping of str to HeteroscedasticRegressor
        Not fitted themselves: each fold has a clone.
    X : array of shape (n, n_features) or data frame
    y : array of shape (n, d)
        NaN marks missing entries.
    n_folds : int, default=5
    blocks : RowBlocks, optional
        Rows of one group or time, which no fold divides. Each fold of blocks in time is
        predicted by models of earlier rows; the earliest rows are not judged.
    random_state : int, optional
        Of the folds.
    n_jobs : int, optional
        Trainings at a time, by default one for each core.
    progress : bool, default=False
        Show a progress bar.
    """
    X = as_pandas(X) if is_frame(X) else X
    folds = splits_of(len(y), blocks, n_folds, random_state)
    jobs: list[Any] = [
        (clone(model), take_rows(X, train), y[train], fit_options(blocks, train))
        for model in models.values()
        for train, _ in folds
    ]
    fitted = iter(fit_many(jobs, n_jobs=n_jobs, progress=progress))
    nll, crps, square, coverage = {}, {}, {}, {}
    for name in models:
        nll[name], crps[name], square[name] = (
            np.full(y.shape, np.nan) for _ in range(3)
        )
        is_inside = np.zeros(y.shape, bool)
        for _, test in folds:
            estimator = next(fitted)
            inputs = take_rows(X, test)
            predictive = estimator.predict_dist(inputs)
            target = y[test]
            nll[name][test] = -predictive.log_prob(target)
            crps[name][test] = predictive.crps(target)
            square[name][test] = (predictive.mean - target) ** 2
            lower, upper = np.moveaxis(estimator.predict_interval(inputs, 0.9), 1, 0)
            is_inside[test] = (lower <= target) & (target <= upper)
        n_judged = np.sum(~np.isnan(nll[name]), axis=0)
        coverage[name] = is_inside.sum(axis=0) / np.maximum(n_judged, 1)
    constant = np.full(y.shape, np.nan)
    for train, test in folds:
        constant[test] = constant_baseline(y[train], len(test)).crps(y[test])
    return Comparison(nll, crps, square, coverage, constant)
