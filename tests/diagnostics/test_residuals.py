"""Histograms of the logarithm of residuals."""

import numpy as np
import pytest

from betanll.diagnostics import log_residual_histogram


def test_by_hand():
    residual = np.array([[0.001, -0.002], [10.0, np.nan]])
    edges, counts, rmse = log_residual_histogram(residual, bins=[-4, -2, 0, 2])
    np.testing.assert_array_equal(counts, [2, 0, 1])
    np.testing.assert_array_equal(edges, [-4, -2, 0, 2])
    np.testing.assert_allclose(rmse, np.sqrt((1e-6 + 4e-6 + 100) / 3), rtol=1e-15)


def test_all_residuals_are_counted_and_zeros_are_the_smallest():
    residual = np.append(np.random.default_rng(0).normal(size=999), 0.0)
    histogram = log_residual_histogram(residual, bins=20, floor=1e-6)
    assert histogram.counts.sum() == 1000
    assert histogram.edges[0] == -6
    assert histogram.counts[0] == 1


def test_two_populations_are_two_humps():
    rng = np.random.default_rng(1)
    residual = np.concatenate([0.001 * rng.normal(size=500), rng.normal(size=500)])
    counts = log_residual_histogram(residual, bins=np.arange(-6, 2, 0.5)).counts
    valley = log_residual_histogram(residual, bins=[-2.25, -1.75]).counts[0]
    assert valley < 0.1 * counts.max()


def test_wrong_arguments_raise():
    with pytest.raises(ValueError, match="there is no residual"):
        log_residual_histogram([np.nan])
    with pytest.raises(ValueError, match="infinite entries"):
        log_residual_histogram([np.inf, 1.0])
    with pytest.raises(ValueError, match="floor must be positive, got 0"):
        log_residual_histogram([1.0], floor=0)
