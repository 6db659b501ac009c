"""The exported module against the JAX prediction, and what PyTorch does with it."""

import copy
import io
import subprocess
import sys

import jax
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from betanll import HeteroscedasticRegressor  # noqa: E402, after the skip
from betanll.distributions import Mixture, Normal  # noqa: E402
from betanll.nets import MLP  # noqa: E402
from betanll.nets._mlp import ACTIVATIONS  # noqa: E402
from betanll.objectives import (  # noqa: E402
    MSE,
    OBJECTIVES,
    BetaNLL,
    GaussianNLL,
    get,
    objective,
)
from betanll.protocols import Positions  # noqa: E402
from betanll.torch import RegressorModule  # noqa: E402
from betanll.torch._export import _ACTIVATIONS  # noqa: E402
from betanll.training import predict_parameters  # noqa: E402

pytestmark = pytest.mark.torch

# Both sides compute the network in single precision, where numbers are rounded to
# 6e-8, but sum products in different order and have their own exponentials. Sums lose
# another digit or two where they cancel: errors are relative to their terms, so a mean
# near zero in whitened units is compared with the target's scale.
TOLERANCE = 1e-5


def whitening(n_targets, seed=0):
    """Constants far from those that would change nothing."""
    rng = np.random.default_rng(seed)
    return {
        "input_mean": rng.normal(size=4),
        "input_scale": rng.uniform(0.5, 2, 4),
        "target_mean": 1e3 * rng.normal(size=n_targets),
        "target_scale": rng.uniform(0.1, 10, n_targets),
        "spread": rng.uniform(0.5, 2, n_targets),
    }


def drawn(net, trained, n_targets, keys):
    """Parameters whose outputs, those of the second head too, vary by several units."""

    def member(key):
        init_key, bias_key = jax.random.split(key)
        params = net.init(trained.head_sizes(n_targets), key=init_key)
        for layer in params:
            bias_key, key = jax.random.split(bias_key)
            layer["weight"] = 2 * layer["weight"]
            layer["bias"] = jax.random.normal(key, layer["bias"].shape)
        return params

    return [member(key) for key in keys]


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


def exported(objective_, *, activation="tanh", n_targets=1, n_members=1, keys, **other):
    """A module, and what its prediction is compared with."""
    trained = get(objective_)
    net = MLP(4, (16, 8), activation=activation)
    members = drawn(net, trained, n_targets, [keys() for _ in range(n_members)])
    constants = whitening(n_targets)
    arguments = {"squeeze": False, **constants, **other}
    module = RegressorModule(
        members=members, activation=activation, objective=trained, **arguments
    )
    return module, net, trained, members, constants


