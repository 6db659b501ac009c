"""All models of an assessment learn the same of the targets."""

import numpy as np

from betanll import HeteroscedasticRegressor
from betanll.distributions import Identity, Log, Transformed
from betanll.evaluation import assess
from betanll.evaluation._transforms import settle_transforms

X = np.random.default_rng(0).uniform(-1, 1, (200, 1))
PRICES = np.exp(3 + 2 * X + 0.4 * np.random.default_rng(1).normal(size=(200, 1)))
FAST = {"preset": "fast", "hidden_layer_sizes": 8, "random_state": 0}


def settled(y, given="auto", **changes):
    model = HeteroscedasticRegressor(**{**FAST, **changes}, target_transform=given)
    settle_transforms(model, X, y, np.arange(150))
    return model.target_transform


def test_what_is_settled_stays():
    assert settled(PRICES, None) is None
    assert settled(PRICES, "log") == "log"
    assert settled(np.hstack([PRICES, -PRICES]), [None, "log1p"]) == [None, "log1p"]


def test_auto_becomes_one_transform_for_each_target():
    both = np.hstack([PRICES, -PRICES, PRICES])
    found = settled(both, ["auto", "auto", None])
    assert found[0] in (Log(), Identity())  # the pilot has the word
    assert found[1:] == [Identity(), None]
    assert settled(-PRICES) == [Identity()]
    assert settled(PRICES, preset="paper") == [Identity()]


def test_a_zero_among_the_held_out_rows_leaves_the_target_alone():
    y = PRICES.copy()
    y[-1] = 0
    assert settled(y) == [Identity()]


def test_predictions_of_folds_are_joined():
    # Over orders of magnitude, so that the pilot cannot but take the logarithm.
    rng = np.random.default_rng(1)
    inputs = rng.uniform(-1, 1, (1200, 2))
    wide = np.exp(3 * inputs[:, :1] + 0.8 * rng.normal(size=(1200, 1)))
    model = HeteroscedasticRegressor(
        preset="fast", target_transform="auto", max_updates=1000, random_state=0
    )
    rows = np.arange(1200)
    splits = [(rows[600:], rows[:600]), (rows[:600], rows[600:])]
    found = assess(model, inputs, wide, splits)
    assert model.target_transform_ == (Log(),)
    assert isinstance(found.predictive, Transformed)
    assert found.interval.min() > 0
    score = found.targets[0].scores["this model"]
    assert score.crps < found.targets[0].scores["constant"].crps
