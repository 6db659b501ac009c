"""Small images whose depth can be learnt in a moment."""

import numpy as np
import pytest

from betanll.torch.depth._pairs import Pair, Pairs


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
    from betanll.torch.depth import BTSPairs

    return BTSPairs(nyu_folder, nyu_folder / "filelist.txt")


@pytest.fixture(scope="session")
def tiny():
    """Build an encoder of one block per stage, with 128 features at the end."""
    transformers = pytest.importorskip("transformers")
    settings = {"width_coefficient": 0.1, "depth_coefficient": 0.2, "hidden_dim": 128}
    return lambda **options: transformers.EfficientNetConfig(**settings | options)
