import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from betanll_paper.depth.losses import DepthLoss, valid_pixels  # noqa: E402

pytestmark = pytest.mark.torch

ALL = {
    "beta-nll": DepthLoss("beta-nll", beta=0.5),
    "nll": DepthLoss("nll"),
    "mse": DepthLoss("mse"),
    "l1": DepthLoss("l1"),
    "scale-invariant": DepthLoss("scale-invariant"),
}
every_loss = pytest.mark.parametrize("loss", ALL.values(), ids=ALL)
pixelwise = pytest.mark.parametrize(
    "loss",
    [loss for loss in ALL.values() if loss.is_pixelwise],
    ids=[name for name, loss in ALL.items() if loss.is_pixelwise],
)


def tensor(*values):
    """A batch of one image with one row."""
    return torch.tensor(values, dtype=torch.float64).reshape(1, 1, 1, -1)


def examples(n=3, size=(4, 5), share=0.6):
    """Mean, variance and a depth that is missing at some pixels."""
    rng = torch.Generator().manual_seed(0)

    def draw():
        return 0.5 + torch.rand(n, 1, *size, generator=rng, dtype=torch.float64)

    mean, variance, depth = draw().requires_grad_(), draw().requires_grad_(), draw()
    depth[torch.rand(depth.shape, generator=rng) > share] = 0
    return mean, variance, depth


def gradients(loss, mean, variance):
    """The gradients of a loss, zero where it does not depend on the variance."""
    return torch.autograd.grad(loss, (mean, variance), materialize_grads=True)


# Values


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        # Errors 1 and -2 of the two valid pixels, whose variances are 4 and 1.
        (DepthLoss("mse"), (1 + 4) / 2),
        (DepthLoss("l1"), (1 + 2) / 2),
        (
            DepthLoss("nll"),
            (math.log(8 * math.pi) + 1 / 4 + math.log(2 * math.pi) + 4) / 4,
        ),
        (
            DepthLoss("beta-nll", 0.5),
            (2 * (math.log(8 * math.pi) + 1 / 4) + math.log(2 * math.pi) + 4) / 4,
        ),
        # log(3 / 2) and log(1 / 3), whose sample variance is half the squared gap.
        (
            DepthLoss("scale-invariant"),
            10 * math.sqrt(math.log(4.5) ** 2 / 2 + 0.15 * (math.log(0.5) / 2) ** 2),
        ),
    ],
    ids=["mse", "l1", "nll", "beta-nll", "scale-invariant"],
)
def test_losses_by_hand(loss, expected):
    mean, variance = tensor(3.0, 7.0, 1.0), tensor(4.0, 0.01, 1.0)
    value = loss(mean, variance, tensor(2.0, 0.0, 3.0))
    assert value.shape == ()
    assert value.item() == pytest.approx(expected, rel=1e-12)


def test_pixels_are_valid_beyond_a_millimetre():
    depth = torch.tensor([0.0, 0.001, 0.0011, 9.0, 12.0, math.nan])
    assert valid_pixels(depth).tolist() == [False, False, True, True, True, False]


@pytest.mark.parametrize(
    "loss", [DepthLoss("nll"), DepthLoss("beta-nll", 0.0)], ids=["nll", "beta-nll"]
)
def test_beta_zero_is_the_loss_of_pytorch(loss):
    mean, variance, depth = examples()
    valid = depth > 0
    expected = torch.nn.GaussianNLLLoss(full=True)(
        mean[valid], depth[valid], variance[valid]
    )
    value = loss(mean, variance, depth)
    torch.testing.assert_close(value, expected, rtol=1e-14, atol=0)
    torch.testing.assert_close(
        gradients(value, mean, variance), gradients(expected, mean, variance)
    )


@pytest.mark.parametrize("beta", [0.25, 0.5, 0.75, 1.0])
def test_gradients_are_weighted_by_powers_of_the_variance(beta):
    mean, variance, depth = examples()
    loss = DepthLoss("beta-nll", beta)(mean, variance, depth)
    by_mean, by_variance = gradients(loss, mean, variance)
    valid = depth > 0
    error, n = (mean - depth) * valid, valid.sum()
    torch.testing.assert_close(by_mean, error / variance ** (1 - beta) / n)
    torch.testing.assert_close(
        by_variance, valid * (variance - error**2) / 2 / variance ** (2 - beta) / n
    )


def test_beta_one_gives_the_mean_the_gradient_of_half_the_squared_error():
    mean, variance, depth = examples()
    by_mean, _ = gradients(
        DepthLoss("beta-nll", 1)(mean, variance, depth), mean, variance
    )
    half = DepthLoss("mse")(mean, None, depth) / 2
    torch.testing.assert_close(by_mean, torch.autograd.grad(half, mean)[0])


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.25, 3.0])
def test_scale_invariant_loss_of_a_common_factor(factor):
    _, _, depth = examples()
    loss = DepthLoss("scale-invariant")(factor * depth + (depth == 0), None, depth)
    expected = 10 * math.sqrt(0.15) * abs(math.log(factor))
    assert loss.item() == pytest.approx(expected, rel=1e-14)


def test_scale_invariant_loss_is_over_the_whole_batch():
    mean, _, depth = examples()
    valid = depth.numpy() > 0
    error = np.log(mean.detach().numpy()[valid]) - np.log(depth.numpy()[valid])
    expected = 10 * np.sqrt(error.var(ddof=1) + 0.15 * error.mean() ** 2)
    loss = DepthLoss("scale-invariant")
    assert loss(mean, None, depth).item() == pytest.approx(expected, rel=1e-13)


