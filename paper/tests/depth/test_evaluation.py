import math

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from betanll_paper.depth.evaluation import (  # noqa: E402
    EIGEN_CROP,
    DepthScores,
    evaluate,
    image_scores,
    mean_scores,
    predict,
)
from betanll_paper.depth.network import DepthNet  # noqa: E402
from betanll_paper.depth.pairs import Pair, Pairs, Selection  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


class RedIsDepth(Pairs):
    """Images whose red channel tells the depth, in steps of five centimetres."""

    def __init__(self, *depths):
        self.depths = [np.asarray(depth, np.float32) for depth in depths]

    def __len__(self):
        return len(self.depths)

    def __getitem__(self, index):
        depth = self.depths[index]
        red = np.round(20 * depth).astype(np.uint8)
        return Pair(np.stack([red, 0 * red, 0 * red], axis=-1), depth)

    def scene(self, index):
        return f"kitchen-{index}"


class ReadsRed(torch.nn.Module):
    """Knows the depth of these images, up to a factor."""

    def __init__(self, factor=1.0, variance=None):
        super().__init__()
        self.factor, self.variance = factor, variance
        self.sizes = []

    def forward(self, image):
        self.sizes.append(len(image))
        red = (image[:, :1] * 0.229 + 0.485) * 255
        mean = self.factor * red / 20
        if self.variance is None:
            return mean, None
        return mean, torch.full_like(mean, self.variance)


def depths(*size, seed=0):
    return np.random.default_rng(seed).integers(10, 100, size) / 20


def tiny_network(**options):
    config = transformers.EfficientNetConfig(
        width_coefficient=0.1, depth_coefficient=0.2, hidden_dim=128
    )
    return DepthNet(config, **options)


def test_images_move_to_the_device_of_the_network():
    # The device without memory stands in for a graphics card.
    network = tiny_network().to("meta")
    mean, variance = predict(network, torch.zeros(1, 3, 64, 64))
    assert mean.device.type == variance.device.type == "meta"


# Scores


def test_scores_by_hand():
    depth = np.array([[1.0, 2.0], [4.0, 5.0]])
    # Ratios 1.2, 1.5, 1.75 and, at a pixel that does not count, 2.5.
    mean = np.array([[1.2, 3.0], [7.0, 2.0]])
    variance = np.array([[1.0, 2.0], [4.0, 1e-9]])
    valid = np.array([[True, True], [True, False]])
    scores = image_scores(mean, variance, depth, valid)
    log_likelihood = stats.norm(mean, np.sqrt(variance)).logpdf(depth)[valid].mean()
    expected = DepthScores(
        delta1=1 / 3,
        delta2=2 / 3,
        delta3=1.0,
        rel=(0.2 + 0.5 + 0.75) / 3,
        rmse=math.sqrt((0.04 + 1 + 9) / 3),
        log10=math.log10(1.2 * 1.5 * 1.75) / 3,
        log_likelihood=log_likelihood,
    )
    assert scores == pytest.approx(expected, rel=1e-13)
    tensors = [torch.from_numpy(each) for each in (mean, variance, depth, valid)]
    assert image_scores(*tensors) == scores


@pytest.mark.parametrize(
    ("factor", "deltas"),
    [
        *((0.5, (0, 0, 0)), (0.55, (0, 0, 1)), (0.65, (0, 1, 1)), (0.81, (1, 1, 1))),
        *((1.0, (1, 1, 1)), (1.24, (1, 1, 1)), (1.26, (0, 1, 1)), (1.57, (0, 0, 1))),
        *((1.95, (0, 0, 1)), (1.96, (0, 0, 0))),
    ],
)
def test_scores_of_a_common_factor(factor, deltas):
    depth = depths(6, 7)
    scores = image_scores(factor * depth, None, depth, np.ones_like(depth, bool))
    assert scores[:3] == deltas
    assert scores.rel == pytest.approx(abs(factor - 1), abs=1e-15)
    assert scores.log10 == pytest.approx(abs(math.log10(factor)), abs=1e-15)
    rms = math.sqrt(np.mean(depth**2))
    assert scores.rmse == pytest.approx(abs(factor - 1) * rms, abs=1e-14)
    assert math.isnan(scores.log_likelihood)


