"""A model and its baselines on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from betanll import metrics
from betanll.blocks import RowBlocks, SplitRows, fit_options
from betanll.columns import as_pandas, is_frame, take_rows
from betanll.diagnostics import effective_sample_fraction
from betanll.distributions import Distribution, concatenate
from betanll.estimators import (
    HeteroscedasticRegressor,
    fit_many,
    quiet_about_missing_cells,
)
from betanll.evaluation._baselines import constant_baseline, ridge_baseline
from betanll.evaluation._leaks import revealing_columns
from betanll.evaluation._names import column_names
from betanll.evaluation._transforms import settle_transforms
from betanll.metrics import Scores
from betanll.objectives import BetaNLL, GaussianNLL
from betanll.typing import Array, Rows

MODEL = "this model"
PLAIN_NLL = "same network, plain NLL"
RIDGE = "ridge, constant spread"
CONSTANT = "constant"
MSE = "same network, mean alone"
#: Nominal coverages that are scored.
LEVELS = (0.5, 0.9, 0.95)


@dataclass(frozen=True, eq=False)
class TargetAssessment:
    """Scores of one target on held-out rows, in the unit of the target.

    Attributes
    ----------
    name : str
    scores : dict of str to Scores
        The model first, then the same network with plain NLL (unless that is the
        model), ridge regression and a constant. Empty without held-out values.
    crps, squared_errors : dict of str to array of shape (n_observed,)
        Scores of each held-out value, by the names of `scores`; `squared_errors` also
        has the same network trained with the squared error.
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
    """Predictions and scores of a model on held-out rows.

    Attributes
    ----------
    model : HeteroscedasticRegressor
        Fitted on all rows, or on the training rows of the only split.
    rows : array of shape (n,)
        Positions of the held-out rows, one split after the other.
    target : array of shape (n, d)
        Held-out targets, NaN where they are missing.
    predictive : Distribution of shape (n, d)
    interval : array of shape (n, 2, d)
        90% intervals of the model.
    targets : list of d TargetAssessment
        Scores, target by target: their units differ.
    sample_fractions : dict of str to float
        Effective sample fraction of the training rows, by the name of the loss.
    n_splits : int
        Number of splits into training and held-out rows.
    n_rows : int
        Rows that the model was trained on.
    is_of_all_rows : bool
        Whether the model was trained on all rows after the scores were measured.
    judged : HeteroscedasticRegressor
        The model of the first split, which has not seen the first `n_judged` of `rows`.
    times : array of shape (n,), optional
        Order in time of the held-out rows, which are later than the training rows.
    is_grouped : bool
        Whether held-out rows and training rows have no group in common.
    """

    model: HeteroscedasticRegressor
    rows: Rows
    target: Array
    predictive: Distribution
    interval: Array
    targets: list[TargetAssessment]
    sample_fractions: dict[str, float]
    n_splits: int = 1
    n_rows: int = 0
    is_of_all_rows: bool = False
    judged: HeteroscedasticRegressor | None = None
    n_judged: int = 0
    times: Array | None = None
    is_grouped: bool = False


