"""What PyTorch does with an exported module, and what cannot be exported."""

import copy
import io
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from betanll.networks import MLP  # noqa: E402
from betanll.objectives import MSE, GaussianNLL, Objective, objective  # noqa: E402

pytestmark = pytest.mark.torch

# Types and shapes


def test_results_have_the_type_and_leading_axes_of_the_inputs(exported):
    module, *_ = exported("nll", n_targets=3)
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
    squeezed, *_ = exported("nll", squeeze=True)
    assert squeezed(torch.zeros(5, 4))[1].shape == (5,)


def test_parameters_are_float32_and_constants_float64_whatever_the_default(exported):
    torch.set_default_dtype(torch.float64)
    try:
        module, *_ = exported("nll")
    finally:
        torch.set_default_dtype(torch.float32)
    assert {p.dtype for p in module.parameters()} == {torch.float32}
    assert {b.dtype for b in module.buffers()} == {torch.float64}


def test_conversions_of_precision(exported):
    module, *_ = exported("student-t", n_members=2)
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


def test_half_precision_keeps_the_constants(by_hand):
    module = by_hand(target_mean=[1e6], target_scale=[1e-6]).half()
    mean, std = module(torch.zeros(1, 1, dtype=torch.float64))
    assert mean.item() == pytest.approx(1e6 + 1e-6, rel=1e-15)
    assert std.item() == pytest.approx(3e-6 * 5**0.5, rel=1e-6)


# PyTorch's own ways


def test_torch_export_takes_any_number_of_rows(exported):
    module, *_ = exported("beta-nll", n_targets=2, n_members=3)
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


def test_state_dict_moves_a_model_to_another_module(exported):
    module, *_ = exported("xvamp", n_members=2)
    other, *_ = exported("xvamp", n_members=2)
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


def test_whole_module_can_be_pickled(exported):
    module, *_ = exported("natural")
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    x = torch.randn(5, 4)
    torch.testing.assert_close(loaded(x), module(x), rtol=0, atol=0)


def test_gradients_reach_inputs_and_parameters(exported):
    module, *_ = exported("crps", n_members=3)
    x = torch.randn(5, 4, requires_grad=True)
    mean, std = module(x)
    (mean.sum() + std.sum()).backward()
    for tensor in (x, *module.parameters()):
        assert tensor.grad.abs().sum() > 0


def test_construction_draws_no_random_numbers_and_shares_no_memory(by_hand):
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


def _by_numpy(self, parameters):
    return parameters[0], np.exp(parameters[0])


def _by_jax(self, raw):
    import jax.numpy as jnp

    return (jnp.tanh(raw[0]),)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"moments": Objective.moments}, "needs a method `moments`"),
        ({"moments": _by_numpy}, "must take tensors"),
        ({"parameters": _by_jax}, "must take tensors"),
        ({"moments": lambda self, parameters: parameters * 3}, "must return mean and"),
        ({"moments": lambda self, parameters: (0.0, 1.0)}, "must return mean and"),
        (
            {"split_outputs": lambda self, outputs: outputs},
            "it has its own method `split_outputs`",
        ),
    ],
)
def test_objectives_that_know_no_tensors_are_refused(members, message, by_hand):
    own = objective(None)(type("Own", (MSE,), members))
    with pytest.raises(TypeError, match=f"Own cannot be exported: .*{message}"):
        by_hand(objective=own)


def test_a_name_stands_for_the_objective(by_hand):
    assert by_hand(objective="mse").objective == MSE()


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
def test_bad_arguments(arguments, message, by_hand):
    with pytest.raises(ValueError, match=message):
        by_hand(**arguments)


def test_bad_shapes(getkey, exported, by_hand, drawn):
    with pytest.raises(ValueError, match="squeeze needs one target, there are 3"):
        exported("nll", n_targets=3, squeeze=True)
    net = MLP(4, (3,)), MLP(4, (5,))
    members = [drawn(n, MSE(), 1, [getkey()])[0] for n in net]
    with pytest.raises(ValueError, match="members must have equal shapes"):
        by_hand(members=members)
    module, *_ = exported("nll")
    # One column would broadcast.
    for shape in ((5, 1), (5,), ()):
        with pytest.raises(ValueError, match=r"x must have shape \(..., 4\), got"):
            module(torch.zeros(shape))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"knots": [[0.0], [1.0]]}, "either"),
        ({"input_mean": None, "input_scale": None}, "either"),
        ({"input_mean": None, "input_scale": None, "knots": [[0.0]] * 3}, "shape"),
        ({"input_mean": None, "input_scale": None, "knots": [0.0]}, "shape"),
    ],
)
def test_inputs_are_described_in_one_way(changes, message, by_hand):
    with pytest.raises(ValueError, match=message):
        by_hand(**changes)


def test_knots_that_do_not_increase_are_refused(by_hand):
    layer = {"weight": np.zeros((1, 3)), "bias": np.zeros((1, 1))}
    with pytest.raises(ValueError, match="increase"):
        by_hand(
            members=[[layer]],
            input_mean=None,
            input_scale=None,
            knots=[[0.0], [2.0], [1.0]],
        )