# Values


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_agrees_with_jax_for_every_objective(name, n_members, n_targets, getkey):
    assert_agrees(
        *exported(name, n_targets=n_targets, n_members=n_members, keys=getkey)
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_agrees_with_jax_for_every_activation(activation, getkey):
    assert_agrees(*exported("beta-nll", activation=activation, keys=getkey))
    assert list(_ACTIVATIONS) == list(ACTIVATIONS)


def test_linear_model_and_ceiling_of_the_variance(getkey):
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


def by_hand(dtype=np.float32, **other):
    """Two members without hidden layers and inputs: their biases are the outputs."""

    def member(mean):
        return [{"weight": np.zeros((1, 1), dtype), "bias": np.full((1, 1), mean)}]

    arguments = {
        "members": [member(-1.0), member(3.0)],
        "activation": "relu",
        "objective": MSE(),
        "input_mean": [0.0],
        "input_scale": [1.0],
        "target_mean": [10.0],
        "target_scale": [2.0],
        "spread": [3.0],
        "squeeze": True,
    }
    return RegressorModule(**{**arguments, **other})


def test_moments_of_an_ensemble_by_hand():
    mean, std = by_hand()(torch.zeros(5, 1, dtype=torch.float64))
    # Means -1 and 3, unit variances: mean 1, variance 1 + 4.
    torch.testing.assert_close(mean, torch.full((5,), 12.0, dtype=torch.float64))
    std_by_hand = torch.full((5,), 6 * 5**0.5, dtype=torch.float64)
    torch.testing.assert_close(std, std_by_hand, rtol=1e-15, atol=0)


def test_large_targets_and_inputs_keep_their_digits(getkey):
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


def test_constant_extreme_and_missing_inputs():
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


def test_subclass_with_a_loss_of_its_own_is_exported(getkey):
    @objective
    class Own(GaussianNLL):
        name = "own"

        def loss(self, parameters, target, progress):
            return super().loss(parameters, target, progress) ** 2

    assert_agrees(*exported(Own(), keys=getkey))


# Types and shapes


def test_results_have_the_type_and_leading_axes_of_the_inputs(getkey):
    module, *_ = exported("nll", n_targets=3, keys=getkey)
    for dtype, result in [
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.int64, torch.float32),
    ]:
        for values in module(torch.zeros(2, 5, 4, dtype=dtype)):
            assert values.dtype == result
            assert values.shape == (2, 5, 3)
    assert module(torch.zeros(0, 4))[0].shape == (0, 3)
    squeezed, *_ = exported("nll", squeeze=True, keys=getkey)
    assert squeezed(torch.zeros(5, 4))[1].shape == (5,)


def test_parameters_are_float32_and_constants_float64_whatever_the_default(getkey):
    torch.set_default_dtype(torch.float64)
    try:
        module, *_ = exported("nll", keys=getkey)
    finally:
        torch.set_default_dtype(torch.float32)
    assert {p.dtype for p in module.parameters()} == {torch.float32}
    assert {b.dtype for b in module.buffers()} == {torch.float64}


def test_conversions_of_precision(getkey):
    module, *_ = exported("student-t", n_members=2, keys=getkey)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(50, 4)))
    mean, std = module(x)
    tolerances = {torch.float64: 1e-5, torch.float32: 1e-3, torch.float16: 0.05}
    for dtype, tolerance in tolerances.items():
        other = copy.deepcopy(module).to(dtype)
        assert {p.dtype for p in other.parameters()} == {dtype}
        # The constants follow, but not into half precision.
        kept = torch.float64 if dtype == torch.float16 else dtype
        assert {b.dtype for b in other.buffers()} == {kept}
        other_mean, other_std = other(x)
        error = (other_mean - mean).abs().max() / module.target_scale
        assert error < tolerance
        torch.testing.assert_close(other_std, std, rtol=tolerance, atol=0)


def test_half_precision_keeps_the_constants():
    module = by_hand(target_mean=[1e6], target_scale=[1e-6]).half()
    mean, std = module(torch.zeros(1, 1, dtype=torch.float64))
    assert mean.item() == pytest.approx(1e6 + 1e-6, rel=1e-15)
    assert std.item() == pytest.approx(3e-6 * 5**0.5, rel=1e-6)


# PyTorch's own ways


def test_torch_export_takes_any_number_of_rows(getkey):
    module, *_ = exported("beta-nll", n_targets=2, n_members=3, keys=getkey)
    x = torch.randn(7, 4, dtype=torch.float64)
    program = torch.export.export(
        module, (x,), dynamic_shapes={"x": {0: torch.export.Dim("n")}}
    )
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    for n in (1, 7, 100):
        x = torch.randn(n, 4, dtype=torch.float64)
        torch.testing.assert_close(loaded(x), module(x), rtol=0, atol=0)


def test_state_dict_moves_a_model_to_another_module(getkey):
    module, *_ = exported("xvamp", n_members=2, keys=getkey)
    other, *_ = exported("xvamp", n_members=2, keys=getkey)
    with torch.no_grad():
        other.spread.fill_(7.0)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    x = torch.randn(5, 4)
    torch.testing.assert_close(other(x), module(x), rtol=0, atol=0)
    # Mean, shape and rate; the logits of the prior stay behind.
    assert sum(p.numel() for p in module.parameters()) == 2 * (5 * 16 + 17 * 8 + 9 * 3)


