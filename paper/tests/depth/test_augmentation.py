import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("PIL")


from betanll_paper.depth.augmentation import (  # noqa: E402
    BORDER_CROP,
    Augmentation,
    _rotated,
    remove_border,
    to_tensors,
)
from betanll_paper.depth.pairs import Pair  # noqa: E402

pytestmark = pytest.mark.torch

MEAN = torch.tensor([0.485, 0.456, 0.406]).reshape(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).reshape(3, 1, 1)

SMALL = Augmentation(crop_size=(30, 40), max_degrees=0.0, remove_border=False)


def coded(height, width):
    """A pair whose pixels tell where they are: row, column, 128; 1000 row + column."""
    rows, columns = np.mgrid[:height, :width]
    image = np.stack([rows, columns, np.full_like(rows, 128)], axis=-1)
    return Pair(image.astype(np.uint8), (1000 * rows + columns + 1).astype(np.float32))


def uniform(value, height=30, width=40):
    image = np.full((height, width, 3), value, np.uint8)
    return Pair(image, np.ones((height, width), np.float32))


def colours(image):
    """The image before it was normalised, between 0 and 1."""
    return image * STD + MEAN


def draws(augmentation, pair, n):
    return [augmentation(pair, np.random.default_rng([1, seed])) for seed in range(n)]


# Tensors


def test_image_is_normalised_channel_by_channel():
    image = np.zeros((1, 3, 3), np.uint8)
    image[0] = [[0, 0, 0], [255, 255, 255], [51, 102, 204]]
    tensor, depth = to_tensors(Pair(image, np.array([[0.5, 0, 2]], np.float32)))
    assert tensor.dtype == depth.dtype == torch.float32
    expected = [
        [-0.485 / 0.229, 0.515 / 0.229, (0.2 - 0.485) / 0.229],
        [-0.456 / 0.224, 0.544 / 0.224, (0.4 - 0.456) / 0.224],
        [-0.406 / 0.225, 0.594 / 0.225, (0.8 - 0.406) / 0.225],
    ]
    torch.testing.assert_close(tensor, torch.tensor(expected)[:, None])
    assert depth.tolist() == [[[0.5, 0.0, 2.0]]]


def test_tensors_are_copies():
    pair = coded(3, 4)
    for array in pair:
        array.flags.writeable = False
    before = pair.depth.copy()
    for tensor in to_tensors(pair):
        assert tensor.is_contiguous()
        tensor.zero_()
    np.testing.assert_array_equal(pair.depth, before)


@pytest.mark.parametrize(
    "pair",
    [
        Pair(np.zeros((4, 5, 3), np.uint8), np.ones((5, 4), np.float32)),
        Pair(np.zeros((4, 5), np.uint8), np.ones((4, 5), np.float32)),
        Pair(np.zeros((4, 5, 3)), np.ones((4, 5), np.float32)),
        Pair(np.zeros((4, 5, 3), np.uint8), np.ones((1, 4, 5), np.float32)),
    ],
)
def test_image_and_depth_of_different_sizes_are_refused(pair):
    with pytest.raises(ValueError, match="must be bytes of shape"):
        to_tensors(pair)
    with pytest.raises(ValueError, match="my image must be bytes of shape"):
        SMALL(pair, np.random.default_rng(0), "my image")


# Border


def test_border_crop_is_left_43_top_45_right_608_bottom_472():
    assert BORDER_CROP == (43, 45, 608, 472)
    image, depth = remove_border(coded(480, 640), "an image")
    assert image.shape == (427, 565, 3)
    # Row 45, column 43 comes first and row 471, column 607 last.
    assert (depth[0, 0], depth[-1, -1]) == (45_044, 471_608)
    assert image[0, 0].tolist() == [45, 43, 128]


def test_image_without_border_is_kept(nyu_pairs):
    pair = coded(427, 565)
    assert remove_border(pair, "an image") is pair
    assert [remove_border(nyu_pairs[i], "").depth.shape for i in range(7)] == [
        (427, 565)
    ] * 7


def test_border_of_another_size_is_refused_by_name(nyu_pairs):
    with pytest.raises(ValueError, match="has 160 x 120 pixels") as caught:
        remove_border(nyu_pairs[7], nyu_pairs.name(7))
    assert str(caught.value).startswith("bookstore_0001d_crop/rgb_00001.jpg has")
    # Height and width in the wrong order.
    with pytest.raises(ValueError, match="x has 480 x 640 pixels"):
        remove_border(coded(640, 480), "x")


# Geometry


