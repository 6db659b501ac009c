"""A model and its rivals on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from betanll import metrics
from betanll.assessment._baselines import constant_baseline, ridge_baseline
from betanll.diagnostics import effective_sample_fraction
from betanll.distributions import Distribution
from betanll.estimators import HeteroscedasticRegressor, fit_many
from betanll.metrics import Scores
from betanll.objectives import BetaNLL, GaussianNLL

Array = npt.NDArray[np.float64]

MODEL = "this model"
PLAIN_NLL = "same network, plain NLL"
RIDGE = "ridge, constant spread"
CONSTANT = "constant"
#: Nominal coverages that are checked.
LEVELS = (0.5, 0.9, 0.95)


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
    scores : dict of str to Scores
        The model first, then the same network with plain NLL (unless that is the
        model), ridge regression and a constant.
    squared_errors : array of shape (n,)
        Of the model, summed over observed targets in units of their spread.
    mse_squared_errors : array of shape (n,)
        Of the same network trained with the squared error.
    mse_rmse : float
        RMSE of that network.
    sample_fractions : dict of str to float
        Share of the training rows that the loss weights effectively leave.
    """

    model: HeteroscedasticRegressor
    target: Array
    predictive: Distribution
    interval: Array
    scores: dict[str, Scores]
    squared_errors: Array
    mse_squared_errors: Array
    mse_rmse: float
    sample_fractions: dict[str, float]


def assess(
    model: HeteroscedasticRegressor,
    train: tuple[Array, Array],
    test: tuple[Array, Array],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Assessment:
    """Fit a model and its rivals on training rows and score them on test rows.

    Parameters
    ----------
    model : HeteroscedasticRegressor
        Is fitted; the twins with other objectives are clones of it.
    train, test : (X, y) with y of shape (n, d)
        NaN in `y` marks missing entries.
    n_jobs : int, optional
        Trainings at a time, by default one for each core.
    progress : bool, default=False
        Show a progress bar.
    """
    (X, y), (X_test, y_test) = train, test
    # If the model sets rows aside for calibration so do the twins, but they stay
    # uncalibrated: conformal scores leave distributions as they are.
    holds_out_rows = model.settings_for(len(X), X.shape[1]).holds_out_rows
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
    predictive = model.predict_dist(X_test)
    scores = {
        MODEL: metrics.evaluate(
            predictive,
            y_test,
            levels=LEVELS,
            intervals=lambda level: model.predict_interval(X_test, level),
        )
    }
    if not isinstance(model.objective_, GaussianNLL):
        scores[PLAIN_NLL] = _evaluate(twins["nll"].predict_dist(X_test), y_test)
    scores[RIDGE] = _evaluate(ridge_baseline(X, y, X_test), y_test)
    scores[CONSTANT] = _evaluate(constant_baseline(y, len(y_test)), y_test)
    mse = twins["mse"].predict_dist(X_test)
    return Assessment(
        model=model,
        target=y_test,
        predictive=predictive,
        interval=model.predict_interval(X_test, 0.9),
        scores=scores,
        squared_errors=_squared_errors(predictive, y_test, model),
        mse_squared_errors=_squared_errors(mse, y_test, model),
        mse_rmse=metrics.rmse(mse.mean, y_test),
        sample_fractions=_sample_fractions(model, twins["nll"], X),
    )


def _evaluate(predictive: Distribution, target: Array) -> Scores:
    return metrics.evaluate(predictive, target, levels=LEVELS)


def _squared_errors(
    predictive: Distribution, target: Array, model: HeteroscedasticRegressor
) -> Array:
    z = (predictive.mean - target) / model.targets_.scale
    return np.asarray(np.nansum(z**2, axis=1))


def _sample_fractions(
    model: HeteroscedasticRegressor, nll: HeteroscedasticRegressor, X: Array
) -> dict[str, float]:
    fractions = {}
    objective = model.objective_
    if isinstance(objective, BetaNLL) and isinstance(objective.beta, int | float):
        variance = model.predict_parts(X).aleatoric
        label = f"beta-nll, beta {objective.beta:g}"
        fractions[label] = effective_sample_fraction(variance, objective.beta)
    fractions["nll"] = effective_sample_fraction(nll.predict_parts(X).aleatoric, 0.0)
    return fractions
