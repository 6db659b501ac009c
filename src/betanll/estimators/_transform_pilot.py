"""Whether to predict the logarithm of a target: one network each way decides.

Only targets that are positive and skewed are put to the test. A network learns them as
they are, another their logarithms, from the same rows. The CRPS of the other rows, in
the unit of the target, decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from betanll.distributions import Distribution, Identity, Log, Transform, Transformed
from betanll.estimators._calibration import (
    residuals_of,
    spread_factor,
    student_t_fit,
    with_spread,
    with_tails,
)
from betanll.model_selection import FitPlan, Steps, TrainingData, weighted_mean
from betanll.objectives import BetaNLL
from betanll.training import FitResult, FitTask, predict_parameters
from betanll.typing import Array, Rows

#: Rows beyond these would hardly change the decision.
_MAX_ROWS = 20_000
#: Few rows are split several times.
_ENOUGH_SCORES = 1000
_MAX_SPLITS = 3
#: The upper half of a skewed target reaches so many times farther than the lower.
_MIN_SKEW = 1.3
#: The logarithm has to be better by this share, in the mean over splits.
_MARGIN = 0.02


def pilot(
    plan: FitPlan, data: TrainingData, wanted: Sequence[Transform | str]
) -> Steps[tuple[Transform, ...]]:
    """Return the transforms, each "auto" decided.

    Nothing is drawn from the random numbers of the fit, and the objective of the plan
    plays no part: models that are compared decide alike.
    """
    is_open = np.array(
        [
            isinstance(one, str) and may_gain(column)
            for one, column in zip(wanted, data.targets.T, strict=True)
        ]
    )
    plain = tuple(Identity() if isinstance(one, str) else one for one in wanted)
    if not is_open.any():
        return plain
    logged = tuple(
        Log() if is_log else one for is_log, one in zip(is_open, plain, strict=True)
    )
    options = (plain, logged)
    n = min(len(data), _MAX_ROWS)
    n_train = plan.n_train(n)
    n_splits = min(_MAX_SPLITS, -(-_ENOUGH_SCORES // (n - n_train)), n // (n - n_train))
    order = np.random.RandomState(0).permutation(len(data))[:n]
    trials = [
        _Trial(plan, data, np.roll(order, -k * (n - n_train)), n_train, option)
        for k in range(n_splits)
        for option in options
    ]
    results = yield [trial.task(seed) for seed, trial in enumerate(trials)]
    scores = [trial.crps(it) for trial, it in zip(trials, results, strict=True)]
    as_it_is, of_log = (np.array(scores[i::2]) for i in range(2))
    # A few rows decide by chance: all splits have to agree.
    is_better = is_open & np.all(of_log < as_it_is, axis=0)
    is_better &= of_log.mean(axis=0) < (1 - _MARGIN) * as_it_is.mean(axis=0)
    return tuple(
        log if better else one
        for better, log, one in zip(is_better, logged, plain, strict=True)
    )


def may_gain(column: Array) -> bool:
    """Tell whether a target is positive, and less skewed as a logarithm.

    Examples
    --------
    >>> wages = np.exp(np.random.default_rng(0).normal(size=100))
    >>> may_gain(wages), may_gain(np.log(wages)), may_gain(-wages)
    (True, False, False)
    """
    seen = column[~np.isnan(column)]
    if not seen.size or seen.min() <= 0:
        return False

    def skew(values: Array) -> float:
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
        return float((high - middle) / max(middle - low, 1e-12 * max(high, 1e-300)))

    plain, of_log = skew(seen), skew(np.log(seen))
    return plain > _MIN_SKEW and max(of_log, 1 / max(of_log, 1e-12)) < plain


class _Trial:
    """One network on one split of the rows, with targets in one way."""

    def __init__(
        self,
        plan: FitPlan,
        data: TrainingData,
        order: Rows,
        n_train: int,
        option: tuple[Transform, ...],
    ) -> None:
        self.plan, self.option = plan, option
        self.train, self.test = order[:n_train], order[n_train:]
        images = [
            one(column) for one, column in zip(option, data.targets.T, strict=True)
        ]
        self.truth, self.weights = data.targets[self.test], data.weights
        self.data = TrainingData(data.inputs, np.column_stack(images), data.weights)
        self.net, _, self.optimizer = plan.candidates[len(plan.candidates) // 2]
        n_bins = getattr(self.net, "n_bins", 0)
        self.packed, self.inputs, self.targets = self.data.standardised(
            self.train, self.test, n_bins=n_bins, measured_on=self.train
        )

    def task(self, seed: int) -> FitTask:
        budget = self.plan.budget(len(self.train))
        optimizer = self.optimizer
        if optimizer.takes("n_updates"):
            n_batches = len(self.train) // (budget.batch_size or len(self.train))
            n_updates = float(budget.max_epochs * max(n_batches, 1))
            optimizer = optimizer.replace(n_updates=n_updates)
        return FitTask(
            self.net,
            BetaNLL(0.5),
            self.packed,
            optimizer=optimizer,
            budget=budget,
            robust_selection=True,
            seed=seed // 2,
        )

    def crps(self, result: FitResult) -> Array:
        """Return the mean CRPS of each target in its unit, infinite without a fit."""
        if result.best_epoch == 0:
            return np.full(len(self.option), np.inf)
        found = self._calibrated(result)
        predictive = Transformed(found, self.option)
        scores = predictive.crps(self.truth)
        is_seen = ~np.isnan(self.truth)
        weights: Any = 1.0 if self.weights is None else self.weights[self.test]
        return weighted_mean(np.where(is_seen, scores, 0), is_seen * weights, default=0)

    def _calibrated(self, result: FitResult) -> Distribution:
        """Return the predictions, as the fit would calibrate them."""
        parameters = predict_parameters(
            result.network,
            result.objective,
            result.params,
            self.inputs.apply(self.data.inputs, self.test),
        )
        predictive = result.objective.predictive(parameters)
        images = self.data.targets[self.test]
        white = (images - self.targets.mean) / self.targets.scale
        weights = None if self.weights is None else self.weights[self.test]
        residuals = residuals_of(predictive, white, weights)
        has_tails = self.plan.calibration == "student-t"
        if has_tails and all(type(one) is Identity for one in self.option):
            predictive = with_tails(predictive, *student_t_fit(residuals))
        else:
            predictive = with_spread(predictive, spread_factor(residuals))
        return predictive.affine(self.targets.scale, self.targets.mean)