def test_scale_invariant_loss_of_one_pixel_has_no_variance():
    mean = tensor(3.0, 5.0).requires_grad_()
    loss = DepthLoss("scale-invariant")(mean, None, tensor(0.0, 2.0))
    assert loss.item() == pytest.approx(10 * math.sqrt(0.15) * math.log(2.5))
    loss.backward()
    torch.testing.assert_close(mean.grad, tensor(0.0, 10 * math.sqrt(0.15) / 5))


def test_perfect_prediction_has_no_scale_invariant_loss_and_no_gradient():
    mean = tensor(1.0, 2.0, 3.0).float().requires_grad_()
    loss = DepthLoss("scale-invariant")(mean, None, mean.detach())
    assert loss.item() == pytest.approx(0, abs=1e-15)
    loss.backward()
    assert torch.equal(mean.grad, torch.zeros_like(mean))


# Pixels


@every_loss
def test_pixels_without_depth_do_not_change_the_loss(loss):
    mean, variance, depth = examples()
    value = loss(mean, variance, depth)
    missing = depth == 0
    for gradient in gradients(value, mean, variance):
        assert torch.isfinite(gradient).all()
        assert not gradient[missing].any()
    with torch.no_grad():
        mean[missing], variance[missing] = 9.0, 9.0
    assert loss(mean, variance, depth) == value


@pixelwise
def test_every_valid_pixel_of_the_batch_has_equal_weight(loss):
    mean, variance, depth = examples()
    depth[0, :, 1:] = 0
    whole = loss(mean, variance, depth)
    parts = [
        loss(mean[i : i + 1], variance[i : i + 1], depth[i : i + 1]) for i in range(3)
    ]
    counts = [(depth[i] > 0).sum() for i in range(3)]
    average = sum(n * part for n, part in zip(counts, parts, strict=True)) / sum(counts)
    torch.testing.assert_close(whole, average)
    assert not torch.isclose(whole, sum(parts) / 3)


@every_loss
def test_batch_without_depth_has_no_loss_and_no_gradient(loss):
    mean, variance, depth = examples()
    value = loss(mean, variance, torch.zeros_like(depth))
    assert value.item() == 0
    inputs = [mean, variance] if loss.has_variance else [mean]
    # Not materialised: the loss must depend on them.
    for gradient in torch.autograd.grad(value, inputs):
        assert torch.equal(gradient, torch.zeros_like(mean))


@every_loss
def test_predictions_are_resized_with_aligned_corners(loss):
    # Bilinear interpolation reproduces planes, corner on corner.
    def plane(height, width):
        rows = torch.linspace(1, 2, height, dtype=torch.float64)
        return (rows[:, None] + torch.linspace(0, 3, width))[None, None]

    _, _, depth = examples(n=1, size=(7, 9))
    small = loss(plane(3, 4), 2 * plane(3, 4), depth)
    large = loss(plane(7, 9), 2 * plane(7, 9), depth)
    torch.testing.assert_close(small, large, rtol=1e-7, atol=0)


@every_loss
def test_half_precision_is_computed_in_single(loss):
    mean, variance, depth = (each.detach().bfloat16() for each in examples())
    value = loss(mean, variance, depth)
    assert value.dtype == torch.float32
    expected = loss(mean.float(), variance.float(), depth.float())
    torch.testing.assert_close(value, expected)


@pytest.mark.parametrize("name", ["mse", "l1", "scale-invariant"])
def test_losses_of_the_mean_ignore_the_variance(name):
    mean, variance, depth = examples()
    loss = DepthLoss(name)
    assert not loss.has_variance
    assert loss(mean, None, depth) == loss(mean, variance, depth)


def test_losses_describe_themselves():
    assert [loss.has_variance for loss in ALL.values()] == 2 * [True] + 3 * [False]
    assert [loss.is_pixelwise for loss in ALL.values()] == 4 * [True] + [False]
    assert "'beta-nll', beta=0.5" in repr(ALL["beta-nll"])
    assert repr(ALL["l1"]) == "DepthLoss('l1')"


# Bad input


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ("huber",),
            "must be one of beta-nll, nll, mse, l1, scale-invariant, got 'hub",
        ),
        (("beta-nll",), "beta must be given for beta-nll"),
        (("beta-nll", -1), "beta must be a finite number of at least 0, got -1"),
        (("beta-nll", math.nan), "beta must be a finite number of at least 0, got nan"),
        (("nll", 0.5), "for nothing else, got 0.5 for nll"),
        (("mse", 0.0), "for nothing else, got 0.0 for mse"),
    ],
)
def test_unknown_losses_and_stray_betas_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        DepthLoss(*arguments)


def test_missing_variance_and_other_batches_are_refused():
    mean, variance, depth = examples()
    with pytest.raises(ValueError, match="variance must be given for the loss nll"):
        DepthLoss("nll")(mean, None, depth)
    with pytest.raises(ValueError, match=r"got \(2, 1, 4, 5\) for \(3, 1, 4, 5\)"):
        DepthLoss("mse")(mean[:2], None, depth)
    with pytest.raises(ValueError, match=r"\(3, 4, 5\)"):
        DepthLoss("mse")(mean[:, 0], variance, depth)
