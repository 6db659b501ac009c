import numpy as np
import pytest

pytest.importorskip("torch")

from betanll_paper.depth.pairs import Selection, split_by_scene
from betanll_paper.depth.rooms import raycast as _raycast
from betanll_paper.depth.rooms import scenes as _scenes
from betanll_paper.depth.rooms.raycast import (
    Boxes,
    camera_at,
    distance_to_boxes,
    is_shaded,
    render,
)
from betanll_paper.depth.rooms.scenes import SyntheticScenes, make_rooms
from betanll_paper.depth.rooms.sensor import sensor_noise

pytestmark = pytest.mark.torch

SIZE = (96, 128)


@pytest.fixture(scope="module")
def scenes():
    return SyntheticScenes(30, views=2, seed=3)


@pytest.fixture(scope="module")
def pairs(scenes):
    return list(scenes)


@pytest.fixture(scope="module")
def exact(scenes):
    return np.stack([scenes.exact(index) for index in range(len(scenes))])


def test_pairs_are_images_with_depth(scenes, pairs):
    assert len(pairs) == len(scenes) == 60
    for image, depth in pairs:
        assert image.shape == (96, 128, 3)
        assert image.dtype == np.uint8
        assert image.flags.c_contiguous
        assert depth.shape == (96, 128)
        assert depth.dtype == np.float32
        assert image.std() > 5
        assert 30 < image.mean() < 225


def test_measured_depth_is_zero_or_between_zero_and_ten_metres(pairs):
    depth = np.stack([pair.depth for pair in pairs])
    valid = depth > 0
    assert (depth[~valid] == 0).all()
    assert depth[valid].min() > 0.25
    assert depth.max() < 10
    shares = 1 - valid.mean((1, 2))
    assert 0.05 < shares.mean() < 0.25
    assert shares.min() > 0.005


def test_exact_depth_is_complete_and_within_range(exact):
    assert exact.dtype == np.float32
    assert exact.min() > 0.3
    assert exact.max() < 10
    # Rooms of many sizes, seen from many places.
    assert np.ptp(np.median(exact, axis=(1, 2))) > 1.5


def test_noise_of_the_scenes_grows_with_depth_as_the_sensor_says(pairs, exact):
    measured = np.stack([pair.depth for pair in pairs]).astype(float)
    truth = exact.astype(float)
    for low, high in ((1.0, 1.5), (1.5, 2.5), (2.5, 4.0), (4.0, 6.0)):
        bin_ = (measured > 0) & (truth > low) & (truth < high)
        n = bin_.sum()
        assert n > 10_000
        std = np.sqrt(sensor_noise(truth[bin_]) ** 2 + 0.001**2 / 12)
        z = (measured[bin_] - truth[bin_]) / std
        # Five standard errors.
        assert abs(z.mean()) < 5 / np.sqrt(n)
        assert abs(z.std() - 1) < 5 / np.sqrt(2 * n)


def test_same_seed_gives_the_same_bits_in_any_order_and_number(scenes, pairs, exact):
    fewer = SyntheticScenes(5, views=2, seed=3)
    for index in (9, 2, 3):
        image, depth = fewer[index]
        np.testing.assert_array_equal(image, pairs[index].image)
        np.testing.assert_array_equal(depth, pairs[index].depth)
        np.testing.assert_array_equal(fewer.exact(index), exact[index])
    # The views of a scene are the first of its views, however many there are.
    more_views = SyntheticScenes(5, views=3, seed=3)
    np.testing.assert_array_equal(more_views[3 * 4 + 1].depth, pairs[9].depth)


def test_seeds_scenes_and_views_differ(exact):
    other = SyntheticScenes(1, views=1, seed=4).exact(0)
    assert not np.array_equal(other, exact[0])
    assert len({depth.tobytes() for depth in exact}) == len(exact)


def test_views_of_a_scene_share_the_room(scenes):
    (first, camera, _), (second, other_camera, _) = map(scenes._visit, (8, 9))
    np.testing.assert_array_equal(first.extent, second.extent)
    np.testing.assert_array_equal(first.boxes.centre, second.boxes.centre)
    np.testing.assert_array_equal(first.materials.colours, second.materials.colours)
    assert not np.array_equal(camera.position, other_camera.position)
    assert scenes.scene(8) == scenes.scene(9) == "synthetic-3-00004"
    assert scenes.scene(10) == "synthetic-3-00005"


@pytest.mark.parametrize("size", [(96, 128), (40, 40), (30, 64)])
def test_larger_images_show_the_same_view(size):
    # The middle of every third pixel of an image three times as large is the middle of
    # a pixel of the smaller one.
    small = SyntheticScenes(2, size=size).exact(5)
    large = SyntheticScenes(2, size=(3 * size[0], 3 * size[1])).exact(5)
    np.testing.assert_allclose(small, large[1::3, 1::3], rtol=1e-6)