def test_ratio_equal_to_the_limit_is_outside():
    assert image_scores([1.25], None, [1.0], [True]).delta1 == 0
    assert image_scores([1.0], None, [1.25], [True]).delta1 == 0


def test_scores_are_in_double_precision():
    depth = torch.full((1000, 100), 0.1)
    scores = image_scores(depth + 1e-4, None, depth, depth > 0)
    difference = (depth + 1e-4).double() - depth.double()
    assert scores.rmse == pytest.approx(difference[0, 0].item(), rel=1e-12)


def test_nonfinite_predictions_give_nonfinite_scores():
    scores = image_scores([math.nan, 1.0], [1.0, 1.0], [1.0, 1.0], [True, True])
    assert math.isnan(scores.rel)
    assert math.isnan(scores.log_likelihood)


def test_invalid_score_arguments_are_refused():
    one = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"one shape, got \(2, 3\), \(3, 2\)"):
        image_scores(one, None, one.T, one > 0)
    with pytest.raises(ValueError, match="needs a valid pixel"):
        image_scores(one, None, one, one > 1)


def test_mean_scores_are_means_over_images():
    first = DepthScores(0.0, 0.5, 1.0, 0.1, 1.0, 0.2, -1.0)
    second = DepthScores(1.0, 0.5, 1.0, 0.3, 7.0, 0.4, -2.0)
    expected = (0.5, 0.5, 1.0, 0.2, 4.0, 0.3, -1.5)
    assert mean_scores([first, second]) == pytest.approx(expected)
    assert mean_scores(iter([first])) == first
    without = second._replace(log_likelihood=math.nan)
    assert math.isnan(mean_scores([without, without]).log_likelihood)
    with pytest.raises(ValueError, match="at least one image"):
        mean_scores([])


# Prediction


@pytest.mark.parametrize("has_variance", [True, False])
def test_mirrored_image_has_the_mirrored_prediction(has_variance):
    network = tiny_network(has_variance=has_variance).eval()
    image = torch.randn(2, 3, 64, 96)
    straight, mirrored = predict(network, image), predict(network, image.flip(-1))
    with torch.no_grad():
        alone, alone_mirrored = network(image)[0], network(image.flip(-1))[0]
    assert not torch.allclose(alone, alone_mirrored.flip(-1), atol=1e-4)
    torch.testing.assert_close(straight[0], mirrored[0].flip(-1), rtol=1e-5, atol=1e-6)
    if has_variance:
        torch.testing.assert_close(
            straight[1], mirrored[1].flip(-1), rtol=1e-5, atol=1e-6
        )
    else:
        assert straight[1] is mirrored[1] is None


class LeftToRight(torch.nn.Module):
    """Depth and variance that grow to the right, at a third of the resolution."""

    def __init__(self, last=8.0):
        super().__init__()
        self.last = last

    def forward(self, image):
        n, _, height, width = image.shape
        ramp = torch.linspace(0, self.last, width // 3).expand(n, 1, height // 3, -1)
        return ramp, ramp**2


def test_means_and_variances_of_both_images_are_averaged():
    mean, variance = predict(LeftToRight(), torch.zeros(2, 3, 6, 9))
    assert mean.shape == variance.shape == (2, 1, 6, 9)
    torch.testing.assert_close(mean, torch.full_like(mean, 4.0))
    # Of 0, 16 and 64 and of the reverse; not of how much the means differ.
    coarse = torch.tensor([32.0, 16.0, 32.0])
    torch.testing.assert_close(variance[0, 0, 0, [0, 4, 8]], coarse)


@pytest.mark.parametrize(("last", "expected"), [(-8.0, 0.001), (30.0, 10.0)])
def test_predicted_depth_is_clipped(last, expected):
    mean, _ = predict(LeftToRight(last), torch.zeros(1, 3, 6, 9))
    assert (mean == torch.tensor(expected)).all()


def test_network_keeps_its_mode():
    network = tiny_network().train()
    frozen = network.encoder.embeddings.eval()
    image = torch.randn(2, 3, 32, 32)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    mean, variance = predict(network, image)
    assert not mean.requires_grad
    assert not variance.requires_grad
    assert network.training
    assert network.up_blocks.training
    assert not frozen.training
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name]), name
    torch.testing.assert_close(mean, predict(network.eval(), image)[0])
    # Also after a failure.
    network.train()
    with pytest.raises(ValueError, match="sides"):
        predict(network, torch.zeros(1, 3, 8, 8))
    assert network.training