@quiet_about_missing_cells()
def assess(
    model: HeteroscedasticRegressor,
    X: Any,
    y: Array,
    splits: Sequence[SplitRows],
    *,
    blocks: RowBlocks | None = None,
    all_rows: bool = False,
    feature_names: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Assessment:
    """Fit a model and its baselines on training rows and score them on held-out rows.

    Parameters
    ----------
    model : HeteroscedasticRegressor
        Is fitted; its clones are trained with other objectives.
    X : array of shape (n, n_features) or data frame
    y : array of shape (n, d)
        NaN marks missing entries.
    splits : sequence of (training rows, held-out rows)
        Positions; no row is held out twice.
    blocks : RowBlocks, optional
        Rows of one group or time, which validation and calibration keep together.
    all_rows : bool, default=False
        Finally train `model` on all rows; always done after several splits. Scores
        still come from models that had not seen the held-out rows.
    feature_names : sequence of str, optional
        Names of the columns of X; by default those of a data frame, or x0, x1, ...
    target_names : sequence of str, optional
        By default y0, y1, ...
    n_jobs : int, optional
        Runs in parallel, by default one for each core.
    progress : bool, default=False
        Show a progress bar.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1))
    >>> y = X + 0.1 * rng.normal(size=(60, 1))
    >>> model = HeteroscedasticRegressor(preset="fast", max_updates=200)
    >>> found = assess(model, X, y, [(range(40), range(40, 60))])
    >>> list(found.targets[0].scores)
    ['this model', 'same network, plain NLL', 'ridge, constant spread', 'constant']
    """
    X = as_pandas(X) if is_frame(X) else X
    splits = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    names = column_names(y, target_names, "y")
    settle_transforms(model, X, y, splits[0][0], n_jobs=n_jobs)
    is_final = all_rows or len(splits) > 1
    families = [_family(model, X, train) for train, _ in splits]
    jobs: list[Any] = [
        (estimator, take_rows(X, train), y[train], fit_options(blocks, train))
        for family, (train, _) in zip(families, splits, strict=True)
        for estimator in family.values()
    ]
    if is_final:
        everything = np.arange(len(y))
        jobs.append((model, X, y, fit_options(blocks, everything)))
    else:
        jobs[0] = (model, *jobs[0][1:])
        families[0][MODEL] = model
    fit_many(jobs, n_jobs=n_jobs, progress=progress)
    held_out = [
        _held_out(family, X, y, train, test, feature_names)
        for family, (train, test) in zip(families, splits, strict=True)
    ]
    rows = np.concatenate([test for _, test in splits])
    target = y[rows]
    predictions = {
        name: concatenate([part.predictions[name] for part in held_out])
        for name in held_out[0].predictions
    }
    intervals = {
        level: np.concatenate([part.intervals[level] for part in held_out])
        for level in LEVELS
    }
    mse_mean = np.concatenate([part.mse_mean for part in held_out])
    targets = []
    for i, name in enumerate(names):
        revealing = [part.revealing[i] for part in held_out]
        targets.append(
            _assess_target(
                name,
                {other: predictive[:, i] for other, predictive in predictions.items()},
                {level: bounds[:, :, i] for level, bounds in intervals.items()},
                mse_mean[:, i],
                target[:, i],
                [one for one in revealing[0] if all(one in part for part in revealing)],
            )
        )
    train = splits[0][0]
    family = families[0]
    return Assessment(
        model=model,
        rows=rows,
        target=target,
        predictive=predictions[MODEL],
        interval=intervals[0.9],
        targets=targets,
        sample_fractions=_sample_fractions(
            family[MODEL], family["nll"], take_rows(X, train)
        ),
        n_splits=len(splits),
        n_rows=len(y) if is_final else len(train),
        is_of_all_rows=is_final,
        judged=family[MODEL],
        n_judged=len(splits[0][1]),
        times=blocks.codes[rows] if blocks is not None and blocks.is_ordered else None,
        is_grouped=blocks is not None and not blocks.is_ordered,
    )


class _HeldOut(NamedTuple):
    """Predictions for held-out rows by the models and baselines of one split."""

    predictions: dict[str, Distribution]
    intervals: dict[float, Array]
    mse_mean: Array
    revealing: list[list[str]]


def _family(
    model: HeteroscedasticRegressor, X: Any, train: Rows
) -> dict[str, HeteroscedasticRegressor]:
    """Return a clone of the model, and clones with other objectives."""
    # Clones set aside as many rows for calibration as the model does, but stay
    # uncalibrated: conformal scores do not change distributions.
    holds_out_rows = model.plan_for(len(train), X.shape[1]).holds_out_rows
    calibration = "conformal" if holds_out_rows else model.calibration
    twins = {
        name: clone(model).set_params(objective=name, calibration=calibration)
        for name in ("nll", "mse")
    }
    return {MODEL: clone(model), **twins}


def _held_out(
    family: Mapping[str, HeteroscedasticRegressor],
    X: Any,
    y: Array,
    train: Rows,
    test: Rows,
    feature_names: Sequence[str] | None,
) -> _HeldOut:
    """Predict held-out rows with fitted models and with baselines."""
    model = family[MODEL]
    inputs = take_rows(X, test)
    matrix, matrix_test = (
        model.encode(part).astype(np.float64, copy=False)
        for part in (take_rows(X, train), inputs)
    )
    encoder = model.encoder_
    if encoder is not None and feature_names is None:
        features = list(encoder.sources)
    else:
        features = column_names(matrix, feature_names, "x")
    predictions = {MODEL: model.predict_dist(inputs)}
    if not isinstance(model.objective_, GaussianNLL):
        predictions[PLAIN_NLL] = family["nll"].predict_dist(inputs)
    predictions[RIDGE] = ridge_baseline(matrix, y[train], matrix_test)
    predictions[CONSTANT] = constant_baseline(y[train], len(test))
    revealing = [
        revealing_columns(matrix, y[train, i], matrix_test, y[test, i])
        for i in range(y.shape[1])
    ]
    return _HeldOut(
        predictions,
        {level: model.predict_interval(inputs, level) for level in LEVELS},
        family["mse"].predict_dist(inputs).mean,
        [list(dict.fromkeys(features[j] for j in found)) for found in revealing],
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
