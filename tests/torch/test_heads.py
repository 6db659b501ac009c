import math

import pytest

torch = pytest.importorskip("torch")

from betanll.torch import (  # noqa: E402, after the skip
    BetaNLLLoss,
    FaithfulNLLLoss,
    GaussianHead,
    StudentTHead,
    StudentTNLLLoss,
)

pytestmark = pytest.mark.torch


def with_pre_activation(head, value):
    """The head, its pre-activations set to a value whatever the features."""
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.zero_()
        for name, bias in head.named_parameters():
            if name.endswith("bias") and not name.startswith("mean."):
                bias.fill_(value)
    return head


def variance_and_slope(head, value):
    """The variance and its derivative by the pre-activation."""
    with_pre_activation(head, value)
    _, variance = head(torch.zeros(1, head.mean.in_features, dtype=torch.float64))
    (slope,) = torch.autograd.grad(variance.sum(), head.pre_variance.bias)
    return variance.item(), slope.item()


# Values


def test_gaussian_head_starts_at_variance_one():
    head = with_pre_activation(GaussianHead(4, 3).double(), 0.0)
    mean, variance = head(torch.randn(5, 4, dtype=torch.float64))
    assert torch.equal(mean, torch.zeros(5, 3, dtype=torch.float64))
    assert head._offset == pytest.approx(0.5413248, abs=1e-7)
    torch.testing.assert_close(variance, torch.ones_like(variance), rtol=1e-15, atol=0)
    # The same in single precision, and for other floors.
    for floor in (1e-8, 1e-3, 0.5):
        head = with_pre_activation(GaussianHead(4, 3, min_variance=floor), 0.0)
        _, variance = head(torch.randn(5, 4))
        torch.testing.assert_close(
            variance, torch.ones_like(variance), rtol=2e-7, atol=0
        )


def test_student_t_head_starts_at_variance_one():
    head = with_pre_activation(StudentTHead(4, 3).double(), 0.0)
    mean, shape, rate = head(torch.randn(5, 4, dtype=torch.float64))
    one = torch.ones_like(mean)
    torch.testing.assert_close(mean, 0 * one)
    torch.testing.assert_close(shape, (math.log(2) + 1.001) * one, rtol=1e-15, atol=0)
    torch.testing.assert_close(shape, 1.69415 * one, rtol=0, atol=5e-6)
    torch.testing.assert_close(rate, 0.69415 * one, rtol=0, atol=5e-6)
    torch.testing.assert_close(2 * shape, 3.388 * one, rtol=0, atol=5e-4)
    torch.testing.assert_close(rate / (shape - 1), one, rtol=1e-14, atol=0)


def test_gaussian_variance_formula():
    head = GaussianHead(1, 1).double()
    for z in (-5.0, -0.5, 2.0, 30.0):
        variance, slope = variance_and_slope(head, z)
        shifted = z + math.log(math.expm1(1 - 1e-8))
        assert variance == pytest.approx(math.log1p(math.exp(shifted)) + 1e-8, rel=1e-9)
        assert slope == pytest.approx(1 / (1 + math.exp(-shifted)), rel=1e-8)


def test_floor_keeps_a_gradient_and_ceiling_does_not():
    head = GaussianHead(1, 1).double()
    variance, slope = variance_and_slope(head, -60.0)
    assert variance == pytest.approx(1e-8, rel=1e-12)
    assert slope > 0
    variance, slope = variance_and_slope(head, 1001.0)
    assert variance == 1000.0
    assert slope == 0.0
    variance, slope = variance_and_slope(head, 999.0)
    assert variance < 1000.0
    assert slope == pytest.approx(1.0)
    # Other limits.
    head = GaussianHead(1, 1, min_variance=1e-6, max_variance=10.0).double()
    assert variance_and_slope(head, -60.0)[0] == pytest.approx(1e-6, rel=1e-12)
    assert variance_and_slope(head, 11.0) == (10.0, 0.0)


