import math

import numpy as np
import pytest

from betanll.datasets import (
    SINE_NOISE,
    heteroscedastic_sine,
    heteroscedastic_sine_truth,
    sine,
)


@pytest.mark.parametrize(
    ("draw", "n", "end"), [(sine, 1000, 12), (heteroscedastic_sine, 500, 10)]
)
def test_inputs_are_equally_spaced_with_both_ends(draw, n, end):
    x, y = draw()
    assert x.shape == y.shape == (n, 1)
    assert x[0, 0] == 0
    assert x[-1, 0] == end
    np.testing.assert_allclose(np.diff(x[:, 0]), end / (n - 1))
    assert len(draw(7).x) == 7


@pytest.mark.parametrize("draw", [sine, heteroscedastic_sine])
def test_a_seed_is_one_noise(draw):
    first, again, other = draw(seed=4), draw(seed=4), draw(seed=5)
    np.testing.assert_array_equal(first.y, again.y)
    np.testing.assert_array_equal(first.x, other.x)
    assert not np.any(first.y[1:] == other.y[1:])


def test_truth_by_hand():
    truth = heteroscedastic_sine_truth([0.0, math.pi / 2, -math.pi, 3 * math.pi / 2])
    np.testing.assert_allclose(
        truth.mean, [0, math.pi / 2, 0, -3 * math.pi / 2], atol=1e-12
    )
    variance = [0.09, 0.09 * (1 + math.pi**2 / 4), 0.09 * (1 + math.pi**2)]
    np.testing.assert_allclose(truth.variance[:3], variance)
    # Both noises of 0.3: variances x² 0.09 and 0.09.
    assert heteroscedastic_sine_truth([[10.0]]).std.item() == pytest.approx(
        math.sqrt(100 * 0.09 + 0.09)
    )


def test_samples_follow_the_truth_everywhere():
    """In each of ten parts 4000 z-scores: their mean square is 1 within 5 errors."""
    x, y = heteroscedastic_sine(40_000, seed=1)
    truth = heteroscedastic_sine_truth(x)
    z = ((y - truth.mean) / truth.std).reshape(10, -1)
    np.testing.assert_allclose((z**2).mean(axis=1), 1, atol=5 * math.sqrt(2 / 4000))
    np.testing.assert_allclose(z.mean(axis=1), 0, atol=5 / math.sqrt(4000))


def test_the_sine_has_twelve_periods_and_little_noise():
    x, y = sine(seed=2)
    residual = y - 0.4 * np.sin(2 * np.pi * x)
    assert residual.std() == pytest.approx(SINE_NOISE, rel=0.12)
