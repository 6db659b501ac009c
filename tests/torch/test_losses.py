import inspect
import itertools
import math
import re

import pytest

torch = pytest.importorskip("torch")

from betanll import losses  # noqa: E402, after the skip
from betanll.sentences import shown  # noqa: E402
from betanll.torch import (  # noqa: E402
    BetaNLLLoss,
    CRPSLoss,
    FaithfulNLLLoss,
    GaussianHead,
    MomentMatchingLoss,
    NaturalGaussianNLLLoss,
    StudentTNLLLoss,
)

pytestmark = pytest.mark.torch

ALL = [
    BetaNLLLoss,
    CRPSLoss,
    FaithfulNLLLoss,
    MomentMatchingLoss,
    NaturalGaussianNLLLoss,
    StudentTNLLLoss,
]
TAKES_VARIANCE = [BetaNLLLoss, CRPSLoss, FaithfulNLLLoss]
TAKES_SPREAD = [*TAKES_VARIANCE, MomentMatchingLoss]


def examples(dtype=torch.float64, shape=(6, 4, 3)):
    """Mean, target, and two positive tensors."""
    generator = torch.Generator().manual_seed(0)

    def draw():
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    return draw(), draw(), draw().exp(), draw().exp()


def arguments_of(loss, dtype=torch.float64):
    mean, target, first, second = examples(dtype)
    if loss is StudentTNLLLoss:
        return mean, target, first, second
    if loss is NaturalGaussianNLLLoss:
        return mean, target, -first
    return mean, target, first


# Agreement with PyTorch

# The shapes of a variance that PyTorch accepts beside a mean of shape (6, 4, 3).
VARIANCE_SHAPES = {
    "(6, 4, 3)": lambda variance: variance,
    "(6, 4)": lambda variance: variance[:, :, 0],
    "(6, 4, 1)": lambda variance: variance[:, :, :1],
    "(6, 1, 3)": lambda variance: variance[:, :1],
    "(1, 4, 3)": lambda variance: variance[:1],
}