def test_floor_is_there_in_single_precision():
    head = with_pre_activation(GaussianHead(1, 1), -60.0)
    _, variance = head(torch.zeros(1, 1))
    assert variance.item() == pytest.approx(1e-8, rel=1e-6)
    (slope,) = torch.autograd.grad(variance, head.pre_variance.bias)
    assert slope.item() > 0


def test_student_t_limits():
    head = with_pre_activation(StudentTHead(1, 2).double(), -60.0)
    _, shape, rate = head(torch.zeros(1, 1, dtype=torch.float64))
    torch.testing.assert_close(shape, torch.full_like(shape, 1.001), rtol=1e-15, atol=0)
    torch.testing.assert_close(rate, torch.full_like(rate, 1e-11), rtol=1e-9, atol=0)
    (slope,) = torch.autograd.grad((shape + rate).sum(), head.linear.bias)
    assert torch.all(slope[2:] > 0)
    head = with_pre_activation(head, 2e6)
    _, shape, rate = head(torch.zeros(1, 1, dtype=torch.float64))
    assert torch.all(shape == 1000.0)
    assert torch.all(rate == 999_000.0)
    (slope,) = torch.autograd.grad((shape + rate).sum(), head.linear.bias)
    assert torch.all(slope == 0)


def test_student_t_outputs_are_in_the_order_mean_shape_rate():
    head = with_pre_activation(StudentTHead(1, 2), 0.0)
    with torch.no_grad():
        head.linear.bias.copy_(torch.tensor([1.0, 2.0, 50.0, 60.0, 70.0, 80.0]))
    mean, shape, rate = head(torch.zeros(1, 1))
    torch.testing.assert_close(mean, torch.tensor([[1.0, 2.0]]))
    torch.testing.assert_close(shape, torch.tensor([[51.001, 61.001]]))
    torch.testing.assert_close(rate, torch.tensor([[70.002, 80.002]]))


# Construction


@pytest.mark.parametrize("head", [GaussianHead(30, 20), StudentTHead(30, 20)])
def test_xavier_weights_and_zero_biases(head):
    for linear in head.children():
        assert torch.all(linear.bias == 0)
        fan_in, fan_out = linear.in_features, linear.out_features
        assert fan_out == (60 if isinstance(head, StudentTHead) else 20)
        bound = math.sqrt(6 / (fan_in + fan_out))
        largest = linear.weight.abs().max().item()
        # The largest of 600 uniform draws is all but surely within 3 % of the bound.
        assert 0.97 * bound < largest <= bound


@pytest.mark.parametrize("shape", [(5,), (7, 5), (2, 3, 5), (0, 5)], ids=str)
def test_leading_dimensions_are_free(shape):
    features = torch.randn(shape)
    for head, n_outputs in ((GaussianHead(5, 2), 2), (StudentTHead(5, 2), 3)):
        outputs = head(features)
        assert len(outputs) == n_outputs
        for output in outputs:
            assert output.shape == (*shape[:-1], 2)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 10.0), (-1.0, 10.0), (1.0, 10.0), (0.1, 0.5)]
)
def test_limits_that_exclude_the_initial_variance_raise(low, high):
    with pytest.raises(ValueError, match=f"got {low} and {high}"):
        GaussianHead(2, 1, min_variance=low, max_variance=high)


def test_limits_that_are_not_numbers_raise():
    with pytest.raises(ValueError, match="got '1e-8' and 1000"):
        GaussianHead(2, 1, min_variance="1e-8")
    with pytest.raises(ValueError, match="got 1e-08 and nan"):
        GaussianHead(2, 1, max_variance=math.nan)


@pytest.mark.parametrize("head", [GaussianHead, StudentTHead])
@pytest.mark.parametrize("size", [0, -1, 2.0, "2", True])
def test_sizes_that_are_not_positive_integers_raise(head, size):
    for name in ("in_features", "out_features"):
        message = f"{name} must be an integer of at least 1, got {size!r}"
        with pytest.raises(ValueError, match=message):
            head(**{"in_features": 2, "out_features": 2, name: size})


