"""Fits whose validation and calibration respect groups and time."""

import numpy as np
import pandas as pd
import pytest

from betanll.estimators import fit_many


@pytest.fixture(scope="module")
def grouped():
    """Groups have levels of their own, which no input of a new group tells."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 10)
    level = rng.normal(0, 2, 30)[group]
    X = np.column_stack([rng.normal(size=300), group + rng.uniform(-0.3, 0.3, 300)])
    return X, level + 0.3 * rng.normal(size=300), group


SETTINGS = {
    "preset": "default",
    "n_members": 5,
    "hidden_layer_sizes": (16,),
    "max_updates": 600,
    "random_state": 0,
}


def test_calibration_expects_new_groups(regressor, grouped):
    """Intervals are as wide as new groups need, not as known ones do."""
    X, y, group = grouped
    blind = regressor(**SETTINGS).fit(X, y)
    honest = regressor(**SETTINGS).fit(X, y, groups=group)
    narrow, wide = (model.predict(X, return_std=True)[1] for model in (blind, honest))
    assert wide.mean() > 1.5 * narrow.mean()
    assert 1.2 < wide.mean() < 4


def test_labels_of_any_kind_give_the_same_bits(regressor, grouped):
    X, y, group = grouped
    model = regressor(preset="fast", n_members=2)
    names = pd.Series([f"patient {i}" for i in group])
    first, second = fit_many(
        [(model, X, y, {"groups": group}), (model, X, y, {"groups": names})]
    )
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    alone = regressor(preset="fast", n_members=2).fit(X, y, groups=group)
    np.testing.assert_array_equal(first.predict(X), alone.predict(X))


def test_conformal_scores_are_of_the_latest_rows(regressor):
    """The target drifts: the latest rows are far from what was learnt."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, 1))
    time = rng.permutation(100)
    y = 10.0 * (time >= 80) + 0.1 * rng.normal(size=100)
    model = regressor(calibration="conformal")
    blind = model.fit(x, y).predict_interval(x, 0.5)
    honest = model.fit(x, y, times=time).predict_interval(x, 0.5)
    widths = [np.ptp(interval, axis=1).mean() for interval in (blind, honest)]
    assert widths[1] > 15
    assert widths[1] > 2 * widths[0]


def test_rows_without_target_take_their_labels_along(regressor, grouped):
    X, y, group = grouped
    targets = np.column_stack([y, y])
    targets[::3] = np.nan
    kept = ~np.isnan(targets[:, 0])
    model = regressor(preset="fast", n_members=2)
    first = model.fit(X, targets, groups=group).predict(X)
    second = model.fit(X[kept], targets[kept], groups=group[kept]).predict(X)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": np.arange(4)}, "groups has 4 entries for 300 rows"),
        ({"times": np.zeros(300)}, "all rows are of one time, 0"),
        ({"groups": np.ones(300), "times": np.ones(300)}, "give one of them"),
    ],
)
def test_useless_labels_are_refused(regressor, grouped, options, message):
    X, y, _ = grouped
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, y, **options)
