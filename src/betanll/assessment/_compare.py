"""Cross-validation of several models as one fleet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import KFold

from betanll.assessment._ranks import ranks_with_ties
from betanll.estimators import HeteroscedasticRegressor, fit_many
from betanll.metrics import crps_values, interval_coverage

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Out-of-fold losses of several models, row by row.

    Attributes
    ----------
    nll, crps, squared_error : dict of str to array of shape (n,)
        Loss of each row by the name of the model, NLL summed and the others averaged
        over observed targets.
    coverage : dict of str to float
        Share of targets inside their 90 % intervals.
    """

    nll: dict[str, Array]
    crps: dict[str, Array]
    squared_error: dict[str, Array]
    coverage: dict[str, float]

    def table(self) -> list[dict[str, float | int | str]]:
        """Return a line for each model, by rank and log-likelihood, the best first.

        A rank is shared by models that do not differ significantly.
        """
        ranks = {
            "rank": ranks_with_ties(self.nll),
            "crps_rank": ranks_with_ties(self.crps),
            "rmse_rank": ranks_with_ties(self.squared_error),
        }
        order = sorted(
            self.nll, key=lambda name: (ranks["rank"][name], np.mean(self.nll[name]))
        )
        return [
            {
                "model": name,
                "log_likelihood": -float(np.mean(self.nll[name])),
                "rank": ranks["rank"][name],
                "crps": float(np.mean(self.crps[name])),
                "crps_rank": ranks["crps_rank"][name],
                "rmse": float(np.sqrt(np.mean(self.squared_error[name]))),
                "rmse_rank": ranks["rmse_rank"][name],
                "coverage_90": self.coverage[name],
            }
            for name in order
        ]


def compare(
    models: Mapping[str, HeteroscedasticRegressor],
    X: Array,
    y: Array,
    *,
    n_folds: int = 5,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Cross-validate models on the same folds, all trainings as one fleet.

    Parameters
    ----------
    models : mapping of str to HeteroscedasticRegressor
        Not fitted themselves: each fold has a clone.
    X : array of shape (n, n_features)
    y : array of shape (n, d)
        NaN marks missing entries.
    n_folds : int, default=5
    random_state : int, optional
        Of the folds.
    n_jobs : int, optional
        Trainings at a time, by default one for each core.
    progress : bool, default=False
        Show a progress bar.
    """
    folds = list(KFold(n_folds, shuffle=True, random_state=random_state).split(X))
    jobs = [
        (clone(model), X[train], y[train])
        for model in models.values()
        for train, _ in folds
    ]
    fitted = iter(fit_many(jobs, n_jobs=n_jobs, progress=progress))
    nll, crps, square, coverage = {}, {}, {}, {}
    for name in models:
        nll[name], crps[name], square[name] = (np.empty(len(y)) for _ in range(3))
        n_inside = 0.0
        for _, test in folds:
            estimator = next(fitted)
            predictive = estimator.predict_dist(X[test])
            target = y[test]
            nll[name][test] = -np.nansum(predictive.log_prob(target), axis=1)
            crps[name][test] = np.nanmean(crps_values(predictive, target), axis=1)
            errors = (predictive.mean - target) ** 2
            square[name][test] = np.nanmean(errors, axis=1)
            interval = estimator.predict_interval(X[test], 0.9)
            n_seen = np.sum(~np.isnan(target))
            n_inside += interval_coverage(interval, target) * n_seen
        coverage[name] = float(n_inside / np.sum(~np.isnan(y)))
    return Comparison(nll, crps, square, coverage)