def test_settings_are_printed():
    assert "detach_variance=True" in repr(GaussianHead(2, 1, detach_variance=True))


def test_state_survives_saving():
    head, other = GaussianHead(3, 2), GaussianHead(3, 2)
    other.load_state_dict(head.state_dict())
    features = torch.randn(4, 3)
    for mine, theirs in zip(head(features), other(features), strict=True):
        assert torch.equal(mine, theirs)


# Faithful arrangement


def test_detached_variance_leaves_the_features_alone():
    features = torch.randn(6, 4, requires_grad=True)
    target = torch.randn(6, 2)
    head = GaussianHead(4, 2, detach_variance=True)
    mean, variance = head(features)
    FaithfulNLLLoss(reduction="sum")(mean, target, variance).backward()
    # The gradient of half the squared error, and nothing of the variance.
    expected = (mean - target).detach() @ head.mean.weight
    torch.testing.assert_close(features.grad, expected)
    assert head.pre_variance.weight.grad.abs().min() > 0
    # Without it the variance would reach the features.
    attached = GaussianHead(4, 2)
    attached.load_state_dict(head.state_dict())
    features.grad = None
    mean, variance = attached(features)
    FaithfulNLLLoss(reduction="sum")(mean, target, variance).backward()
    assert not torch.allclose(features.grad, expected)


# Precision


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast_does_not_lower_the_precision_of_the_head(dtype):
    trunk = torch.nn.Linear(4, 8)
    head = GaussianHead(8, 2)
    t_head = StudentTHead(8, 2)
    with torch.no_grad():
        # Pre-activations near the floor.
        head.pre_variance.bias.fill_(-25.0)
    x = torch.randn(5, 4)
    with torch.autocast("cpu", dtype=dtype):
        features = trunk(x)
        assert features.dtype == dtype
        outputs = (*head(features), *t_head(features))
        loss = BetaNLLLoss(eps=1e-8)(outputs[0], torch.zeros(5, 2), outputs[1])
        loss = loss + StudentTNLLLoss()(outputs[2], torch.zeros(5, 2), *outputs[3:])
    exact = (*head(features.float()), *t_head(features.float()))
    for output, expected in zip(outputs, exact, strict=True):
        assert output.dtype == torch.float32
        assert torch.equal(output, expected)
    assert torch.all(outputs[1] > 1e-8)
    assert loss.dtype == torch.float32
    loss.backward()
    for parameter in (*trunk.parameters(), *head.parameters(), *t_head.parameters()):
        assert torch.isfinite(parameter.grad).all()
    assert head.pre_variance.weight.grad.abs().max() > 0


def test_head_converted_to_half_precision_returns_float32():
    head = with_pre_activation(GaussianHead(4, 2).bfloat16(), -40.0)
    mean, variance = head(torch.randn(5, 4, dtype=torch.bfloat16))
    assert mean.dtype == variance.dtype == torch.float32
    torch.testing.assert_close(variance, torch.full((5, 2), 1e-8))
    # In bfloat16 itself a floor of 1e-8 under one is lost, and with it the point.
    assert torch.tensor(1.0, dtype=torch.bfloat16) + 1e-8 == 1


def test_double_precision_is_kept():
    mean, variance = GaussianHead(4, 2).double()(torch.randn(5, 4).double())
    assert mean.dtype == variance.dtype == torch.float64


def test_meta_device():
    # No autocast exists there to be switched off.
    with torch.device("meta"):
        mean, variance = GaussianHead(4, 2)(torch.empty(5, 4))
    assert mean.shape == variance.shape == (5, 2)


# Compilation


@pytest.mark.parametrize("head", [GaussianHead(4, 2), StudentTHead(4, 2)])
def test_compiles_to_one_graph(head):
    torch._dynamo.reset()
    features = torch.randn(5, 4)
    compiled = torch.compile(head, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(features), head(features))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(compiled(features), head(features))
    torch._dynamo.reset()
