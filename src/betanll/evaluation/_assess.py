"""A model and its baselines on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from betanll import metrics
from betanll.diagnostics import effective_sample_fraction
from betanll.distributions import Distribution
from betanll.estimators import (
    HeteroscedasticRegressor,
    fit_many,
    quiet_about_missing_cells,
)
from betanll.evaluation._baselines import constant_baseline, ridge_baseline
from betanll.evaluation._leaks import revealing_columns
from betanll.evaluation._names import column_names
from betanll.metrics import Scores
from betanll.objectives import BetaNLL, GaussianNLL
from betanll.typing import Array

MODEL = "this model"
PLAIN_NLL = "same network, plain NLL"
RIDGE = "ridge, constant spread"
CONSTANT = "constant"
MSE = "same network, mean alone"
#: Nominal coverages that are checked.
LEVELS = (0.5, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class TargetAssessment:
    """What held-out rows say about one target, in its own unit.

    Attributes
    ----------
    name : str
    scores : dict of str to Scores
        The model first, then the same network with plain NLL (unless that is the
        model), ridge regression and a constant. Empty without held-out values.
    crps, squared_errors : dict of str to array of shape (n_observed,)
        Of the held-out values, row by row, by the names of `scores`;
        `squared_errors` also of the same network trained with the squared error.
    revealing : list of str
        Columns that explain the target almost exactly.
    """

    name: str
    scores: dict[str, Scores]
    crps: dict[str, Array]
    squared_errors: dict[str, Array]
    revealing: list[str]


@dataclass(frozen=True, eq=False)
class Assessment:
    """What held-out rows say about a model.

    Attributes
    ----------
    model : HeteroscedasticRegressor
        Fitted on the training rows alone.
    target : array of shape (n, d)
        Held-out targets, NaN where they are missing.
    predictive : Distribution of shape (n, d)
    interval : array of shape (n, 2, d)
        90 % intervals as the model gives them.
    targets : list of d TargetAssessment
        Scores, target by target: their units differ.
    sample_fractions : dict of str to float
        Share of the training rows that the loss weights effectively leave.
    """

    model: HeteroscedasticRegressor
    target: Array
    predictive: Distribution
    interval: Array
    targets: list[TargetAssessment]
    sample_fractions: dict[str, float]


@quiet_about_missing_cells()
def assess(
    model: HeteroscedasticRegressor,
    train: tuple[Any, Array],
    test: tuple[Any, Array],
    *,
    feature_names: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Assessment:
    """Fit a model and its baselines on training rows and score them on test rows.

    Parameters
    ----------
    model : HeteroscedasticRegressor
        Is fitted; the twins with other objectives are clones of it.
    train, test : (X, y) with y of shape (n, d)
        NaN in `y` marks missing entries. X is an array or a data frame.
    feature_names : sequence of str, optional
        Names of the columns of X; by default those of a data frame, or x0, x1, ...
    target_names : sequence of str, optional
        By default y0, y1, ...
    n_jobs : int, optional
        Runs at a time, by default one for each core.
    progress : bool, default=False
        Show a progress bar.
    """
    (X, y), (X_test, y_test) = train, test
    names = column_names(y, target_names, "y")
    # If the model sets rows aside for calibration so do the twins, but they stay
    # uncalibrated: conformal scores leave distributions as they are.
    holds_out_rows = model.plan_for(len(X), X.shape[1]).holds_out_rows
    calibration = "conformal" if holds_out_rows else model.calibration
    twins = {
        name: clone(model).set_params(objective=name, calibration=calibration)
        for name in ("nll", "mse")
    }
    fit_many(
        [(estimator, X, y) for estimator in (model, *twins.values())],
        n_jobs=n_jobs,
        progress=progress,
    )
    matrix, matrix_test = (
        model.encode(part).astype(np.float64, copy=False) for part in (X, X_test)
    )
    encoder = model.encoder_
    if encoder is not None and feature_names is None:
        features = list(encoder.sources)
    else:
        features = column_names(matrix, feature_names, "x")
    predictions = {MODEL: model.predict_dist(X_test)}
    if not isinstance(model.objective_, GaussianNLL):
        predictions[PLAIN_NLL] = twins["nll"].predict_dist(X_test)
    predictions[RIDGE] = ridge_baseline(matrix, y, matrix_test)
    predictions[CONSTANT] = constant_baseline(y, len(y_test))
    mse_mean = twins["mse"].predict_dist(X_test).mean
    intervals = {level: model.predict_interval(X_test, level) for level in LEVELS}
    targets = []
    for i, name in enumerate(names):
        revealing = revealing_columns(matrix, y[:, i], matrix_test, y_test[:, i])
        targets.append(
            _assess_target(
                name,
                {other: predictive[:, i] for other, predictive in predictions.items()},
                {level: bounds[:, :, i] for level, bounds in intervals.items()},
                mse_mean[:, i],
                y_test[:, i],
                list(dict.fromkeys(features[j] for j in revealing)),
            )
        )
    return Assessment(
        model=model,
        target=y_test,
        predictive=predictions[MODEL],
        interval=intervals[0.9],
        targets=targets,
        sample_fractions=_sample_fractions(model, twins["nll"], X),
    )


def _assess_target(
    name: str,
    predictions: dict[str, Distribution],
    intervals: dict[float, Array],
    mse_mean: Array,
    target: Array,
    revealing: list[str],
) -> TargetAssessment:
    is_seen = ~np.isnan(target)
    if not is_seen.any():
        return TargetAssessment(name, {}, {}, {}, revealing)
    truth = target[is_seen]
    rows = {other: predictive[is_seen] for other, predictive in predictions.items()}
    crps = {other: p.crps(truth) for other, p in rows.items()}
    scores = {}
    for other, predictive in predictions.items():
        bounds = {level: predictive.interval(level) for level in LEVELS}
        if other == MODEL:
            bounds = intervals
        scores[other] = Scores(
            rmse=metrics.rmse(predictive.mean, target),
            log_likelihood=metrics.log_likelihood(predictive, target),
            crps=float(np.mean(crps[other])),
            coverage={
                k: metrics.interval_coverage(b, target) for k, b in bounds.items()
            },
            width={k: metrics.interval_width(b) for k, b in bounds.items()},
        )
    means = {other: predictive.mean for other, predictive in rows.items()}
    with np.errstate(over="ignore"):
        errors = {
            n: (m - truth) ** 2 for n, m in (means | {MSE: mse_mean[is_seen]}).items()
        }
    return TargetAssessment(name, scores, crps, errors, revealing)


def _sample_fractions(
    model: HeteroscedasticRegressor, nll: HeteroscedasticRegressor, X: Any
) -> dict[str, float]:
    fractions = {}
    objective = model.objective_
    if isinstance(objective, BetaNLL) and isinstance(objective.beta, int | float):
        variance = model.predict_parts(X).aleatoric
        label = f"beta-nll, beta {objective.beta:g}"
        fractions[label] = effective_sample_fraction(variance, objective.beta)
    fractions["nll"] = effective_sample_fraction(nll.predict_parts(X).aleatoric, 0.0)
    return fractions
