"""The estimator inside scikit-learn's tools, and those of others that build on it."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from betanll import HeteroscedasticRegressor, metrics
from betanll.objectives import BetaNLL

ROWS = np.random.default_rng(9).normal(size=(17, 2))
PARAMETERS = {
    "preset": "default",
    "objective": "beta-nll",
    "beta": 0.5,
    "hidden_layer_sizes": "auto",
    "activation": "auto",
    "n_bins": "auto",
    "learning_rate_init": "auto",
    "learning_rate": "auto",
    "weight_decay": "auto",
    "batch_size": "auto",
    "max_updates": "auto",
    "n_iter_no_change": "auto",
    "validation_fraction": 0.2,
    "n_members": "auto",
    "refit": "auto",
    "calibration": "auto",
    "target_transform": None,
    "columns": None,
    "network": None,
    "optimizer": None,
    "random_state": None,
    "n_jobs": None,
    "verbose": 0,
}


def predictions(model, X=ROWS):
    return np.array(model.predict(X, return_std=True))


@pytest.fixture(scope="module")
def folds():
    """60 rows, so that three folds train on 40 as everywhere else."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (60, 2))
    y = 2 * X[:, 0] - X[:, 1] + (0.1 + 0.3 * (X[:, 0] > 0)) * rng.normal(size=60)
    return X, y


# Parameters


def test_parameters_are_those_of_the_contract():
    model = HeteroscedasticRegressor()
    assert model.get_params() == PARAMETERS
    with pytest.raises(TypeError):
        HeteroscedasticRegressor("nll")
    # They are stored as they are.
    objective, sizes = BetaNLL(0.3), [8, 8]
    model = HeteroscedasticRegressor(objective=objective, hidden_layer_sizes=sizes)
    assert model.objective is objective
    assert model.hidden_layer_sizes is sizes


def test_set_params(regressor, table, fitted):
    model = HeteroscedasticRegressor().set_params(**regressor().get_params())
    np.testing.assert_array_equal(predictions(model.fit(*table)), predictions(fitted))
    assert model.get_params() == regressor().get_params()
    with pytest.raises(ValueError, match="alpha"):
        model.set_params(alpha=1.0)


def test_clones_are_unfitted_and_equal(fitted, table):
    copied = clone(fitted)
    assert copied.get_params() == fitted.get_params()
    assert vars(copied).keys() == copied.get_params().keys()
    np.testing.assert_array_equal(predictions(copied.fit(*table)), predictions(fitted))
    assert clone(HeteroscedasticRegressor(objective=BetaNLL(0.3))).objective == BetaNLL(
        0.3
    )


def test_representation_shows_what_differs_from_the_defaults():
    model = HeteroscedasticRegressor(objective=BetaNLL(0.25), n_members=5)
    text = repr(model)
    assert "n_members=5" in text
    assert "beta=0.25" in text
    assert "calibration" not in text


def test_fit_returns_the_estimator_and_leaves_parameters_alone(regressor, table):
    model = regressor(hidden_layer_sizes=[8])
    before = dict(model.get_params())
    assert model.fit(*table) is model
    assert model.get_params() == before


# Pipelines and searches


def test_pipeline(regressor, table, fitted):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), regressor()).fit(X, y)
    mean, std = pipeline.predict(X, return_std=True)
    # Standardizer twice is whitening once.
    np.testing.assert_allclose(mean, fitted.predict(X), atol=1e-3)
    scaled = pipeline[0].transform(X)
    np.testing.assert_array_equal(pipeline[1].predict(scaled, True), (mean, std))
    score = metrics.log_likelihood_scorer(pipeline, X, y)
    assert score == pipeline[1].log_likelihood(scaled, y)
    weights = {"heteroscedasticregressor__sample_weight": np.ones(40)}
    again = clone(pipeline).fit(X, y, **weights)
    np.testing.assert_array_equal(again.predict(X), mean)


