"""`evaluate` is the metrics one by one."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from betanll.distributions import Mixture, Normal, StudentT
from betanll.metrics import (
    crps,
    evaluate,
    interval_coverage,
    interval_width,
    log_likelihood,
    rmse,
)


def predictions(shape, seed=0):
    rng = np.random.default_rng(seed)
    normal = Normal(rng.normal(size=shape), rng.uniform(0.5, 2, shape))
    student = StudentT(np.full(shape, 4.0), rng.normal(size=shape), np.ones(shape))
    return [normal, student, Mixture([normal, student])], rng.normal(size=shape)


@pytest.mark.parametrize("shape", [(40,), (40, 1), (40, 3)])
def test_evaluate_gathers_the_metrics(shape):
    predictives, target = predictions(shape)
    target[::7] = np.nan
    for predictive in predictives:
        scores = evaluate(predictive, target)
        assert scores.rmse == rmse(predictive.mean, target)
        assert scores.log_likelihood == log_likelihood(predictive, target)
        assert scores.crps == crps(predictive, target)
        assert list(scores.coverage) == list(scores.width) == [0.5, 0.9, 0.95]
        for level in scores.coverage:
            interval = predictive.interval(level)
            assert scores.coverage[level] == interval_coverage(interval, target)
            assert scores.width[level] == interval_width(interval)


def test_given_intervals_replace_those_of_the_distribution():
    (normal, *_), target = predictions((10,))

    def conformal(coverage):
        bound = 100.0 if coverage < 0.9 else np.inf
        return np.tile([-bound, bound], (10, 1))

    scores = evaluate(normal, target, levels=[0.8, 0.9], intervals=conformal)
    assert scores.coverage == {0.8: 1.0, 0.9: 1.0}
    assert scores.width == {0.8: 200.0, 0.9: np.inf}
    assert scores.crps == crps(normal, target)


def test_a_diverged_model_scores_nan_in_silence():
    predictives, target = predictions((10,))
    normal, student, _ = predictives
    normal = Normal(np.full(10, np.nan), normal.std)
    student = StudentT(student.df, normal.mean, student.scale)
    for predictive in (normal, student, Mixture([normal, student])):
        scores = evaluate(predictive, target)
        values = [scores.rmse, scores.log_likelihood, scores.crps]
        values += [*scores.coverage.values(), *scores.width.values()]
        assert np.isnan(values).all()


def test_scores_are_plain_and_frozen():
    (normal, *_), target = predictions((10,))
    scores = evaluate(normal, target, levels=())
    assert scores.coverage == scores.width == {}
    assert all(type(x) is float for x in (scores.rmse, scores.crps))
    assert scores == evaluate(normal, target, levels=[])
    with pytest.raises(FrozenInstanceError):
        scores.rmse = 0.0


def test_wrong_arguments_raise():
    (normal, *_), target = predictions((10,))
    with pytest.raises(ValueError, match="shape"):
        evaluate(normal, target[:, None])
    with pytest.raises(ValueError, match="coverage must lie"):
        evaluate(normal, target, levels=[90])
