"""Scorers with scikit-learn's own regressors, searches, pipelines, and fakes."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from betanll import metrics
from betanll.distributions import Normal, StudentT
from betanll.metrics import (
    CoverageScorer,
    NegCoverageErrorScorer,
    NegIntervalScoreScorer,
    coverage_scorer,
    log_likelihood_scorer,
    neg_coverage_error_scorer,
    neg_crps_scorer,
    neg_interval_score_scorer,
)

SCORERS = {
    "log_likelihood": log_likelihood_scorer,
    "crps": neg_crps_scorer,
    "coverage": coverage_scorer,
    "coverage_error": neg_coverage_error_scorer,
    "interval_score": neg_interval_score_scorer,
}


class Constant(RegressorMixin, BaseEstimator):
    """Predicts the mean of the training target and a given spread."""

    def __init__(self, spread=1.0, width=None):
        self.spread = spread
        self.width = width

    def fit(self, X, y):
        self.mean_ = np.mean(y, axis=0)
        return self

    def predict_dist(self, X):
        mean = np.broadcast_to(self.mean_, (len(X), *np.shape(self.mean_)))
        return Normal(mean, np.full(mean.shape, self.spread))

    def predict_interval(self, X, coverage=0.9):
        if self.width is None:
            return self.predict_dist(X).interval(coverage)
        return np.stack(
            [self.predict_dist(X).mean + s for s in (-self.width, self.width)], 1
        )


class Bounded(BaseEstimator):
    """Predicts intervals only, as a conformal wrapper might."""

    def predict_interval(self, X, coverage):
        return np.tile([0.0, coverage], (len(X), 1))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, X @ [1.0, -2.0] + 0.3 * rng.normal(size=60)


def test_values_are_those_of_the_metrics(data):
    X, y = data
    model = Constant(2.0).fit(X, y)
    predictive = model.predict_dist(X)
    interval, observed = predictive.interval(0.9), {}
    observed["log_likelihood"] = metrics.log_likelihood(predictive, y)
    observed["crps"] = -metrics.crps(predictive, y)
    observed["coverage"] = metrics.interval_coverage(interval, y)
    observed["coverage_error"] = -abs(observed["coverage"] - 0.9)
    observed["interval_score"] = -metrics.interval_score(interval, y, 0.9)
    assert observed == {name: scorer(model, X, y) for name, scorer in SCORERS.items()}


def test_greater_is_better(data):
    X, y = data
    good, bad = Constant(np.std(y)).fit(X, y), Constant(100 * np.std(y)).fit(X, y)
    for name in set(SCORERS) - {"coverage"}:
        assert SCORERS[name](good, X, y) > SCORERS[name](bad, X, y), name


def test_intervals_of_the_estimator_come_first(data):
    X, y = data
    model = Constant(spread=1e-6, width=1e6).fit(X, y)
    assert coverage_scorer(model, X, y) == 1
    np.testing.assert_allclose(neg_interval_score_scorer(model, X, y), -2e6)
    model = Constant(width=np.inf).fit(X, y)
    assert neg_interval_score_scorer(model, X, y) == -np.inf
    np.testing.assert_allclose(neg_coverage_error_scorer(model, X, y), -0.1)


def test_an_estimator_may_offer_intervals_alone():
    X, y = np.zeros((4, 1)), [0.1, 0.4, 0.6, 0.95]
    assert CoverageScorer(0.5)(Bounded(), X, y) == 0.5
    assert coverage_scorer(Bounded(), X, y) == 0.75
    with pytest.raises(TypeError, match="Bounded does not predict a distribution"):
        neg_crps_scorer(Bounded(), X, y)


def test_other_coverages(data):
    X, y = data
    model = Constant(2.0).fit(X, y)
    interval = model.predict_interval(X, 0.5)
    coverage = metrics.interval_coverage(interval, y)
    score = metrics.interval_score(interval, y, 0.5)
    assert CoverageScorer(0.5)(model, X, y) == coverage
    assert NegCoverageErrorScorer(0.5)(model, X, y) == -abs(coverage - 0.5)
    assert NegIntervalScoreScorer(0.5)(model, X, y) == -score
    for scorer in (CoverageScorer, NegCoverageErrorScorer, NegIntervalScoreScorer):
        with pytest.raises(ValueError, match=r"coverage must lie in \(0, 1\)"):
            scorer(90)


def test_return_std_becomes_a_normal(data):
    X, y = data
    gaussian_process = GaussianProcessRegressor(RBF() + WhiteKernel(), optimizer=None)
    for model in (BayesianRidge(), gaussian_process):
        model.fit(X, y)
        predictive = Normal(*model.predict(X, return_std=True))
        expected = metrics.log_likelihood(predictive, y)
        assert log_likelihood_scorer(model, X, y) == expected
        expected = metrics.interval_coverage(predictive.interval(0.9), y)
        assert coverage_scorer(model, X, y) == expected


def test_cross_validation_of_peers_with_one_set_of_scorers(data):
    X, y = data
    gaussian_process = GaussianProcessRegressor(RBF() + WhiteKernel(), optimizer=None)
    for model in (Constant(), BayesianRidge(), gaussian_process):
        results = cross_validate(model, X, y, scoring=SCORERS, cv=3)
        for name, scorer in SCORERS.items():
            assert np.isfinite(results[f"test_{name}"]).all()
            single = cross_val_score(model, X, y, scoring=scorer, cv=3)
            np.testing.assert_array_equal(results[f"test_{name}"], single)


def test_grid_search_finds_the_right_spread(data):
    X, y = data
    spreads = {"spread": [0.1, 2.0, 100.0]}
    for name in set(SCORERS) - {"coverage"}:
        search = GridSearchCV(Constant(), spreads, scoring=SCORERS[name], cv=3)
        assert search.fit(X, y).best_params_ == {"spread": 2.0}, name
        assert search.score(X, y) == SCORERS[name](search.best_estimator_, X, y)
        # A fitted search is scored through its best estimator.
        assert SCORERS[name](search, X, y) == search.score(X, y)


def test_grid_search_with_several_metrics(data):
    X, y = data
    search = GridSearchCV(
        make_pipeline(StandardScaler(), BayesianRidge()),
        {"bayesianridge__lambda_init": [0.1, 1.0]},
        scoring=SCORERS,
        refit="crps",
        cv=3,
    )
    search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_log_likelihood"]).all()
    assert neg_crps_scorer(search, X, y) > -0.5


def test_pipelines_transform_before_the_last_step(data):
    X, y = data
    for last in (Constant(), BayesianRidge()):
        plain = copy.deepcopy(last).fit(StandardScaler().fit_transform(X), y)
        pipeline = make_pipeline(
            FunctionTransformer(np.asarray), StandardScaler(), "passthrough", last
        )
        pipeline.fit(X, y)
        nested = make_pipeline(make_pipeline(StandardScaler(), last)).fit(X, y)
        for scorer in SCORERS.values():
            expected = scorer(plain, StandardScaler().fit_transform(X), y)
            assert scorer(pipeline, X, y) == scorer(nested, X, y) == expected


def test_targets_of_any_kind(data):
    polars = pytest.importorskip("polars")
    X, y = data
    vector, column = Constant().fit(X, y), Constant().fit(X, y[:, None])
    frames = [pd.Series(y), pd.DataFrame({"y": y}), polars.Series(y)]
    frames += [list(y), y[:, None], polars.DataFrame({"y": y})]
    for scorer in SCORERS.values():
        expected = scorer(vector, X, y)
        for target in frames:
            assert scorer(vector, X, target) == expected
            assert scorer(column, X, target) == expected


def test_missing_targets_are_left_out(data):
    X, y = data
    model = Constant().fit(X, y)
    gaps = y.copy()
    gaps[::5] = np.nan
    keep = ~np.isnan(gaps)
    for scorer in SCORERS.values():
        actual, expected = scorer(model, X, gaps), scorer(model, X[keep], y[keep])
        np.testing.assert_allclose(actual, expected, rtol=1e-13)


def test_several_outputs(data):
    X, y = data
    both = np.stack([y, 2 * y], axis=1)
    model = Constant(3.0).fit(X, both)
    predictive = model.predict_dist(X)
    expected = metrics.log_likelihood(predictive, both)
    assert log_likelihood_scorer(model, X, both) == expected
    expected = metrics.interval_coverage(predictive.interval(0.9), both)
    assert coverage_scorer(model, X, both) == expected
    with pytest.raises(ValueError, match="shape of the distribution"):
        neg_crps_scorer(model, X, y)


def test_estimators_without_uncertainty_raise(data):
    X, y = data
    target_scaled = TransformedTargetRegressor(BayesianRidge(), func=None)
    for model in (LinearRegression(), target_scaled, make_pipeline(LinearRegression())):
        model.fit(X, y)
        for scorer in SCORERS.values():
            with pytest.raises(TypeError, match=r"needs predict_dist\(X\) or predict"):
                scorer(model, X, y)


def test_a_foreign_distribution_raises(data):
    X, y = data

    class Foreign(BaseEstimator):
        def predict_dist(self, X):
            return np.zeros(len(X))

    with pytest.raises(TypeError, match="returned ndarray, which is not a betanll"):
        neg_crps_scorer(Foreign(), X, y)


def test_student_t_predictions_are_scored_as_such(data):
    X, y = data

    class Heavy(Constant):
        def predict_dist(self, X):
            normal = super().predict_dist(X)
            return StudentT(np.full(normal.shape, 3.0), normal.mean, normal.std)

    model = Heavy().fit(X, y)
    expected = -metrics.crps(model.predict_dist(X), y)
    assert neg_crps_scorer(model, X, y) == expected


def test_scorers_survive_pickling_and_say_what_they_are():
    for scorer in (*SCORERS.values(), CoverageScorer(0.5)):
        assert pickle.loads(pickle.dumps(scorer)) == scorer
        assert copy.deepcopy(scorer) == scorer
    assert repr(log_likelihood_scorer) == "LogLikelihoodScorer()"
    assert repr(NegIntervalScoreScorer(0.5)) == "NegIntervalScoreScorer(coverage=0.5)"
    assert CoverageScorer(0.5) != CoverageScorer(0.9)
    assert CoverageScorer() != NegCoverageErrorScorer()


def test_scorers_work_with_metadata_routing_switched_on(data):
    X, y = data
    with config_context(enable_metadata_routing=True):
        scores = cross_validate(BayesianRidge(), X, y, scoring=SCORERS, cv=3)
        single = cross_val_score(BayesianRidge(), X, y, scoring=neg_crps_scorer, cv=3)
    np.testing.assert_array_equal(scores["test_crps"], single)
