"""Small images whose depth can be learnt in a moment."""

import numpy as np
import pytest

from betanll_paper.depth.pairs import Pair, Pairs


@pytest.fixture(autouse=True)
def _one_thread():
    """Keep to one: for networks this small, threads cost more than they do."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class BrightIsFar(Pairs):
    """Noise images; the depth of a pixel is told by its brightness, if it is known."""

    def __init__(self, n, seed=0, size=(16, 24)):
        self.n, self.seed, self.size = n, seed, size

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        rng = np.random.default_rng([self.seed, index])
        coarse = rng.uniform(0, 1, (self.size[0] // 4, self.size[1] // 4))
        grey = np.kron(coarse, np.ones((4, 4)))
        depth = (1 + 3 * grey).astype(np.float32)
        # From few to most pixels: parts of an update have different weights.
        depth[rng.uniform(size=self.size) < rng.uniform(0, 0.9)] = 0
        image = np.round(255 * grey[..., None]).astype(np.uint8)
        return Pair(np.broadcast_to(image, (*self.size, 3)).copy(), depth)

    def scene(self, index):
        return f"scene-{self.seed}-{index // 4}"


@pytest.fixture(scope="session")
def bright_is_far():
    return BrightIsFar


@pytest.fixture(scope="session")
def nyu_folder(data_dir):
    """The real pairs, with their list ``filelist.txt``."""
    folder = data_dir / "nyuv2"
    if not folder.is_dir():
        pytest.skip("the real pairs are not among the data")
    return folder


@pytest.fixture(scope="session")
def nyu_pairs(nyu_folder):
    from betanll_paper.depth import BTSPairs

    return BTSPairs(nyu_folder, nyu_folder / "filelist.txt")


@pytest.fixture(scope="session")
def tiny():
    """Build an encoder of one block per stage, with 128 features at the end."""
    transformers = pytest.importorskip("transformers")
    settings = {"width_coefficient": 0.1, "depth_coefficient": 0.2, "hidden_dim": 128}
    return lambda **options: transformers.EfficientNetConfig(**settings | options)


def own_network(seed=0, *, norm=True, drop=0.2, momentum=0.1):
    """What a user may bring: two convolutions, half the resolution, a random gap."""
    import torch

    class OwnNetwork(torch.nn.Module):
        def __init__(self):
            super().__init__()
            normalised = torch.nn.BatchNorm2d(8, momentum=momentum)
            self.features = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 2, stride=2),
                normalised if norm else torch.nn.Identity(),
                torch.nn.SiLU(),
                torch.nn.Dropout2d(drop),
            )
            self.mean = torch.nn.Conv2d(8, 1, 1)
            self.variance = torch.nn.Conv2d(8, 1, 1)

        def forward(self, image):
            features = self.features(image)
            softplus = torch.nn.functional.softplus
            mean = softplus(self.mean(features) + 2)
            return mean, softplus(self.variance(features)) + 1e-3

    torch.manual_seed(seed)
    return OwnNetwork()


@pytest.fixture(scope="session")
def network():
    return own_network


SETTINGS = {
    "epochs": 3,
    "batch_size": 4,
    "learning_rate": 1e-2,
    "max_gradient_norm": 1.0,
    "validate_every": 4,
}


def train_briefly(
    net,
    folder,
    pairs,
    *,
    loss=None,
    n_images=24,
    augmentation=None,
    crop=False,
    progress=False,
    **changes,
):
    """Train on 24 images, six updates an epoch."""
    from betanll_paper.depth import DepthLoss, TrainingSettings, train_depth

    return train_depth(
        net,
        loss or DepthLoss("beta-nll", 0.5),
        pairs(n_images),
        pairs(8, seed=1),
        folder,
        settings=TrainingSettings(**{**SETTINGS, **changes}),
        augmentation=augmentation,
        crop=crop,
        progress=progress,
    )


@pytest.fixture(scope="session")
def train():
    return train_briefly