@pytest.mark.parametrize("shape", VARIANCE_SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_beta_zero_is_the_loss_of_torch(shape, dtype):
    mean, target, variance, _ = examples(dtype)
    variance = VARIANCE_SHAPES[shape](variance)
    assert str(tuple(variance.shape)) == shape
    # Some of them below the clamp.
    variance = torch.where(variance < 0.5, 1e-8, variance)
    assert (variance < 1e-6).any()
    for full, reduction, eps in itertools.product(
        (False, True), ("none", "mean", "sum"), (1e-6, 1e-3)
    ):
        options = {"full": full, "reduction": reduction, "eps": eps}
        results = []
        for criterion in (
            torch.nn.GaussianNLLLoss(**options),
            BetaNLLLoss(beta=0, **options),
        ):
            leaves = [
                tensor.clone().requires_grad_() for tensor in (mean, target, variance)
            ]
            loss = criterion(*leaves)
            results.append((loss, torch.autograd.grad(loss.sum(), leaves)))
        (their_loss, their_gradients), (our_loss, our_gradients) = results
        assert torch.equal(our_loss, their_loss)
        for ours, theirs in zip(our_gradients, their_gradients, strict=True):
            # A shared variance sums its gradient in another order than theirs.
            torch.testing.assert_close(
                ours, theirs, rtol=100 * torch.finfo(dtype).eps, atol=0
            )


def test_a_number_for_the_variance():
    mean, target, *_ = examples()
    theirs = torch.nn.GaussianNLLLoss()(mean, target, 0.3)
    assert torch.equal(BetaNLLLoss(beta=0)(mean, target, 0.3), theirs)
    assert torch.equal(
        BetaNLLLoss(beta=0)(mean, target, 1),
        0.5 * losses.squared_error(mean, target).mean(),
    )


def test_signature_is_that_of_torch():
    ours = inspect.signature(BetaNLLLoss.forward).parameters
    theirs = inspect.signature(torch.nn.GaussianNLLLoss.forward).parameters
    assert list(ours) == list(theirs)
    defaults = inspect.signature(torch.nn.GaussianNLLLoss).parameters
    for name, theirs in defaults.items():
        ours = inspect.signature(BetaNLLLoss).parameters[name]
        assert (ours.kind, ours.default) == (theirs.kind, theirs.default), name


# Agreement with the functions


@pytest.mark.parametrize(
    ("module", "function"),
    [
        (BetaNLLLoss(eps=0, reduction="none"), losses.beta_nll),
        (CRPSLoss(eps=0, reduction="none"), losses.crps),
        (FaithfulNLLLoss(eps=0, reduction="none"), losses.faithful_nll),
        (MomentMatchingLoss(reduction="none"), losses.moment_matching),
        (NaturalGaussianNLLLoss(reduction="none"), losses.natural_gaussian_nll),
        (StudentTNLLLoss(reduction="none"), losses.student_t_nll),
    ],
    ids=lambda value: type(value).__name__,
)
def test_modules_are_the_functions_with_the_target_second(module, function):
    first, target, *rest = arguments_of(type(module))
    assert torch.equal(module(first, target, *rest), function(first, *rest, target))


def test_options_reach_the_functions():
    mean, target, variance, _ = examples()
    torch.testing.assert_close(
        BetaNLLLoss(0.75, full=True)(mean, target, variance),
        losses.beta_nll(mean, variance, target, beta=0.75, full=True).mean(),
    )
    torch.testing.assert_close(
        NaturalGaussianNLLLoss(full=True)(mean, target, -variance),
        losses.natural_gaussian_nll(mean, -variance, target, full=True).mean(),
    )
    # The exponent may be annealed.
    criterion = BetaNLLLoss(beta=1.0)
    criterion.beta = 0.25
    expected = losses.beta_nll(mean, variance, target, beta=0.25).mean()
    torch.testing.assert_close(criterion(mean, target, variance), expected)
    assert repr(criterion) == (
        "BetaNLLLoss(beta=0.25, full=False, eps=1e-06, reduction='mean')"
    )


@pytest.mark.parametrize("loss", ALL)
def test_reductions(loss):
    arguments = arguments_of(loss)
    elements = loss(reduction="none")(*arguments)
    assert elements.shape == arguments[0].shape
    torch.testing.assert_close(loss()(*arguments), elements.mean())
    torch.testing.assert_close(loss(reduction="mean")(*arguments), elements.mean())
    torch.testing.assert_close(loss(reduction="sum")(*arguments), elements.sum())
    with pytest.raises(ValueError, match="none, mean, sum, got 'average'"):
        loss(reduction="average")


@pytest.mark.parametrize("loss", TAKES_SPREAD)
def test_spread_shapes(loss):
    mean, target, spread, _ = examples()
    criterion = loss(reduction="none")
    per_sample = criterion(mean, target, spread[..., 0])
    assert torch.equal(per_sample, criterion(mean, target, spread[..., :1]))
    full_spread = spread[..., :1].expand_as(mean).contiguous()
    assert torch.equal(per_sample, criterion(mean, target, full_spread))
    constant = criterion(mean, target, torch.full_like(mean, 0.3))
    assert torch.equal(criterion(mean, target, 0.3), constant)


# The clamp


@pytest.mark.parametrize("loss", TAKES_VARIANCE)
def test_gradient_passes_the_clamp(loss):
    mean, target = torch.zeros(2), torch.tensor([0.0, 1.0])
    results = []
    for start in (1e-12, 1e-4):
        variance = torch.full((2,), start, requires_grad=True)
        value = loss(eps=1e-4)(mean, target, variance)
        value.backward()
        results.append((value.detach(), variance.grad))
    (below, gradient_below), (at, gradient_at) = results
    assert torch.equal(below, at)
    assert torch.equal(gradient_below, gradient_at)
    assert gradient_below.abs().min() > 0
    # Exactly zero is a variance that half precision produces.
    assert torch.isfinite(loss()(mean, target, torch.zeros(2)))


# Bad arguments


@pytest.mark.parametrize("loss", ALL)
def test_input_and_target_of_different_shapes_raise(loss):
    first, target, *rest = arguments_of(loss)
    with pytest.raises(ValueError, match=r"target .*\(6, 4, 3\) and \(6, 4\)"):
        loss()(first, target[..., 0], *rest)
    with pytest.raises(ValueError, match=r"target .*\(6, 4, 3\) and \(6, 4, 1\)"):
        loss()(first, target[..., :1], *rest)


@pytest.mark.parametrize("loss", TAKES_SPREAD)
def test_spreads_that_do_not_fit_raise(loss):
    mean, target, spread, _ = examples()
    name = "std" if loss is MomentMatchingLoss else "var"
    for wrong in (spread[:5], spread[:, :1, :1], spread[0], spread[0, 0, 0]):
        shape = str(tuple(wrong.shape)).replace("(", r"\(").replace(")", r"\)")
        with pytest.raises(ValueError, match=rf"{name} .*{shape} .*\(6, 4, 3\)"):
            loss()(mean, target, wrong)


@pytest.mark.parametrize("loss", [NaturalGaussianNLLLoss, StudentTNLLLoss])
def test_parameters_that_do_not_fit_raise(loss):
    mean, target, *rest = arguments_of(loss)
    with pytest.raises(ValueError, match=r"\(6, 4, 3\) and \(6, 4, 1\)"):
        loss()(mean, target, *(parameter[..., :1] for parameter in rest))


@pytest.mark.parametrize("loss", TAKES_SPREAD)
def test_negative_spread_raises(loss):
    mean, target, spread, _ = examples()
    with pytest.raises(ValueError, match="negative entries"):
        loss()(mean, target, -0.1)
    spread[3, 1, 2] = -1e-3
    with pytest.raises(ValueError, match="negative entries"):
        loss()(mean, target, spread)
    # The order of betanll.losses: the target arrives where the spread should be.
    with pytest.raises(ValueError, match=r"order is \(input, target, (var|std)\)"):
        loss()(mean, spread.abs(), target)


@pytest.mark.parametrize("beta", [-3, math.nan, math.inf, "0.5", None, True, 10**400])
def test_unusable_exponents_raise(beta):
    message = re.escape(
        f"beta must be a finite number of at least 0, got {shown(beta)}"
    )
    with pytest.raises(ValueError, match=message):
        BetaNLLLoss(beta)
    criterion = BetaNLLLoss(0.5)
    with pytest.raises(ValueError, match=message):
        criterion.beta = beta
    assert criterion.beta == 0.5


def test_exponents_may_be_tensors():
    mean, target, variance, _ = examples()
    beta = torch.tensor([0.0, 0.5, 1.0], dtype=variance.dtype).expand(6, 4, 3)
    columns = [
        BetaNLLLoss(value, reduction="none")(mean, target, variance)[..., i]
        for i, value in enumerate((0.0, 0.5, 1.0))
    ]
    torch.testing.assert_close(
        BetaNLLLoss(beta, reduction="none")(mean, target, variance),
        torch.stack(columns, dim=-1),
    )
    with pytest.raises(ValueError, match="beta must be finite and at least 0, got"):
        BetaNLLLoss(beta - 0.5)


@pytest.mark.parametrize("loss", TAKES_VARIANCE)
@pytest.mark.parametrize("eps", [-1, -1e-12, math.nan, math.inf, "1e-6", None, True])
def test_unusable_floors_raise(loss, eps):
    message = re.escape(f"eps must be a finite number of at least 0, got {eps!r}")
    with pytest.raises(ValueError, match=message):
        loss(eps=eps)
    criterion = loss()
    with pytest.raises(ValueError, match=message):
        criterion.eps = eps


def test_exponents_above_one_bring_a_warning():
    with pytest.warns(UserWarning, match="beta = 2 is unusual: above 1") as caught:
        BetaNLLLoss(2)
    (warning,) = caught
    assert warning.filename == __file__
    BetaNLLLoss(1.0)  # a warning would be an error


def test_parameters_of_the_wrong_sign_raise():
    mean, target, shape, rate = examples()
    with pytest.raises(ValueError, match="shape must be positive"):
        StudentTNLLLoss()(mean, target, 0 * shape, rate)
    with pytest.raises(ValueError, match="rate must be positive"):
        StudentTNLLLoss()(mean, target, shape, -rate)
    with pytest.raises(ValueError, match="eta2 must be negative"):
        NaturalGaussianNLLLoss()(mean, target, rate)


def test_nan_shows_in_the_loss():
    mean, target, variance, _ = examples()
    variance[0, 0, 0] = torch.nan
    elements = BetaNLLLoss(reduction="none")(mean, target, variance)
    assert elements.isnan().sum() == 1


# Precision


@pytest.mark.parametrize("loss", ALL)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_computes_in_float32(loss, dtype):
    arguments = [tensor.requires_grad_() for tensor in arguments_of(loss, dtype)]
    value = loss(reduction="none")(*arguments)
    assert value.dtype == torch.float32
    exact = loss(reduction="none")(*(tensor.double() for tensor in arguments))
    torch.testing.assert_close(value.double(), exact, rtol=1e-5, atol=1e-5)
    value.sum().backward()
    assert all(tensor.grad.dtype == dtype for tensor in arguments)


@pytest.mark.parametrize("loss", ALL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_full_precision_is_kept(loss, dtype):
    assert loss()(*arguments_of(loss, dtype)).dtype == dtype


def test_half_precision_predictions_with_a_float_target():
    mean, target, variance, _ = examples(torch.float32)
    value = BetaNLLLoss()(mean.bfloat16(), target, variance.bfloat16())
    expected = BetaNLLLoss()(mean, target, variance)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, expected, rtol=0.02, atol=0)


# Compilation; the back end aot_eager traces forward and backward without a C compiler


@pytest.fixture
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _loss_and_gradients(criterion, arguments):
    leaves = [tensor.clone().requires_grad_() for tensor in arguments]
    loss = criterion(*leaves)
    return [loss, *torch.autograd.grad(loss, leaves)]


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("loss", ALL)
def test_compiles_to_one_graph(loss):
    arguments = arguments_of(loss)
    expected = _loss_and_gradients(loss(), arguments)
    compiled = torch.compile(loss(), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(_loss_and_gradients(compiled, arguments), expected)


@pytest.mark.slow
# Raised by PyTorch itself, when its default back end is imported.
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.usefixtures("fresh_compiler")
def test_compiles_with_the_default_back_end():
    head = GaussianHead(5, 2)
    criterion = BetaNLLLoss(eps=1e-8)
    features, target = torch.randn(7, 5), torch.randn(7, 2)

    def step(features, target):
        mean, variance = head(features)
        return criterion(mean, target, variance)

    parameters = list(head.parameters())
    expected = torch.autograd.grad(step(features, target), parameters)
    compiled = torch.compile(step, fullgraph=True)
    actual = torch.autograd.grad(compiled(features, target), parameters)
    torch.testing.assert_close(actual, expected)


@pytest.mark.usefixtures("fresh_compiler")
def test_clamp_survives_compilation():
    variance = torch.tensor([1e-9, 1.0], requires_grad=True)
    criterion = torch.compile(BetaNLLLoss(), fullgraph=True, backend="aot_eager")
    criterion(torch.zeros(2), torch.ones(2), variance).backward()
    compiled, variance.grad = variance.grad, None
    BetaNLLLoss()(torch.zeros(2), torch.ones(2), variance).backward()
    torch.testing.assert_close(compiled, variance.grad)


@pytest.mark.usefixtures("fresh_compiler")
def test_exponents_may_change_after_compilation():
    arguments = arguments_of(BetaNLLLoss)
    criterion = BetaNLLLoss()
    compiled = torch.compile(criterion, fullgraph=True, backend="aot_eager")
    for beta in (0.5, 0.25, 0.125):
        criterion.beta = beta
        expected = BetaNLLLoss(beta)(*arguments)
        torch.testing.assert_close(compiled(*arguments), expected)


def test_functions_run_under_the_transformations_of_torch():
    mean, target, variance, _ = examples(shape=(5, 2))
    gradient = torch.func.vmap(
        torch.func.grad(lambda m, v, y: losses.beta_nll(m, v, y).sum())
    )(mean, variance, target)
    torch.testing.assert_close(gradient, (mean - target) / variance.sqrt())
