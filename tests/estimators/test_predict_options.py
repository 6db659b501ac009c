"""Std, intervals and quantiles by ``predict``, alone and inside scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROWS = np.random.default_rng(9).normal(size=(17, 2))
COLUMNS = ["mean", "std", "lower", "upper"]


@pytest.fixture(scope="module")
def conformal(regressor, table):
    return regressor(calibration="conformal").fit(*table)


@pytest.mark.parametrize("name", ["fitted", "ensemble", "conformal"])
def test_what_is_asked_for_comes_in_the_order_of_the_signature(name, request):
    model = request.getfixturevalue(name)
    levels = [0.1, 0.5, 0.9]
    mean, std, interval, quantiles = model.predict(
        ROWS, return_std=True, return_interval=0.8, return_quantiles=levels
    )
    np.testing.assert_array_equal(mean, model.predict(ROWS))
    np.testing.assert_array_equal(std, model.predict(ROWS, return_std=True)[1])
    np.testing.assert_array_equal(interval, model.predict_interval(ROWS, 0.8))
    np.testing.assert_array_equal(quantiles, model.predict_quantiles(ROWS, levels))
    mean, median = model.predict(ROWS, return_quantiles=0.5)
    np.testing.assert_array_equal(median, model.predict_quantiles(ROWS, 0.5))


def test_several_targets_keep_their_axis(regressor, table):
    X, y = table
    model = regressor().fit(X, np.column_stack([y, -y]))
    mean, interval, quantiles = model.predict(
        ROWS, return_interval=0.9, return_quantiles=[0.5]
    )
    assert mean.shape == (17, 2)
    assert interval.shape == (17, 2, 2)
    assert quantiles.shape == (17, 2, 1)


@pytest.mark.parametrize("coverage", [0, 1, 1.5, True])
def test_a_coverage_that_is_none_is_refused(fitted, coverage):
    with pytest.raises(ValueError, match="coverage must lie in"):
        fitted.predict(ROWS, return_interval=coverage)


def test_intervals_pass_through_a_pipeline(regressor, table):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), regressor()).fit(X, y)
    mean, interval = pipeline.predict(X, return_interval=0.9)
    scaled = pipeline[0].transform(X)
    np.testing.assert_array_equal(mean, pipeline[1].predict(scaled))
    np.testing.assert_array_equal(interval, pipeline[1].predict_interval(scaled, 0.9))


# Frames


def test_a_frame_of_predictions_is_named_and_keeps_the_index(fitted):
    index = [f"row {i}" for i in range(17)]
    # Names are not checked: the model was fitted without any.
    frame = pd.DataFrame(ROWS, index=index).set_axis(["a", "b"], axis=1)
    with pytest.warns(UserWarning, match="feature names"):
        found = fitted.predict_frame(frame, coverage=0.8)
    assert list(found) == COLUMNS
    assert list(found.index) == index
    mean, std, interval = fitted.predict(ROWS, return_std=True, return_interval=0.8)
    expected = np.column_stack([mean, std, interval])
    np.testing.assert_array_equal(found.to_numpy(), expected)
    assert list(fitted.predict_frame(ROWS).index) == list(range(17))


def test_names_of_targets_come_from_the_frame_that_was_fitted(regressor, table):
    X, y = table
    targets = pd.DataFrame({"price": y, "rent": -y})
    model = regressor().fit(X, targets)
    names = [f"{target}_{part}" for target in ("price", "rent") for part in COLUMNS]
    found = model.predict_frame(ROWS)
    assert list(found) == names
    np.testing.assert_array_equal(
        found["rent_upper"], model.predict_interval(ROWS)[:, 1, 1]
    )
    model = regressor().fit(X, np.column_stack([y, -y]))
    assert list(model.predict_frame(ROWS))[::4] == ["y0_mean", "y1_mean"]
    # One target needs no name, whatever it is called.
    model = regressor().fit(X, pd.Series(y, name="price"))
    assert list(model.predict_frame(ROWS)) == COLUMNS


# Cross-validation


def test_predictions_of_folds_join_to_one_frame(regressor, table):
    X, y = pd.DataFrame(table[0], columns=["a", "b"]), table[1]
    # `cross_val_predict` takes no method but those of scikit-learn itself.
    folds = cross_validate(
        regressor(), X, y, cv=2, return_estimator=True, return_indices=True
    )
    pairs = zip(folds["estimator"], folds["indices"]["test"], strict=True)
    parts = [model.predict_frame(X.iloc[test]) for model, test in pairs]
    found = pd.concat(parts).loc[X.index]
    mean = cross_val_predict(regressor(), X, y, cv=2)
    np.testing.assert_array_equal(found["mean"], mean)
    for train, test in KFold(2).split(X):
        interval = (
            regressor().fit(X.iloc[train], y[train]).predict_interval(X.iloc[test])
        )
        np.testing.assert_array_equal(found[["lower", "upper"]].iloc[test], interval)
