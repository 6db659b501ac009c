"""Jacobians of features, and their variance around a point."""

import jax.numpy as jnp
import numpy as np
import pytest

from betanll.networks import MLP
from betanll.training import fit
from betanll_paper.sine.jacobians import feature_jacobians, jacobian_variance

RNG = np.random.default_rng(0)
WEIGHT = RNG.normal(size=(2, 5))
POINTS = RNG.normal(size=(30, 2))


def slopes_of_tanh(points):
    """Return (1 - tanh^2) W by hand."""
    return (1 - np.tanh(points @ WEIGHT) ** 2)[:, :, None] * WEIGHT.T


def test_jacobian_of_tanh_features():
    expected = slopes_of_tanh(POINTS)
    by_jax = feature_jacobians(lambda x: jnp.tanh(x @ WEIGHT), POINTS)
    np.testing.assert_allclose(by_jax, expected, rtol=2e-5, atol=1e-6)
    by_steps = feature_jacobians(
        lambda x: np.tanh(x @ WEIGHT), POINTS, method="differences", step=1e-5
    )
    np.testing.assert_allclose(by_steps, expected, rtol=1e-8, atol=1e-9)


def test_default_step_is_right_for_single_precision():
    def features(x):
        return np.tanh((x @ WEIGHT).astype(np.float32))

    jacobians = feature_jacobians(features, POINTS, method="differences")
    np.testing.assert_allclose(jacobians, slopes_of_tanh(POINTS), atol=1e-3)


def test_pytorch_features_by_differences():
    torch = pytest.importorskip("torch")
    layer = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.Tanh()).double()

    def features(x):
        with torch.no_grad():
            return layer(torch.from_numpy(x)).numpy()

    jacobians = feature_jacobians(features, POINTS, method="differences")
    x = torch.from_numpy(POINTS[0])
    expected = torch.autograd.functional.jacobian(lambda p: layer(p[None])[0], x)
    np.testing.assert_allclose(jacobians[0], expected, atol=1e-5)


def test_linear_features_have_no_variance():
    jacobians = feature_jacobians(lambda x: x @ WEIGHT, POINTS)
    np.testing.assert_allclose(
        jacobian_variance(jacobians, POINTS, radius=1.0), 0.0, atol=1e-12
    )


def test_variance_by_the_definition():
    jacobians = slopes_of_tanh(POINTS)
    radius = 0.8
    expected = []
    for point in POINTS:
        near = np.linalg.norm(POINTS - point, axis=1) <= radius
        assert near.any()
        mean = jacobians[near].mean(axis=0)
        expected.append(((jacobians[near] - mean) ** 2).mean(axis=0).mean())
    variance = jacobian_variance(jacobians, POINTS, radius)
    np.testing.assert_allclose(variance, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(jacobian_variance(jacobians, POINTS, 0.0), 0.0)


def test_points_at_the_radius_count():
    slopes = np.array([0.0, 3.0, 6.0, 0.0]).reshape(4, 1, 1)
    # Whole numbers, at whole distances: 3, 4 and 5 between the first three.
    points = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [99.0, 0.0]]
    for radius, expected in (
        (2.9, [0, 0, 0, 0]),
        (3.0, [2.25, 2.25, 0, 0]),
        (4.0, [2.25, 6, 2.25, 0]),
        (5.0, [6, 6, 6, 0]),
    ):
        np.testing.assert_allclose(jacobian_variance(slopes, points, radius), expected)


def test_a_network_of_ours_bends_where_the_data_bends():
    """A kink at zero: features vary there and are nearly linear far away."""
    x = np.linspace(-3, 3, 300)[:, None]
    result = fit(
        MLP(1, (32,), "tanh"), "mse", x, np.abs(x), batch_size=50, max_epochs=300
    )
    points = np.linspace(-3, 3, 61)
    jacobians = feature_jacobians(result.features, points)
    variance = jacobian_variance(jacobians, points, radius=0.5)
    assert jacobians.shape == (61, 32, 1)
    assert variance[30] > 3 * max(variance[0], variance[-1])


def test_wrong_arguments_raise():
    with pytest.raises(ValueError, match=r"points has shape \(1, 1, 1\)"):
        feature_jacobians(jnp.tanh, [[[1.0]]])
    with pytest.raises(ValueError, match="'jax' or 'differences', got 'magic'"):
        feature_jacobians(jnp.tanh, [1.0], method="magic")
    with pytest.raises(ValueError, match="step must be positive"):
        feature_jacobians(np.tanh, [1.0], method="differences", step=0.0)
    with pytest.raises(ValueError, match=r"features returned shape \(2,\)"):
        feature_jacobians(lambda x: x[:, 0], [1.0, 2.0], method="differences")
    with pytest.raises(ValueError, match="expected"):
        jacobian_variance(np.ones((3, 1, 1)), np.ones(2), 1.0)
    with pytest.raises(ValueError, match="radius must not be negative, got -1"):
        jacobian_variance(np.ones((2, 1, 1)), np.ones(2), -1)
