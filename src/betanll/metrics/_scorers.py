"""Scorers for the ``scoring`` parameter of scikit-learn's cross-validation."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from betanll._arrays import as_array
from betanll.distributions import Distribution, Normal
from betanll.metrics._intervals import (
    check_coverage,
    interval_coverage,
    interval_score,
)
from betanll.metrics._scores import crps, log_likelihood
from betanll.typing import Array


@dataclass(frozen=True)
class LogLikelihoodScorer:
    """The mean log-likelihood; greater is better."""

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        predictive = _predict_dist(*_unwrap(estimator, X))
        return log_likelihood(predictive, _like(predictive.shape, y))


@dataclass(frozen=True)
class NegCRPSScorer:
    """Minus the mean CRPS, so that greater is better."""

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        predictive = _predict_dist(*_unwrap(estimator, X))
        return -crps(predictive, _like(predictive.shape, y))


@dataclass(frozen=True)
class _IntervalScorer(ABC):
    coverage: float = 0.9

    def __post_init__(self) -> None:
        check_coverage(self.coverage)

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        interval = _predict_interval(*_unwrap(estimator, X), self.coverage)
        return self._score(interval, _like(interval[:, 0].shape, y))

    @abstractmethod
    def _score(self, interval: Array, target: Array) -> float: ...


class CoverageScorer(_IntervalScorer):
    """The observed coverage of the central intervals, a number to report.

    Greater is not better: search with `NegCoverageErrorScorer` or
    `NegIntervalScoreScorer` instead.

    Parameters
    ----------
    coverage : float, default=0.9
        The nominal coverage.

    Examples
    --------
    >>> CoverageScorer(coverage=0.5)
    CoverageScorer(coverage=0.5)
    """

    def _score(self, interval: Array, target: Array) -> float:
        return interval_coverage(interval, target)


class NegCoverageErrorScorer(_IntervalScorer):
    """Minus the distance between observed and nominal coverage.

    Useless intervals can have perfect coverage: also report a proper score.

    Parameters
    ----------
    coverage : float, default=0.9
        The nominal coverage.

    Examples
    --------
    >>> NegCoverageErrorScorer(coverage=0.5)
    NegCoverageErrorScorer(coverage=0.5)
    """

    def _score(self, interval: Array, target: Array) -> float:
        return -abs(interval_coverage(interval, target) - self.coverage)


class NegIntervalScoreScorer(_IntervalScorer):
    """Minus the mean interval score, which rewards narrow intervals that cover.

    Parameters
    ----------
    coverage : float, default=0.9
        The nominal coverage.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.model_selection import cross_val_score
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> y = x[:, 0] + 0.1 * np.cos(100 * x[:, 0])
    >>> scorer = NegIntervalScoreScorer(coverage=0.5)
    >>> cross_val_score(BayesianRidge(), x, y, scoring=scorer, cv=3).round(1)
    array([-0.2, -0.2, -0.2])
    """

    def _score(self, interval: Array, target: Array) -> float:
        return -interval_score(interval, target, self.coverage)


#: The mean log-likelihood (minus the NLL): greater is better.
log_likelihood_scorer = LogLikelihoodScorer()
#: Minus the mean CRPS.
neg_crps_scorer = NegCRPSScorer()
#: The observed coverage of 90% intervals.
coverage_scorer = CoverageScorer()
#: Minus the distance of the observed coverage of 90% intervals from 0.9.
neg_coverage_error_scorer = NegCoverageErrorScorer()
#: Minus the mean interval score of 90% intervals.
neg_interval_score_scorer = NegIntervalScoreScorer()


def _unwrap(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the regressor inside searches and pipelines, and its inputs."""
    while not _offers(estimator, "predict_dist", "predict_interval"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            for _, step in estimator.steps[:-1]:
                if step is not None and step != "passthrough":
                    X = step.transform(X)
            estimator = estimator.steps[-1][1]
        else:
            break
    return estimator, X


def _offers(estimator: Any, *methods: str) -> bool:
    return any(hasattr(estimator, method) for method in methods)


def _predict_dist(estimator: Any, X: Any) -> Distribution:
    if _offers(estimator, "predict_dist"):
        predictive = estimator.predict_dist(X)
        if not isinstance(predictive, Distribution):
            raise TypeError(
                f"predict_dist of {type(estimator).__name__} returned "
                f"{type(predictive).__name__}, which is not a betanll distribution"
            )
        return predictive
    if not _has_return_std(estimator):
        raise TypeError(
            f"{type(estimator).__name__} does not predict a distribution: it needs "
            "predict_dist(X) or predict(X, return_std=True)"
        )
    mean, std = estimator.predict(X, return_std=True)
    return Normal(mean, std)


def _predict_interval(estimator: Any, X: Any, coverage: float) -> Array:
    if _offers(estimator, "predict_interval"):
        return as_array(estimator.predict_interval(X, coverage))
    return _predict_dist(estimator, X).interval(coverage)


def _has_return_std(estimator: Any) -> bool:
    predict = getattr(estimator, "predict", None)
    return predict is not None and "return_std" in inspect.signature(predict).parameters


def _like(shape: tuple[int, ...], y: ArrayLike) -> Array:
    """Reshape a target of one column, vector or matrix, to match the prediction."""
    target = as_array(y)
    is_column = {target.shape, shape} == {shape[:1], (*shape[:1], 1)}
    return target.reshape(shape) if is_column else target