def test_whole_module_can_be_pickled(getkey):
    module, *_ = exported("natural", keys=getkey)
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    x = torch.randn(5, 4)
    torch.testing.assert_close(loaded(x), module(x), rtol=0, atol=0)


def test_gradients_reach_inputs_and_parameters(getkey):
    module, *_ = exported("crps", n_members=3, keys=getkey)
    x = torch.randn(5, 4, requires_grad=True)
    mean, std = module(x)
    (mean.sum() + std.sum()).backward()
    for tensor in (x, *module.parameters()):
        assert tensor.grad.abs().sum() > 0


def test_construction_draws_no_random_numbers_and_shares_no_memory():
    weight, target_mean = np.zeros((1, 1), np.float32), np.array([10.0])
    state = torch.random.get_rng_state()
    layer = {"weight": weight, "bias": np.zeros((1, 1), np.float32)}
    module = by_hand(members=[[layer]], target_mean=target_mean)
    assert torch.equal(torch.random.get_rng_state(), state)
    weight[:], target_mean[:] = 5.0, 5.0
    assert module(torch.ones(1, 1))[0].item() == 10.0


def test_importing_loads_no_jax():
    code = "import sys, betanll.torch; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# Errors


def test_custom_objective_is_refused():
    @objective
    class Own(GaussianNLL):
        name = "own"

        def predictive(self, parameters):
            return Normal(*parameters)

    for foreign in (Own(), "nll"):
        with pytest.raises(TypeError, match="cannot be exported"):
            by_hand(objective=foreign)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"members": []}, "members must not be empty"),
        ({"activation": "sine"}, "activation must be one of tanh, relu"),
        ({"objective": GaussianNLL()}, "GaussianNLL needs 2 outputs for each target"),
        ({"input_mean": [0.0, 0.0]}, r"input_mean must have shape \(1,\), got \(2,\)"),
        ({"target_scale": 1.0}, r"target_scale must have shape \(1,\), got \(\)"),
        ({"spread": [0.0]}, "spread must be positive"),
        ({"input_scale": [np.nan]}, "input_scale must be positive"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        by_hand(**arguments)


def test_bad_shapes(getkey):
    with pytest.raises(ValueError, match="squeeze needs one target, there are 3"):
        exported("nll", n_targets=3, squeeze=True, keys=getkey)
    net = MLP(4, (3,)), MLP(4, (5,))
    members = [drawn(n, MSE(), 1, [getkey()])[0] for n in net]
    with pytest.raises(ValueError, match="members must have equal shapes"):
        by_hand(members=members)
    module, *_ = exported("nll", keys=getkey)
    # One column would broadcast.
    for shape in ((5, 1), (5,), ()):
        with pytest.raises(ValueError, match=r"x must have shape \(..., 4\), got"):
            module(torch.zeros(shape))


# Positions among knots


def test_networks_with_bins_agree_with_jax(getkey):
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
    positions = Positions.of_inputs(x, n_bins=5)
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"knots": [[0.0], [1.0]]}, "either"),
        ({"input_mean": None, "input_scale": None}, "either"),
        ({"input_mean": None, "input_scale": None, "knots": [[0.0]] * 3}, "shape"),
        ({"input_mean": None, "input_scale": None, "knots": [0.0]}, "shape"),
    ],
)
def test_inputs_are_described_in_one_way(changes, message):
    with pytest.raises(ValueError, match=message):
        by_hand(**changes)


def test_knots_that_do_not_increase_are_refused():
    layer = {"weight": np.zeros((1, 3)), "bias": np.zeros((1, 1))}
    with pytest.raises(ValueError, match="increase"):
        by_hand(
            members=[[layer]],
            input_mean=None,
            input_scale=None,
            knots=[[0.0], [2.0], [1.0]],
        )