# Evaluation


def test_images_are_normalised_and_scored_one_by_one():
    pairs = RedIsDepth(depths(12, 16), 2 * depths(12, 16, seed=1))
    scores = evaluate(ReadsRed(1.1, variance=0.25), pairs, crop=False)
    assert len(scores) == 2
    for score, depth in zip(scores, pairs.depths, strict=True):
        predicted = np.minimum(1.1 * depth, 10)
        expected = image_scores(predicted, 0.25 + 0 * depth, depth, depth > 0)
        assert score == pytest.approx(expected, rel=1e-5)
    assert evaluate(ReadsRed(1.1, variance=0.25), pairs, [1], crop=False) == scores[1:]


def test_depths_between_a_millimetre_and_ten_metres_are_scored():
    depth = depths(12, 16)
    image = RedIsDepth(depth)[0].image
    depth[0, :4] = [0, 0.001, 10, 12]

    class Other(RedIsDepth):
        def __getitem__(self, index):
            return Pair(image, self.depths[index])

    (scores,) = evaluate(ReadsRed(), Other(depth), crop=False)
    assert scores.rmse == pytest.approx(0, abs=1e-5)
    depth[0, 0] = 0.002
    (scores,) = evaluate(ReadsRed(), Other(depth), crop=False)
    assert scores.rmse > 0.01


@pytest.mark.parametrize(
    ("row", "column", "counts"),
    [
        *((45, 41, True), (44, 41, False), (45, 40, False)),
        *((470, 600, True), (471, 600, False), (470, 601, False)),
    ],
)
def test_pixels_inside_the_crop_are_scored(row, column, counts):
    depth = np.full((480, 640), 2.0)
    assert depth[EIGEN_CROP].shape == (426, 560)
    pair = RedIsDepth(depth)[0]
    pair.image[row, column, 0] = 80

    class One(RedIsDepth):
        def __getitem__(self, index):
            return pair

    (scores,) = evaluate(ReadsRed(), One(depth))
    expected = 2 / math.sqrt(426 * 560) if counts else 0
    assert scores.rmse == pytest.approx(expected, abs=1e-5)


def test_indices_are_consumed_while_images_are_scored():
    network = ReadsRed()
    seen = []

    def indices():
        for index in (2, 0):
            seen.append(len(network.sizes))
            yield index

    pairs = RedIsDepth(*(depths(4, 6, seed=i) for i in range(3)))
    assert len(evaluate(network, pairs, indices(), crop=False)) == 2
    assert seen == [0, 1]


def test_real_images_are_scored(nyu_pairs):
    pairs = nyu_pairs
    index = next(i for i in range(len(pairs)) if pairs[i].depth.shape == (480, 640))
    (scores,) = evaluate(tiny_network(), pairs, [index])
    assert 0 <= scores.delta1 <= scores.delta2 <= scores.delta3 <= 1
    # Before training, depth and variance are about one metre.
    depth = pairs[index].depth[EIGEN_CROP]
    depth = depth[(depth > 0.001) & (depth < 10)]
    assert scores.rel == pytest.approx(np.mean(np.abs(depth - 1) / depth), abs=0.1)
    assert math.isfinite(scores.log_likelihood)


# Bad input


def test_image_that_cannot_be_cropped_is_named():
    pairs = Selection(RedIsDepth(depths(480, 640), depths(30, 40)), [1])
    reason = r"image 1 of kitchen-1 has 40 x 30 pixels, but the Eigen crop"
    with pytest.raises(ValueError, match=reason):
        evaluate(ReadsRed(), pairs)


def test_image_without_depth_is_named():
    pairs = RedIsDepth(depths(4, 6), np.zeros((4, 6)))
    with pytest.raises(
        ValueError, match=r"image 1 of kitchen-1 has no pixel .* no depth"
    ):
        evaluate(ReadsRed(), pairs, crop=False)
    # Only the border has depths.
    bordered = np.zeros((480, 640))
    bordered[:45] = 2
    with pytest.raises(
        ValueError, match=r"no depth in the Eigen crop lies between 0\.001"
    ):
        evaluate(ReadsRed(), RedIsDepth(bordered))
