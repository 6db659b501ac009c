"""Cases with a known truth: their streams of numbers, and what is true of them."""

import numpy as np
import pytest
from benchmarks.doctor_cases import (
    FAMILIES,
    case_tasks,
    clean_inputs,
    draw,
    true_numbers,
)

from betanll.distributions import Normal


@pytest.mark.parametrize("family", FAMILIES)
def test_the_truth_is_evaluated_at_other_inputs(family):
    problem, x, y = draw(family, 1001)
    again = draw(family, 1001)
    np.testing.assert_array_equal(x, again[1])
    np.testing.assert_array_equal(y, again[2])
    clean = clean_inputs(family, 1001, problem.n_inputs)
    assert clean.shape == (4000, problem.n_inputs)
    assert not np.isin(clean, x).any()
    # The split of the trial has a stream of its own as well.
    assert not np.isin(np.random.default_rng(1001).uniform(size=1000), x).any()
    residual = y - problem.mean(x)
    assert np.mean((residual / problem.noise(x)) ** 2) == pytest.approx(1, abs=0.5)


def test_cases_have_seeds_of_their_own():
    tasks = case_tasks(30, first_seed=1000)
    seeds = [dict(task.settings)["seed"] for task in tasks]
    assert seeds == list(range(1000, 1030))


def test_truth_by_hand():
    mean, noise = np.zeros(4), np.full(4, 0.01)
    predictions = {
        # Two inputs are given up; their error of 1 is called noise.
        "nll": Normal([[0.0], [0.1], [1.0], [1.0]], [[0.1], [0.1], [1.0], [1.0]]),
        "mse": Normal([[0.1], [0.1], [0.1], [0.1]], np.ones((4, 1))),
        "beta-nll:1": Normal(np.ones((4, 1)), np.ones((4, 1))),
    }
    found = true_numbers(predictions, mean, noise)
    assert found["noise"] == pytest.approx(0.01)
    assert found["misfit_nll"] == pytest.approx((0.01 + 2) / 4)
    assert found["misfit_mse"] == pytest.approx(0.01)
    assert found["misfit_beta-nll:1"] == pytest.approx(1)
    saved = (-0.01 + 0 + 0.99 + 0.99) / 4
    assert found["true_gain"] == pytest.approx(saved / (found["misfit_nll"] + 0.01))
    assert found["false_noise"] == 0.5
    assert found["saved_there"] == pytest.approx(2 * 0.99 / (4 * saved))
