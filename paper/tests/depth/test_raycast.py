import numpy as np
import pytest

pytest.importorskip("torch")

from betanll_paper.depth.rooms.raycast import (
    Boxes,
    camera_at,
    distance_to_boxes,
    is_shaded,
    rays,
    render,
)

pytestmark = pytest.mark.torch

SIZE = (96, 128)
ROOM = (6.0, 4.0, 3.0)
EMPTY = Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))
FOCAL = 518.86 * 128 / 640
#: Coordinates of the pixels' middles in an image plane at distance 1.
ACROSS, DOWN = np.meshgrid(
    (np.arange(128) + 0.5 - 64) / FOCAL, (np.arange(96) + 0.5 - 48) / FOCAL
)


def box(centre, half, yaw=0.0):
    return Boxes(np.array([centre], float), np.array([half], float), np.array([yaw]))


def straight(size=SIZE):
    """A level camera that looks along the first axis at the wall 5 m away."""
    return camera_at((1.0, 2.0, 1.5), yaw=0.0, size=size)


def test_depth_of_a_wall_seen_head_on_is_constant_while_the_distance_is_not():
    view = render(straight(), ROOM, EMPTY)
    wall = view.surface == 1
    assert wall[48, 64]
    np.testing.assert_allclose(view.depth[wall], 5, rtol=1e-12)
    distance = np.linalg.norm(view.point - [[[1]], [[2]], [[1.5]]], axis=0)
    stretch = np.sqrt(1 + ACROSS**2 + DOWN**2)
    np.testing.assert_allclose(distance[wall], 5 * stretch[wall], rtol=1e-12)
    np.testing.assert_allclose(view.facing[wall], 1 / stretch[wall], rtol=1e-12)


def test_floor_and_side_walls_recede_as_one_over_the_pixel_coordinate():
    view = render(straight(), ROOM, EMPTY)
    # Half the width and half the height of the room are in front of the camera.
    lateral, vertical = 2 / np.abs(ACROSS), 1.5 / np.abs(DOWN)
    expected = np.minimum(5, np.minimum(lateral, vertical))
    np.testing.assert_allclose(view.depth, expected, rtol=1e-12)
    assert set(np.unique(view.surface[-1])) <= {2, 3, 4}
    assert (view.surface[-1, 40:88] == 4).all()
    assert (view.surface[0, 40:88] == 5).all()


def test_left_of_the_image_is_left_of_the_view():
    # Along the first axis, the second axis points to the left.
    view = render(straight(), ROOM, box((3, 3, 1.5), (0.2, 0.2, 0.2)))
    columns = np.flatnonzero((view.surface >= 6).any(0))
    assert columns.size
    assert columns.max() < 64


@pytest.mark.parametrize("yaw", [0.3, 2.0, -1.1])
@pytest.mark.parametrize(("pitch", "roll"), [(0.0, 0.0), (-0.3, 0.1), (0.15, -0.05)])
def test_points_lie_on_the_surfaces_and_depth_is_along_the_optical_axis(
    yaw, pitch, roll
):
    camera = camera_at((2.2, 1.7, 1.4), yaw=yaw, pitch=pitch, roll=roll, size=SIZE)
    np.testing.assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(camera.axes) == pytest.approx(1)
    assert camera.axes[2, 2] == pytest.approx(np.sin(pitch))
    np.testing.assert_allclose(np.tensordot(camera.axes[2], rays(camera), 1), 1)
    view = render(camera, ROOM, EMPTY)
    offset = view.point - camera.position[:, None, None]
    np.testing.assert_allclose(np.tensordot(camera.axes[2], offset, 1), view.depth)
    np.testing.assert_allclose(
        np.tensordot(camera.axes[0], offset, 1), ACROSS * view.depth, atol=1e-12
    )
    np.testing.assert_allclose(
        np.tensordot(camera.axes[1], offset, 1), DOWN * view.depth, atol=1e-12
    )
    axis, side = np.divmod(view.surface, 2)
    where = np.take_along_axis(view.point, axis[None], 0)[0]
    np.testing.assert_allclose(where, side * np.array(ROOM)[axis], atol=1e-12)
    towards_camera = -(view.normal * offset).sum(0)
    assert (towards_camera > 0).all()


def test_positive_roll_turns_the_camera_clockwise():
    camera = camera_at((1, 2, 1.5), yaw=0.0, roll=0.1, size=SIZE)
    # Its right side goes down, so what it sees turns the other way.
    assert camera.axes[0, 2] == pytest.approx(-np.sin(0.1))


def test_box_seen_head_on_fills_the_projected_pixels():
    # Front face at 2 m, 0.6 to either side, from 1.2 m to 1.9 m above the floor.
    boxes = box((3.5, 2.0, 1.55), (0.5, 0.6, 0.35))
    view = render(straight(), ROOM, boxes)
    front = (np.abs(ACROSS) < 0.6 / 2) & (DOWN < 0.3 / 2) & (DOWN > -0.4 / 2)
    np.testing.assert_array_equal(view.surface == 6, front)
    # The camera is between the heights of top and bottom, so it sees no other face.
    np.testing.assert_array_equal(view.surface >= 6, front)
    np.testing.assert_allclose(view.depth[front], 2, rtol=1e-12)
    behind = render(straight(), ROOM, EMPTY)
    np.testing.assert_array_equal(view.depth[~front], behind.depth[~front])
    u, v = view.place[:, front]
    np.testing.assert_allclose(u, -2 * ACROSS[front], atol=1e-12)
    np.testing.assert_allclose(v, -2 * DOWN[front] - 0.05, atol=1e-12)