def test_grid_search_with_probabilistic_scores(regressor, folds):
    X, y = folds
    scorers = {
        "log_likelihood": metrics.log_likelihood_scorer,
        "crps": metrics.neg_crps_scorer,
        "coverage": metrics.coverage_scorer,
        "r2": "r2",
    }
    pipeline = Pipeline([("model", regressor(max_updates=100))])
    search = GridSearchCV(
        pipeline,
        [
            {"model__beta": [0.0, 1.0]},
            {"model__objective": ["mse", BetaNLL(0.25)]},
            {"model__hidden_layer_sizes": [(8,), (4,)]},
        ],
        scoring=scorers,
        refit=False,
        cv=3,
        error_score="raise",
    ).fit(X, y)
    results = search.cv_results_
    assert len(results["params"]) == 6
    # One of them by hand.
    train, test = list(KFold(3).split(X))[2]
    model = regressor(max_updates=100, beta=1.0).fit(X[train], y[train])
    predictive = model.predict_dist(X[test])
    expected = {
        "log_likelihood": predictive.log_prob(y[test]).mean(),
        "crps": -metrics.crps(predictive, y[test]),
        "coverage": np.mean(
            np.abs(y[test] - predictive.mean) <= 1.6448536 * predictive.std
        ),
        "r2": model.score(X[test], y[test]),
    }
    for name, value in expected.items():
        assert results[f"split2_test_{name}"][1] == pytest.approx(value, rel=1e-9)
        assert np.all(np.isfinite(results[f"mean_test_{name}"]))
    assert len(set(results["mean_test_log_likelihood"])) == 6


def test_cross_validation(regressor, folds):
    X, y = folds
    found = cross_val_predict(regressor(), X, y, cv=3, method="predict")
    expected, scores = np.empty(60), []
    for train, test in KFold(3).split(X):
        model = regressor().fit(X[train], y[train])
        expected[test] = model.predict(X[test])
        scores.append(model.score(X[test], y[test]))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(cross_val_score(regressor(), X, y, cv=3), scores)
    results = cross_validate(
        regressor(), X, y, cv=3, scoring=metrics.neg_interval_score_scorer
    )
    assert np.all(np.isfinite(results["test_score"]))
    columns = cross_val_predict(regressor(), X, y[:, None], cv=3)
    np.testing.assert_array_equal(columns, expected[:, None])


# Copies


def test_pickle_and_joblib_round_trips(fitted, tmp_path):
    for copied in (
        pickle.loads(pickle.dumps(fitted)),
        joblib.load(joblib.dump(fitted, tmp_path / "model")[0]),
    ):
        np.testing.assert_array_equal(predictions(copied), predictions(fitted))
        assert copied.search_results_ == fitted.search_results_
        assert copied.get_params() == fitted.get_params()


# Neighbours


def test_mapie_uses_the_predicted_std(fitted):
    pytest.importorskip("mapie")
    from mapie.conformity_scores import StdConformityScore
    from mapie.regression import SplitConformalRegressor

    # 80 times 0.75 is whole; else the lower bounds of MAPIE 1.6 are one score tighter.
    rng = np.random.default_rng(4)
    X, noise = rng.uniform(-1, 1, (79, 2)), rng.normal(size=79)
    y = 3 + 2 * X[:, 0] + noise
    wrapped = SplitConformalRegressor(
        fitted, confidence_level=0.75, conformity_score=StdConformityScore()
    )
    wrapped.conformalize(X, y)
    mean, interval = wrapped.predict_interval(ROWS)
    np.testing.assert_array_equal(mean, fitted.predict(ROWS))
    # Split conformal with the same scores is what we do ourselves.
    own = pickle.loads(pickle.dumps(fitted)).conformalize(X, y)
    expected = own.predict_interval(ROWS, coverage=0.75)
    np.testing.assert_allclose(interval[:, :, 0], expected, rtol=1e-9)


def test_skpro_adapts_the_predicted_std(regressor, table, fitted):
    pytest.importorskip("skpro")
    import pandas as pd
    from skpro.regression.adapters.sklearn import SklearnProbaReg

    X = pd.DataFrame(table[0], columns=["a", "b"])
    adapted = SklearnProbaReg(regressor()).fit(X, pd.DataFrame({"y": table[1]}))
    mean, std = fitted.predict(table[0], return_std=True)
    np.testing.assert_allclose(adapted.predict(X).to_numpy()[:, 0], mean)
    np.testing.assert_allclose(adapted.predict_var(X).to_numpy()[:, 0], std**2)
