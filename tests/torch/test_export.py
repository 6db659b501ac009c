"""The exported module against the JAX prediction, and what PyTorch does with it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from betanll import HeteroscedasticRegressor  # noqa: E402, after the skip
from betanll.distributions import Mixture  # noqa: E402
from betanll.networks import ACTIVATIONS, MLP  # noqa: E402
from betanll.objectives import OBJECTIVES, BetaNLL, GaussianNLL, objective  # noqa: E402
from betanll.preprocessing import QuantilePositions  # noqa: E402
from betanll.torch import RegressorModule  # noqa: E402
from betanll.torch._export import _ACTIVATIONS  # noqa: E402
from betanll.training import predict_parameters  # noqa: E402

pytestmark = pytest.mark.torch

# Both sides compute the network in single precision, where numbers are rounded to
# 6e-8, but sum products in different order and have their own exponentials. Sums lose
# another digit or two where they cancel: errors are relative to their terms, so a mean
# near zero in whitened units is compared with the target's scale.
TOLERANCE = 1e-5


def expected(net, trained, members, x, constants):
    """The mean and std that the estimator computes in JAX and NumPy."""
    whitened = (x - constants["input_mean"]) / constants["input_scale"]
    mixture = Mixture(
        [
            trained.predictive(predict_parameters(net, trained, params, whitened))
            for params in members
        ]
    ).affine(constants["target_scale"], constants["target_mean"])
    return mixture.mean, mixture.std * constants["spread"]


def assert_agrees(module, net, trained, members, constants):
    x = 2 * np.random.default_rng(1).normal(size=(200, 4))
    with torch.inference_mode():
        mean, std = (tensor.numpy() for tensor in module(torch.from_numpy(x)))
    expected_mean, expected_std = expected(net, trained, members, x, constants)
    scale = constants["target_scale"]
    size = np.abs(expected_mean - constants["target_mean"]) + scale
    if trained.name == "natural":  # its mean is an output times the variance
        size += expected_std**2 / scale
    assert np.all(np.abs(mean - expected_mean) <= TOLERANCE * size)
    np.testing.assert_allclose(std, expected_std, rtol=TOLERANCE, atol=0)
    # There was something to get wrong.
    assert np.all(np.ptp(mean, axis=0) > scale)
    if trained.n_parameters > 1:
        assert np.all(std.max(axis=0) > 1.5 * std.min(axis=0))


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_agrees_with_jax_for_every_objective(name, n_members, n_targets, exported):
    assert_agrees(*exported(name, n_targets=n_targets, n_members=n_members))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_agrees_with_jax_for_every_activation(activation, exported):
    assert_agrees(*exported("beta-nll", activation=activation))
    assert list(_ACTIVATIONS) == list(ACTIVATIONS)


def test_linear_model_and_ceiling_of_the_variance(getkey, whitening, drawn):
    trained, net = GaussianNLL(max_variance=1.5), MLP(4, ())
    members = drawn(net, trained, 2, [getkey()])
    constants = whitening(2)
    module = RegressorModule(
        members=members,
        activation="relu",
        objective=trained,
        squeeze=False,
        **constants,
    )
    assert_agrees(module, net, trained, members, constants)
    _, std = module(20 * torch.randn(100, 4, dtype=torch.float64))
    ceiling = np.sqrt(1.5) * constants["target_scale"] * constants["spread"]
    np.testing.assert_allclose(std.max(dim=0).values.numpy(force=True), ceiling)


def test_moments_of_an_ensemble_by_hand(by_hand):
    mean, std = by_hand()(torch.zeros(5, 1, dtype=torch.float64))
    # Means -1 and 3, unit variances: mean 1, variance 1 + 4.
    torch.testing.assert_close(mean, torch.full((5,), 12.0, dtype=torch.float64))
    std_by_hand = torch.full((5,), 6 * 5**0.5, dtype=torch.float64)
    torch.testing.assert_close(std, std_by_hand, rtol=1e-15, atol=0)


def test_large_targets_and_inputs_keep_their_digits(getkey, drawn):
    trained, net = BetaNLL(), MLP(1, (8,))
    members = drawn(net, trained, 1, [getkey()])
    constants = {
        "input_mean": np.array([1.7e9]),
        "input_scale": np.array([5.0]),
        "target_mean": np.array([1e6 + 0.123456]),
        "target_scale": np.array([1e-3]),
        "spread": np.ones(1),
    }
    module = RegressorModule(
        members=members,
        activation="relu",
        objective=trained,
        squeeze=False,
        **constants,
    )
    x = 1.7e9 + np.linspace(-10, 10, 50)[:, None]
    mean, std = (tensor.numpy(force=True) for tensor in module(torch.from_numpy(x)))
    expected_mean, expected_std = expected(net, trained, members, x, constants)
    # 1e-5 of the scale, which is fourteen digits of the mean.
    np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(std, expected_std, rtol=TOLERANCE)


def test_constant_extreme_and_missing_inputs(by_hand):
    layer = {"weight": np.array([[1.0, 1.0]]), "bias": np.zeros((1, 1))}
    module = by_hand(
        members=[[layer]], input_mean=[5.0, 0.0], input_scale=[1.0, np.inf]
    )
    x = torch.tensor([[6.0, 1e9], [1e300, 1.0], [np.nan, 1.0]], dtype=torch.float64)
    mean, std = module(x)
    # A column of infinite scale does not count, and whitened inputs end at 1e15.
    expected_mean = [12.0, 2e15, np.nan]
    np.testing.assert_allclose(mean.numpy(force=True), expected_mean, rtol=1e-6)
    assert torch.all(torch.isfinite(std[:2]))


def test_subclass_with_a_loss_of_its_own_is_exported(exported):
    @objective(None)
    class Own(GaussianNLL):
        def loss(self, parameters, target, progress):
            return super().loss(parameters, target, progress) ** 2

    assert_agrees(*exported(Own()))


# QuantilePositions among knots


def test_networks_with_bins_agree_with_jax(getkey, whitening, drawn):
    rng = np.random.default_rng(3)
    x = np.column_stack(
        [
            rng.lognormal(size=200),
            rng.integers(0, 2, 200),
            np.full(200, 7.0),
            1e9 + rng.normal(size=200),
        ]
    )
    trained, net = BetaNLL(), MLP(4, (16, 8), "silu", n_bins=5)
    members = drawn(net, trained, 2, [getkey(), getkey()])
    positions = QuantilePositions.of_inputs(x, n_bins=5)
    constants = whitening(2)
    del constants["input_mean"], constants["input_scale"]
    module = RegressorModule(
        members=members,
        activation="silu",
        objective=trained,
        squeeze=False,
        knots=positions.knots,
        **constants,
    )
    new = np.vstack([x, 3 * x, -x, [[1e300, -5.0, 0.0, -1e300]]])
    mixture = Mixture(
        [
            trained.predictive(
                predict_parameters(net, trained, params, positions.apply(new))
            )
            for params in members
        ]
    ).affine(constants["target_scale"], constants["target_mean"])
    with torch.inference_mode():
        mean, std = (tensor.numpy() for tensor in module(torch.from_numpy(new)))
    np.testing.assert_allclose(mean, mixture.mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(std, mixture.std * constants["spread"], rtol=1e-4)
    assert np.ptp(mean, axis=0).min() > 0.1


def test_default_estimators_agree_with_their_module():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    model = HeteroscedasticRegressor(
        hidden_layer_sizes=8, max_updates=60, n_members=2, random_state=0
    ).fit(X, y)
    mean, std = (a.numpy(force=True) for a in model.to_torch()(torch.from_numpy(X)))
    expected_mean, expected_std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(std, expected_std, rtol=1e-4)
