"""The rule on errors that were made by hand."""

import numpy as np
import pytest
from scipy import stats

from betanll.diagnostics import effective_sample_fraction, starved_fraction
from betanll.evaluation import judge

N = 400


def evidence(ours, theirs, variance, training_variance=None):
    variance = np.asarray(variance, float).reshape(len(ours), -1)
    return judge(
        {"nll": ours, "mse": theirs},
        subject="nll",
        challenger="mse",
        variance=variance,
        training_variance=variance if training_variance is None else training_variance,
    )


def chi_square(scale, seed=0):
    return np.asarray(scale) * np.random.default_rng(seed).chisquare(1, N)


HALVES = np.repeat([1e-4, 1.0], N // 2)


def test_numbers_by_hand():
    ours, theirs = np.array([1.0, 3.0, 2.0, 6.0]), np.array([1.0, 1.0, 1.0, 1.0])
    found = evidence(ours, theirs, [1.0, 1.0, 4.0, 4.0])
    assert found.gain == pytest.approx((12 - 4) / 12)
    spread = np.std((ours - theirs) - found.gain * ours, ddof=1) / 3 / 2
    assert found.gain_low == pytest.approx(found.gain - stats.t.ppf(0.95, 3) * spread)
    # Weights 1 and 1/4 against an average of 5/8; the gains are 0, 2 and 1, 5.
    np.testing.assert_allclose(found.weight, [1.6, 1.6, 0.4, 0.4])
    assert found.ignored_share == pytest.approx(6 / 8)
    np.testing.assert_array_equal(found.reduction, ours - theirs)


def test_misfit_that_another_objective_removes_is_the_pitfall():
    found = evidence(chi_square(HALVES), chi_square(1e-4), HALVES)
    assert found.pitfall
    assert found.starved_fraction == 0.5
    assert found.effective_sample_fraction == pytest.approx(0.5, rel=1e-3)


def test_noise_that_nobody_can_predict_is_not():
    for seed in range(20):
        noise = chi_square(HALVES, seed)
        rng = np.random.default_rng(seed)
        found = evidence(noise, noise * rng.uniform(0.8, 1.2, N), HALVES)
        assert not found.pitfall
        assert found.starved_fraction == 0.5  # rightly so


def test_a_gain_in_rows_of_high_weight_is_not_blamed_on_the_likelihood():
    found = evidence(chi_square(HALVES[::-1]), chi_square(1e-4), HALVES)
    assert found.gain > 0.9
    assert found.ignored_share < 0.01
    assert not found.pitfall


def test_a_gain_where_all_rows_have_one_weight_is_not_blamed_on_the_likelihood():
    found = evidence(chi_square(np.ones(N)), chi_square(0.1), np.ones(N))
    assert found.gain > 0.5
    assert found.ignored_share == 0
    assert not found.pitfall


def test_a_gain_by_chance_is_not_enough():
    """One row of a hundred makes all the difference."""
    ours = np.full(100, 1.0)
    ours[0] = 60.0
    found = evidence(ours, np.ones(100), np.ones(100))
    assert found.gain > 0.3
    assert found.gain_low < 0.1
    assert not found.pitfall


def test_fractions_are_those_of_the_training_rows():
    training = np.exp(np.random.default_rng(0).normal(size=(300, 2)))
    found = evidence(np.ones(4), np.ones(4), np.ones((4, 2)), training)
    assert found.effective_sample_fraction == effective_sample_fraction(training, 0.0)
    assert found.starved_fraction == starved_fraction(training, 0.0)
    assert found.gain == found.ignored_share == 0


def test_missing_targets_do_not_count():
    ours, theirs = chi_square(HALVES), chi_square(1e-4)
    whole = evidence(ours[::2], theirs[::2], HALVES[::2], HALVES[:, None])
    ours[1::2] = np.nan
    holes = evidence(ours, theirs, HALVES)
    assert holes.gain == pytest.approx(whole.gain)
    assert holes.gain_low == pytest.approx(whole.gain_low)
    assert holes.ignored_share == pytest.approx(whole.ignored_share)


def test_perfect_predictions_gain_nothing():
    found = evidence(np.zeros(5), np.zeros(5), np.ones(5))
    assert (found.gain, found.gain_low, found.pitfall) == (0.0, 0.0, False)