@pytest.mark.parametrize("degrees", [0.0, -0.0])
def test_no_rotation_is_the_identity(degrees):
    rng = np.random.default_rng(3)
    pair = Pair(
        rng.integers(0, 256, (30, 40, 3), np.uint8),
        rng.uniform(0.5, 10, (30, 40)).astype(np.float32),
    )
    for mine, theirs in zip(_rotated(pair, degrees), pair, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def without_jitter(image, depth):
    """Whether the blue of a coded image is still 128 everywhere."""
    return bool(torch.allclose(colours(image)[2], torch.tensor(128 / 255), atol=1e-6))


def test_crop_and_mirror_move_image_and_depth_together():
    pair = coded(50, 60)
    n_plain, places, mirrored = 0, set(), set()
    for image, depth in draws(SMALL, pair, 200):
        assert image.shape == (3, 30, 40)
        assert depth.shape == (1, 30, 40)
        place = depth[0].round().int() - 1
        row, column = place // 1000, place % 1000
        is_mirrored = bool(column[0, 0] > column[0, -1])
        mirrored.add(is_mirrored)
        left, top = int(column.min()), int(row.min())
        places.add((top, left))
        columns = torch.arange(left, left + 40)
        expected = columns.flip(0) if is_mirrored else columns
        assert torch.equal(column, expected.int().expand(30, 40))
        assert torch.equal(
            row, torch.arange(top, top + 30).int()[:, None].expand(30, 40)
        )
        if without_jitter(image, depth):
            n_plain += 1
            coding = colours(image)[:2] * 255
            torch.testing.assert_close(coding[0], row.float(), rtol=0, atol=1e-3)
            torch.testing.assert_close(coding[1], column.float(), rtol=0, atol=1e-3)
    assert n_plain > 50
    assert mirrored == {True, False}
    tops, lefts = zip(*places, strict=True)
    # All 21 positions along each axis, both ends included; one of them is left out by
    # 200 draws with probability 21 (20 / 21)^200 = 0.1% per axis.
    assert set(tops) == set(range(21))
    assert set(lefts) == set(range(21))


def disc(height, width, row, column, radius):
    rows, columns = np.mgrid[:height, :width]
    inside = (rows - row) ** 2 + (columns - column) ** 2 <= radius**2
    image = np.where(inside[..., None], 255, 0).astype(np.uint8).repeat(3, axis=2)
    return Pair(image, np.where(inside, 2.0, 5.0).astype(np.float32))


def centroid(weights):
    rows, columns = np.mgrid[: weights.shape[0], : weights.shape[1]]
    return (
        np.array([(weights * axis).sum() for axis in (rows, columns)]) / weights.sum()
    )


@pytest.mark.parametrize("degrees", [-20.0, -2.5, -1.0, 1.5, 2.5, 20.0])
def test_rotation_moves_image_and_depth_to_the_same_place(degrees):
    place, middle = np.array([30.0, 110.0]), np.array([50.0, 70.0])
    image, depth = _rotated(disc(101, 141, *place, 12), degrees)
    # Anticlockwise about the middle, with rows that count downwards.
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    expected = middle + np.array([[cos, -sin], [sin, cos]]) @ (place - middle)
    np.testing.assert_allclose(centroid(image[..., 0]), expected, atol=0.02)
    # The nearest pixel is within half of one in each direction.
    np.testing.assert_allclose(centroid(depth == 2), expected, atol=0.5)


def test_image_and_depth_agree_on_average_over_angles():
    pair = disc(101, 141, 30, 110, 12)
    apart = []
    for degrees in np.linspace(-2.5, 2.5, 101):
        image, depth = _rotated(pair, degrees)
        apart.append(centroid(image[..., 0]) - centroid(depth == 2))
    # Half a pixel of systematic shift would show.
    np.testing.assert_allclose(np.mean(apart, axis=0), 0, atol=0.1)


@pytest.mark.parametrize("degrees", [2.5, 20.0])
def test_angles_are_uniform_between_the_bounds(degrees):
    place, middle = np.array([30.0, 110.0]), np.array([50.0, 70.0])
    pair = disc(101, 141, *place, 12)
    augmentation = Augmentation((101, 141), degrees, remove_border=False)
    angles = []
    for image, _ in draws(augmentation, pair, 60):
        red = image[0].numpy() * 0.229 + 0.485
        offset = centroid(red) - middle
        offset[1] = abs(offset[1])
        angle = np.arctan2(*offset) - np.arctan2(*(place - middle))
        angles.append(np.degrees(angle))
    angles = np.array(angles)
    # The centre of the disc tells the angle to a twentieth of a degree.
    assert abs(angles).max() < degrees + 0.05
    # The mean of 60 draws has a standard deviation of degrees / 13.
    assert angles.mean() == pytest.approx(0, abs=0.3 * degrees)
    assert angles.std() == pytest.approx(degrees / 3**0.5, rel=0.3)
    assert angles.max() > 0.8 * degrees
    assert angles.min() < -0.8 * degrees


def test_rotation_interpolates_no_depth_and_keeps_gaps(nyu_pairs):
    pair = nyu_pairs[0]
    known = np.unique(remove_border(pair, "").depth)
    assert known[0] == 0
    for _, depth in draws(Augmentation(), pair, 4):
        assert depth.shape == (1, 416, 544)
        assert np.isin(depth.numpy(), known).all()
        # Of the pixels nearly a third is missing, before and after.
        before = (remove_border(pair, "").depth == 0).mean()
        assert (depth == 0).float().mean().item() == pytest.approx(before, abs=0.05)


@pytest.mark.parametrize("degrees", [-20.0, 2.5, 10.0, 45.0])
def test_pixels_rotated_in_from_outside_have_no_depth(degrees):
    image, depth = _rotated(uniform(200, 201, 201), degrees)
    # Two squares that share their middle overlap in 2 / (1 + sin + cos) of one.
    angle = np.radians(abs(degrees))
    overlap = 2 / (1 + np.sin(angle) + np.cos(angle))
    assert (depth == 1).mean() == pytest.approx(overlap, abs=0.005)
    assert ((depth == 1) | (depth == 0)).all()
    # It is black, up to where the two ways of sampling differ along the rim.
    assert ((depth == 0) != (image == 0).all(axis=2)).mean() < 0.005


# Colours


def test_colour_jitter_has_the_ranges_of_the_method():
    value = 100
    level = value / 255
    means = torch.stack(
        [colours(image)[:, 0, 0] for image, _ in draws(SMALL, uniform(value), 2000)]
    ).double()
    is_plain = ((means - level).abs() < 1e-6).all(1)
    # Half are left alone: 2000 draws have a standard deviation of 1.1%.
    assert is_plain.double().mean() == pytest.approx(0.5, abs=0.05)
    changed = means[~is_plain]
    # The extremes come with the smallest gamma and the largest factors, as level < 1.
    low, high = level**1.1 * 0.75 * 0.9, level**0.9 * 1.25 * 1.1
    assert changed.min() > low
    assert changed.max() < high
    span = high - low
    assert changed.min() < low + 0.1 * span
    assert changed.max() > high - 0.1 * span
    # Between channels the colour factors alone differ.
    ratio = changed[:, 0] / changed[:, 1]
    assert 0.9 / 1.1 < ratio.min() < 0.85
    assert 1.17 < ratio.max() < 1.1 / 0.9
    # Expected values, by independence: E[level^gamma] E[brightness] E[colour].
    expected = (level**1.1 - level**0.9) / np.log(level) / 0.2
    assert changed.mean() == pytest.approx(expected, rel=0.02)


def test_gamma_changes_the_contrast():
    # Brightness and colour cancel in the ratio of two greys, gamma does not.
    image = np.full((30, 40, 3), 40, np.uint8)
    image[:, ::2] = 120
    pair = Pair(image, np.ones((30, 40), np.float32))
    gammas = []
    for tensor, _ in draws(SMALL, pair, 400):
        red = colours(tensor)[0].double()
        gammas.append(math.log(red.max() / red.min(), 3))
    gammas = np.array(gammas)
    changed = gammas[abs(gammas - 1) > 1e-5]
    assert 150 < len(changed) < 250
    assert 0.9 - 1e-4 < changed.min() < 0.91
    assert 1.09 < changed.max() < 1.1 + 1e-4
    assert changed.mean() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("value", [0, 250, 255])
def test_colours_stay_between_0_and_1(value):
    values = torch.stack([colours(i) for i, _ in draws(SMALL, uniform(value), 50)])
    assert values.min() >= -1e-6
    assert values.max() <= 1 + 1e-6
    if value == 250:
        assert (values > 1 - 1e-6).any()


def test_colour_jitter_never_touches_the_depth():
    pair = coded(30, 40)
    results = draws(SMALL, pair, 40)
    jittered = [depth for image, depth in results if not without_jitter(image, depth)]
    assert len(jittered) > 5
    for depth in jittered:
        plain = depth if depth[0, 0, 0] < depth[0, 0, -1] else depth.flip(-1)
        np.testing.assert_array_equal(plain[0], pair.depth)


def test_half_of_the_images_are_mirrored_whether_jittered_or_not():
    table = np.zeros((2, 2))
    for image, depth in draws(SMALL, coded(30, 40), 800):
        is_mirrored = bool(depth[0, 0, 0] > depth[0, 0, -1])
        table[int(is_mirrored), int(without_jitter(image, depth))] += 1
    # Four equal cells; each has a standard deviation of 12.
    np.testing.assert_allclose(table, 200, atol=60)


# Settings


def test_image_smaller_than_the_crop_is_named():
    pair = coded(30, 39)
    with pytest.raises(ValueError, match="has 39 x 30 pixels") as caught:
        SMALL(pair, np.random.default_rng(0), "kitchen.png")
    expected = "kitchen.png has 39 x 30 pixels, too few to crop 40 x 30"
    assert str(caught.value) == expected
    with pytest.raises(ValueError, match="565 x 427 pixels, too few to crop 544 x 428"):
        Augmentation((428, 544))(coded(480, 640), np.random.default_rng(0))


@pytest.mark.parametrize("settings", [{"crop_size": (0, 5)}, {"max_degrees": -1.0}])
def test_bad_augmentation_settings_are_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"{name} must"):
        Augmentation(**settings)
