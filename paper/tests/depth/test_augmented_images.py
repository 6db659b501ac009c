"""Pairs as a data set: a key of epoch and index decides the bits."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("PIL")

from torch.utils.data import DataLoader  # noqa: E402, after the skip

from betanll_paper.depth.augmentation import Augmentation, AugmentedImages, to_tensors  # noqa: E402
from betanll_paper.depth.pairs import Pair, Pairs, Selection  # noqa: E402

pytestmark = pytest.mark.torch

SMALL = Augmentation(crop_size=(30, 40), max_degrees=0.0, remove_border=False)


class Given(Pairs):
    def __init__(self, *pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        return self.pairs[index]

    def scene(self, index):
        return "memory"


def speckled(height, width):
    """A pair of which no two parts are alike."""
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (height, width, 3), np.uint8)
    return Pair(image, rng.uniform(1, 9, (height, width)).astype(np.float32))


def test_bits_depend_on_the_key_alone():
    pairs = Given(speckled(50, 60), speckled(50, 60))
    first = AugmentedImages(pairs, SMALL, seed=4)
    second = AugmentedImages(pairs, SMALL, seed=4)
    keys = [(0, 0), (0, 1), (1, 0), (1, 1)]
    expected = [first[key] for key in keys]
    # In another order, from another object.
    for key, result in reversed(list(zip(keys, expected, strict=True))):
        for mine, theirs in zip(second[key], result, strict=True):
            assert torch.equal(mine, theirs)
    # Epoch, index and seed each make a difference to the same pair.
    for index in range(4):
        for other in range(index):
            assert not torch.equal(expected[index][1], expected[other][1])
    other_seed = AugmentedImages(pairs, SMALL, seed=5)
    assert not torch.equal(other_seed[0, 0][1], expected[0][1])


def test_generator_is_seeded_by_seed_epoch_and_index():
    pair = speckled(50, 60)
    data = AugmentedImages(Given(pair, pair), SMALL, seed=7)
    expected = SMALL(pair, np.random.default_rng([7, 3, 1]))
    for mine, theirs in zip(data[3, 1], expected, strict=True):
        assert torch.equal(mine, theirs)


def test_without_augmentation_images_are_whole(nyu_pairs):
    data = AugmentedImages(nyu_pairs, None, seed=0)
    assert len(data) == 8
    for epoch in (0, 1):
        for mine, theirs in zip(data[epoch, 7], to_tensors(nyu_pairs[7]), strict=True):
            assert torch.equal(mine, theirs)


@pytest.mark.cluster
def test_loader_processes_give_the_same_bits(nyu_pairs):
    data = AugmentedImages(nyu_pairs, Augmentation(), seed=0)
    keys = [[(2, 0), (2, 3)], [(2, 6), (2, 5)]]
    loader = DataLoader(
        data, batch_sampler=keys, num_workers=1, multiprocessing_context="spawn"
    )
    for batch, (images, depths) in zip(keys, loader, strict=True):
        for place, key in enumerate(batch):
            image, depth = data[key]
            assert torch.equal(images[place], image)
            assert torch.equal(depths[place], depth)


def test_image_that_cannot_be_cropped_is_named_through_a_selection(nyu_pairs):
    data = AugmentedImages(Selection(nyu_pairs, [2, 7]), Augmentation(), seed=0)
    assert data[0, 0][0].shape == (3, 416, 544)
    with pytest.raises(ValueError, match=r"^bookstore_0001d_crop/rgb_00001\.jpg has"):
        data[0, 1]
    # Pairs that have no names are told by their index and scene.
    data = AugmentedImages(Given(speckled(30, 39)), SMALL, seed=0)
    with pytest.raises(ValueError, match=r"^image 0 of memory has 39 x 30 pixels"):
        data[0, 0]
