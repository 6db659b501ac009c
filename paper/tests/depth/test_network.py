import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from betanll_paper.depth.network import DepthNet, efficientnet_b5, small_efficientnet  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.fixture
def network(tiny):
    return DepthNet(tiny())


def image(height=64, width=96, n=2):
    return torch.randn(n, 3, height, width)


def with_outputs(network, *values):
    """The network, the outputs of its last convolution set whatever the image."""
    with torch.no_grad():
        network.output.weight.zero_()
        network.output.bias.copy_(torch.tensor(values))
    return network


def n_parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


def inputs_of(modules, run):
    """The shapes of what enters each of the modules during a call."""
    shapes = []
    hooks = [
        module.register_forward_pre_hook(
            lambda _, inputs: shapes.append([tuple(each.shape) for each in inputs])
        )
        for module in modules
    ]
    run()
    for hook in hooks:
        hook.remove()
    return shapes


# Resolutions and channels


@pytest.mark.parametrize(
    "size", [(32, 32), (96, 128), (160, 96), (224, 32), (72, 104)], ids=str
)
def test_prediction_has_half_the_resolution_of_the_image(network, size):
    mean, variance = network.eval()(image(*size))
    expected = (2, 1, size[0] // 2, size[1] // 2)
    assert mean.shape == variance.shape == expected


def test_b5_has_the_channels_of_the_paper():
    predicted = []
    with torch.device("meta"):
        network = DepthNet(efficientnet_b5())
        image = torch.empty(1, 3, 416, 544)
        entered = inputs_of(network.up_blocks, lambda: predicted.extend(network(image)))
    assert n_parameters(network.encoder) == 28_340_784
    assert [each.shape for each in predicted] == 2 * [(1, 1, 208, 272)]
    # The padding of the 1 x 1 convolution adds a pixel on each side.
    assert entered == [
        [(1, 2048, 15, 19), (1, 176, 26, 34)],
        [(1, 1024, 26, 34), (1, 64, 52, 68)],
        [(1, 512, 52, 68), (1, 40, 104, 136)],
        [(1, 256, 104, 136), (1, 24, 208, 272)],
    ]
    assert network.smooth.weight.shape == (128, 128, 3, 3)
    assert network.output.weight.shape == (2, 128, 1, 1)
    # Two convolutions per block and the scales and shifts of their normalisation.
    blocks = sum(
        9 * out * (2 * out + skip) + 9 * out * out + 4 * out
        for out, skip in zip((1024, 512, 256, 128), (176, 64, 40, 24), strict=True)
    )
    ends = 2048 * 2049 + 128 * (9 * 128 + 1) + 2 * 129
    assert n_parameters(network) == 28_340_784 + blocks + ends


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # Two blocks per stage: the second one of a stage is the one that counts.
        ({"depth_coefficient": 2.0}, [8, 4, 2, 1]),
        # The stem is the only part of its resolution.
        ({"strides": [2, 1, 2, 1, 1, 2, 1]}, [4, 2, 1]),
        # The resolution is halved by the very last stage.
        ({"strides": [1, 2, 1, 1, 1, 1, 2]}, [2, 1]),
    ],
    ids=["deep", "early", "late"],
)
def test_skips_follow_from_the_configuration(tiny, options, expected):
    network = DepthNet(tiny(**options)).eval()
    deepest = 32 // 2 // max(expected)
    entered = inputs_of(network.up_blocks, lambda: network(image(32, 32, n=1)))
    heights = [skip[2] for _, skip in entered]
    assert heights == [16 // factor for factor in expected]
    assert network(image(32, 32, n=1))[0].shape == (1, 1, 16, 16)
    assert entered[0][0][2] == deepest // 2 + 2
    blocks = network.encoder.encoder.blocks
    for index in network._skips:
        assert blocks[index].depthwise_conv.stride == 2


def test_features_are_resized_with_aligned_corners(network):
    block = network.up_blocks[-1]
    ramp = torch.linspace(0, 1, 3).expand(1, 16, 3, 3)
    skip = torch.zeros(1, 8, 5, 7)
    joined = []
    block.convolutions.register_forward_pre_hook(lambda _, x: joined.append(x[0]))
    block(ramp, skip)
    torch.testing.assert_close(
        joined[0][:, :16], torch.linspace(0, 1, 7).expand(1, 16, 5, 7)
    )
    assert joined[0].shape == (1, 24, 5, 7)
    assert not joined[0][:, 16:].any()


def test_each_block_has_two_convolutions_as_in_the_paper(network):
    for block in network.up_blocks:
        kinds = [type(each).__name__ for each in block.convolutions]
        assert kinds == 2 * ["Conv2d", "BatchNorm2d", "LeakyReLU"]
        assert {each.negative_slope for each in block.convolutions[2::3]} == {0.01}


def test_small_encoder_is_the_default_and_small():
    network = DepthNet()
    assert network.encoder.config.to_dict() == small_efficientnet().to_dict()
    assert 0.5e6 < n_parameters(network) < 2e6


# Mean and variance


def test_mean_and_variance_are_one_where_outputs_are_zero(network):
    for part in with_outputs(network.double(), 0.0, 0.0)(image().double()):
        torch.testing.assert_close(part, torch.ones_like(part), rtol=1e-14, atol=0)


@pytest.mark.parametrize("z", [-3.0, 0.7, 8.0])
def test_mean_and_variance_formulas(network, z):
    with_outputs(network.double(), z, -z)
    mean, variance = network(image().double())

    def formula(z, floor):
        return math.log1p(math.exp(z) * math.expm1(1 - floor)) + floor

    assert mean[0, 0, 0, 0].item() == pytest.approx(formula(z, 1e-3), rel=1e-7)
    assert variance[0, 0, 0, 0].item() == pytest.approx(formula(-z, 1e-6), rel=1e-7)


def test_floors_keep_a_gradient_and_ceilings_do_not(network):
    mean, variance = with_outputs(network, -30.0, -30.0)(image())
    torch.testing.assert_close(mean, torch.full_like(mean, 1e-3), rtol=1e-6, atol=0)
    torch.testing.assert_close(
        variance, torch.full_like(variance, 1e-6), rtol=1e-6, atol=0
    )
    (mean + variance).sum().backward()
    assert (network.output.bias.grad > 0).all()
    network.zero_grad()
    mean, variance = with_outputs(network, 1e4, 1e4)(image())
    assert (mean == 10).all()
    assert (variance == 10).all()
    (mean + variance).sum().backward()
    assert not network.output.bias.grad.any()


def test_without_a_variance_there_is_one_output(tiny):
    network = DepthNet(tiny(), has_variance=False)
    mean, variance = network(image())
    assert variance is None
    assert mean.shape == (2, 1, 32, 48)
    assert network.output.out_channels == 1


def test_mean_and_variance_are_of_single_precision_under_autocast(network):
    with_outputs(network, 1.2345678, -30.0)
    exact = network(image())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        halved = network(image())
    for part, reference in zip(halved, exact, strict=True):
        assert part.dtype == torch.float32
        torch.testing.assert_close(part, reference, rtol=1e-6, atol=0)


# Training


def test_gradients_reach_every_parameter(network):
    mean, variance = network(image())
    (mean * torch.rand_like(mean) + variance * torch.rand_like(mean)).sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_new_encoder_passes_the_image_on():
    # That of transformers shrinks it by a factor of 10^-34.
    network = DepthNet()
    stages = [*network.encoder.encoder.blocks, network.encoder.encoder.top_activation]
    spreads = []
    for stage in stages:
        stage.register_forward_hook(lambda *args: spreads.append(args[2].std().item()))
    with torch.no_grad():
        network(image())
    assert len(spreads) >= len(stages)
    assert all(0.1 < spread < 10 for spread in spreads)


def test_depthwise_convolutions_start_large_enough():
    # Their channels do not add up, so that their number must not count.
    for block in DepthNet().encoder.encoder.blocks:
        weight = block.depthwise_conv.depthwise_conv.weight
        assert weight.std().item() == pytest.approx(2**0.5 / weight.shape[-1], rel=0.3)


def test_running_statistics_are_averages_over_batches(network):
    norms = [
        each for each in network.modules() if isinstance(each, torch.nn.BatchNorm2d)
    ]
    assert {norm.momentum for norm in norms} == {0.1}
    # From the initial zero towards the mean of the batch, a tenth of the way.
    stem = network.encoder.embeddings
    entered = []
    stem.batchnorm.register_forward_pre_hook(lambda _, x: entered.append(x[0]))
    network(image())
    torch.testing.assert_close(
        stem.batchnorm.running_mean, 0.1 * entered[0].mean((0, 2, 3))
    )


# Bad input


@pytest.mark.parametrize("shape", [(3, 64, 64), (1, 3, 31, 64), (1, 3, 64, 16)])
def test_images_of_wrong_shape_are_refused(network, shape):
    with pytest.raises(ValueError, match=r"sides of at least 32, got \("):
        network(torch.zeros(shape))


def test_inconsistent_encoders_are_refused(tiny):
    with pytest.raises(ValueError, match="hidden_dim of the encoder must be 128"):
        DepthNet(tiny(hidden_dim=2560))
    with pytest.raises(ValueError, match="strides of the encoder"):
        DepthNet(tiny(strides=[1] * 7))