@pytest.mark.parametrize("yaw", [0.4, 1.3, 2.9])
def test_turned_box_looks_as_a_straight_one_to_a_camera_turned_the_other_way(yaw):
    centre, half = np.array([5.0, 5.0, 0.5]), (0.5, 0.9, 0.5)
    offset = np.array([-2.5, 0.4])
    cos, sin = np.cos(yaw), np.sin(yaw)
    back = np.array([[cos, sin], [-sin, cos]]) @ offset
    turned = render(
        camera_at([*centre[:2] + offset, 1.5], yaw=0.1, pitch=-0.2, size=SIZE),
        (10, 10, 3),
        box(centre, half, yaw),
    )
    straight = render(
        camera_at([*centre[:2] + back, 1.5], yaw=0.1 - yaw, pitch=-0.2, size=SIZE),
        (10, 10, 3),
        box(centre, half),
    )
    hit = turned.surface >= 6
    assert hit.sum() > 1000
    assert len(np.unique(turned.surface[hit])) >= 2
    np.testing.assert_array_equal(hit, straight.surface >= 6)
    np.testing.assert_array_equal(turned.surface[hit], straight.surface[hit])
    for name in ("depth", "place", "facing"):
        np.testing.assert_allclose(
            getattr(turned, name)[..., hit],
            getattr(straight, name)[..., hit],
            atol=1e-12,
        )


def test_nearest_of_two_boxes_is_seen_whatever_their_order():
    near, far = box((3, 2, 1.5), (0.1, 0.2, 0.2)), box((4, 2, 1.5), (0.1, 0.9, 0.9))
    for first, second in ((near, far), (far, near)):
        both = Boxes(*map(np.concatenate, zip(first, second, strict=True)))
        depth = render(straight(), ROOM, both).depth
        assert depth[48, 64] == pytest.approx(1.9)
        assert depth[48, 84] == pytest.approx(2.9)


def test_rays_parallel_to_faces_need_no_special_case():
    # With an odd number of pixels the middle ray is parallel to four of the faces.
    size = (97, 129)
    through = render(straight(size), ROOM, box((3, 2, 1.5), (0.5, 0.3, 0.3)))
    assert through.depth[48, 64] == pytest.approx(1.5)
    beside = render(straight(size), ROOM, box((3, 2.5, 1.5), (0.5, 0.3, 0.3)))
    assert beside.depth[48, 64] == pytest.approx(5)
    # It lies in the plane of a face, and the pixels to its left see the front.
    along = render(straight(size), ROOM, box((3, 2.3, 1.5), (0.5, 0.3, 0.3)))
    assert along.depth[48, 63] == pytest.approx(1.5)
    assert along.depth[48, 65] == pytest.approx(5)
    assert np.isfinite(along.depth).all()


def test_shadow_on_the_floor_is_the_outline_seen_from_the_light():
    # A lamp 2 m above the floor over the middle of a tile that floats 0.5 m above it.
    boxes = box((3, 2, 0.5), (0.3, 0.2, 0.005))
    camera = camera_at((3.0, 2.0, 2.9), yaw=0.0, pitch=-np.pi / 2, size=SIZE)
    view = render(camera, ROOM, boxes)
    shaded = is_shaded(camera, view.point, (3.0, 2.0, 2.0), boxes)
    floor = view.surface == 4
    reach = 2 / (2 - 0.495)
    x, y = np.abs(view.point[:2] - [[[3]], [[2]]]) / reach
    inside = (x < 0.3) & (y < 0.2)
    # The lower edge of the tile throws the outline, the upper one a little more.
    edge = (np.abs(x - 0.3) < 0.005) | (np.abs(y - 0.2) < 0.005)
    assert (floor & inside).sum() > 20
    np.testing.assert_array_equal(shaded[floor & ~edge], inside[floor & ~edge])
    assert not shaded[view.surface >= 6].any()


def test_light_below_the_top_of_a_box_is_stopped_by_it():
    boxes = box((3, 2, 1.5), (0.2, 0.5, 1.5))
    view = render(straight(), ROOM, boxes)
    behind = (view.surface == 1) & (np.abs(view.point[1] - 2) > 1)
    shaded = is_shaded(straight(), view.point, (1.0, 0.5, 1.0), boxes)
    # From this light the box hides the wall at 6 m from y = 2 to y = 4 and beyond.
    assert shaded[behind & (view.point[1] > 3)].all()
    assert not shaded[behind & (view.point[1] < 1)].any()


def test_distance_to_boxes():
    points = np.array([[3.0, 2, 1], [5, 2, 1], [4, 3, 1], [3, 2, 4]])
    flat = distance_to_boxes(points, box((3, 2, 1), (1, 0.5, 2)))
    np.testing.assert_allclose(flat, [0, 1, 0.5, 1], atol=1e-9)
    turned = distance_to_boxes(points, box((3, 2, 1), (1, 0.5, 2), np.pi / 2))
    np.testing.assert_allclose(turned, [0, 1.5, 0.5, 1], atol=1e-9)
    np.testing.assert_array_equal(distance_to_boxes(points, EMPTY), np.inf)