@pytest.mark.parametrize("size", [(480, 640), (240, 640), (480, 100)])
def test_no_field_of_view_is_wider_than_nyu(size):
    assert camera_at((1, 1, 1), yaw=0.0, size=size).focal == pytest.approx(518.86)


def test_rooms_contain_their_furniture_and_cameras_have_space():
    scenes = SyntheticScenes(60, views=1, seed=11)
    for index in range(len(scenes)):
        room, camera, _ = scenes._visit(index)
        width, length, height = room.extent
        assert min(width, length) >= 3
        assert np.hypot(width, length) <= 9
        assert 2.4 <= height <= 3
        corners = _raycast._corners(room.boxes)
        assert (corners > -1e-6).all()
        assert (corners < room.extent + 1e-6).all()
        assert len(room.surface_material) == 6 * (1 + len(room.boxes.yaw))
        assert room.surface_material.max() < len(room.materials.kind)
        assert 1 <= camera.position[2] <= 1.8
        assert distance_to_boxes(camera.position[None], room.boxes)[0] > 0.4
        assert (camera.position[:2] > 0.4).all()
        assert (camera.position[:2] < room.extent[:2] - 0.4).all()
        for light in room.lights:
            assert light.position[2] > corners[..., 2].max()


def test_camera_stands_on_the_free_spot_of_a_room_that_is_full(scenes):
    room = scenes._visit(0)[0]
    spot = room.free_spot
    x, y, height = room.extent
    # Everything but a square about the spot is filled to the ceiling.
    low, high = spot - 0.5, spot + 0.5
    slabs = [
        ((0, 0), (low[0], y)),
        ((high[0], 0), (x, y)),
        ((0, 0), (x, low[1])),
        ((0, high[1]), (x, y)),
    ]
    full = Boxes(
        np.array(
            [[(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, height / 2] for a, b in slabs]
        ),
        np.array(
            [[(b[0] - a[0]) / 2, (b[1] - a[1]) / 2, height / 2] for a, b in slabs]
        ),
        np.zeros(4),
    )
    camera = _scenes._place_camera(
        room._replace(boxes=full), SIZE, rng=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(camera.position[:2], spot)
    assert render(camera, room.extent, full).depth.min() > 0.3


def test_room_without_furniture_is_a_scene(monkeypatch):
    monkeypatch.setattr(_scenes, "_find_place", lambda *_, **__: None)
    scenes = SyntheticScenes(1)
    room, camera, _ = scenes._visit(0)
    assert (render(camera, room.extent, room.boxes).surface < 6).all()
    assert scenes[0].image.shape == (96, 128, 3)


def test_indices_are_those_of_a_sequence(scenes, pairs):
    np.testing.assert_array_equal(scenes[-1].depth, pairs[-1].depth)
    assert scenes.scene(np.int64(59)) == scenes.scene(-1) == "synthetic-3-00029"
    for index in (60, -61):
        with pytest.raises(IndexError, match=f"no pair {index} among 60"):
            scenes[index]


def test_training_validation_and_test_rooms_differ():
    parts = make_rooms(3, 2)
    assert [len(pairs) for pairs in parts] == [12, 8, 8]
    names = [{pairs.scene(i) for i in range(len(pairs))} for pairs in parts]
    assert len(set.union(*names)) == 3 + 2 + 2


def test_parts_have_no_scene_in_common(scenes):
    first, second = split_by_scene(scenes, 0.2, seed=0)
    assert isinstance(second, Selection)
    names = [{part.scene(i) for i in range(len(part))} for part in (first, second)]
    assert (len(first), len(second)) == (48, 12)
    assert names[0].isdisjoint(names[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_scenes": 0}, "n_scenes must be a whole number of at least 1, got 0"),
        ({"n_scenes": 2.5}, "n_scenes must be a whole number of at least 1, got 2.5"),
        ({"views": 0}, "views must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"size": (4, 128)}, r"size must be .* at least 8 pixels, got \(4, 128\)"),
        ({"size": (96, 128, 3)}, "size must be a height and a width"),
        ({"size": (96.0, 128)}, "size must be a height and a width"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SyntheticScenes(**{"n_scenes": 3, **arguments})


def test_windows_around_boxes_lose_nothing(monkeypatch, scenes):
    room, camera, _ = scenes._visit(7)
    light = room.lights[0].position
    culled = render(camera, room.extent, room.boxes)
    shaded = is_shaded(camera, culled.point, light, room.boxes)
    everywhere = np.tile([0, SIZE[0], 0, SIZE[1]], (len(room.boxes.yaw), 1))
    monkeypatch.setattr(_raycast, "_windows", lambda *_: everywhere)
    whole = render(camera, room.extent, room.boxes)
    np.testing.assert_array_equal(culled.depth, whole.depth)
    np.testing.assert_array_equal(culled.surface, whole.surface)
    assert shaded.any()
    np.testing.assert_array_equal(
        shaded, is_shaded(camera, whole.point, light, room.boxes)
    )
