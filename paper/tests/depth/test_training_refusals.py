"""Training: what it refuses, and how it says so."""

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from PIL import Image  # noqa: E402

from betanll_paper.depth import Augmentation, BTSPairs, DepthLoss, Pair, Pairs  # noqa: E402


def test_nonfinite_loss_stops_the_run(tmp_path, bright_is_far, network, train):
    net = network()
    with torch.no_grad():
        net.mean.bias.fill_(math.nan)
    with pytest.raises(FloatingPointError, match="loss of update 1 is not a finite"):
        train(net, tmp_path, bright_is_far)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 1e-3}, r"checkpoint\.pt .* its learning_rate is 0\.01"),
        (
            {"loss": DepthLoss("mse")},
            r"checkpoint\.pt .* its loss is beta-nll, not mse",
        ),
        ({"n_images": 20}, r"checkpoint\.pt .* its number of images is 24, not 20"),
        (
            {"augmentation": Augmentation((8, 8), remove_border=False)},
            r"checkpoint\.pt .* its augmentation is None, not Augmentation\(",
        ),
    ],
)
def test_checkpoint_of_another_run_is_refused(
    tmp_path, bright_is_far, changes, message, network, train
):
    train(network(), tmp_path, bright_is_far)
    with pytest.raises(ValueError, match=message):
        train(network(), tmp_path, bright_is_far, **changes)


def test_a_checkpoint_of_another_network_is_refused(
    tmp_path, bright_is_far, network, train
):
    train(network(), tmp_path, bright_is_far)
    with pytest.raises(ValueError, match=r"checkpoint\.pt does not fit the network"):
        train(network(norm=False), tmp_path, bright_is_far)


@pytest.mark.parametrize("n_loaders", [0, pytest.param(1, marks=pytest.mark.cluster)])
def test_an_image_that_cannot_be_read_is_named(tmp_path, n_loaders, network, train):
    names = [f"rgb_{index}.png" for index in range(24)]
    for name in names:
        Image.new("RGB", (24, 16)).save(tmp_path / name)
    Image.new("I;16", (24, 16), 1500).save(tmp_path / "depth.png")
    (tmp_path / "list.txt").write_text(
        "".join(f"{name} depth.png 1\n" for name in names)
    )
    (tmp_path / "rgb_5.png").write_bytes((tmp_path / "rgb_5.png").read_bytes()[:40])
    pairs = BTSPairs(tmp_path, tmp_path / "list.txt")
    with pytest.raises(
        ValueError, match=r"^[^\n]*rgb_5\.png cannot be read: it is[^\n]*$"
    ):
        train(network(), tmp_path / "run", lambda *_, **__: pairs, n_loaders=n_loaders)


class OneOfAnotherSize(Pairs):
    """An image of another size among others, or a depth of another size."""

    def __init__(self, pairs, rows_of_depth):
        self.pairs, self.rows_of_depth = pairs, rows_of_depth

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        image, depth = self.pairs[index]
        if index != 5:
            return Pair(image, depth)
        return Pair(image[:-2], depth[: self.rows_of_depth])

    def scene(self, index):
        return self.pairs.scene(index)

    def name(self, index):
        return f"kitchen {index}"


def test_images_of_different_sizes_are_named(tmp_path, bright_is_far, network, train):
    with pytest.raises(ValueError, match="batch must have one size, got 24 x 14 and 2"):
        train(
            network(),
            tmp_path,
            lambda n, seed=0: OneOfAnotherSize(bright_is_far(n, seed=seed), -2),
        )
    with pytest.raises(ValueError, match=r"kitchen 5 must be bytes .* \(14, 24, 3\)"):
        train(
            network(),
            tmp_path,
            lambda n, seed=0: OneOfAnotherSize(bright_is_far(n, seed=seed), None),
        )


def test_validation_images_that_cannot_be_cropped_are_refused_at_once(
    tmp_path, bright_is_far, network, train
):
    reason = "image 0 of scene-1-0 has 24 x 16 pixels, but the Eigen crop"
    with pytest.raises(ValueError, match=reason):
        train(network(), tmp_path, bright_is_far, crop=True)
    assert not list(tmp_path.iterdir())


def test_empty_pairs_are_refused(tmp_path, bright_is_far, network, train):
    with pytest.raises(ValueError, match="there are no training images"):
        train(network(), tmp_path, lambda n, seed=0: bright_is_far(0 if n == 24 else n))
    with pytest.raises(ValueError, match="there are no validation images"):
        train(network(), tmp_path, lambda n, seed=0: bright_is_far(0 if n == 8 else n))
    assert not list(tmp_path.iterdir())
