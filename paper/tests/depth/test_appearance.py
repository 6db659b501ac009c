import numpy as np
import pytest

pytest.importorskip("torch")

from betanll_paper.depth.rooms.appearance import Light, Materials, albedo, photograph
from betanll_paper.depth.rooms.raycast import Boxes, camera_at, render

pytestmark = pytest.mark.torch

SIZE = (96, 128)
ROOM = (6.0, 4.0, 3.0)
EMPTY = Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))
FOCAL = 518.86 * 128 / 640


def straight(size=SIZE):
    """A level camera that looks along the first axis at the wall 5 m away."""
    return camera_at((1.0, 2.0, 1.5), yaw=0.0, size=size)


def materials(kind, period=0.5):
    """One texture between black and white."""
    return Materials(
        np.array([kind]),
        np.array([[[0.0] * 3, [1.0] * 3]]),
        np.array([[period, period]]),
        np.zeros(1),
        np.random.default_rng(0).random((64, 64)),
    )


def test_plain_surfaces_have_their_first_colour():
    view = render(straight(), ROOM, EMPTY)
    everywhere = np.zeros(SIZE, np.intp)
    assert not albedo(view, everywhere, materials(0), FOCAL).any()


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_textures_stick_to_surfaces_and_keep_their_size_in_metres(kind):
    # Seen from twice as near, twice as large: every pixel of the near view lies on the
    # far view's texture at half the offset from the middle.
    size = (97, 129)
    far = straight(size)
    near = camera_at((3.5, 2, 1.5), yaw=0.0, size=size)
    pictures = [
        albedo(
            render(camera, (6, 40, 30), EMPTY),
            np.zeros(size, np.intp),
            materials(kind, 1.5),
            camera.focal,
        )
        for camera in (far, near)
    ]
    small, large = pictures[0][0], pictures[1][0]
    # The middles of these pixels show the same points; the width of the edges differs.
    same = np.abs(small[24:73, 32:97] - large[::2, ::2])
    assert np.median(same) < 0.01
    assert np.ptp(small[24:73, 32:97]) > 0.5


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_patterns_finer_than_a_pixel_fade_to_grey(kind):
    view = render(straight(), ROOM, EMPTY)
    everywhere = np.zeros(SIZE, np.intp)
    fine = albedo(view, everywhere, materials(kind, 1e-4), FOCAL)
    np.testing.assert_allclose(fine, 0.5, atol=0.02)


def test_light_falls_off_with_the_squared_distance_and_the_cosine():
    view = render(straight(), ROOM, EMPTY)
    lamp = Light(np.array([2.0, 1.0, 2.5]), np.ones(3), 1.0)
    image = photograph(
        straight(),
        view,
        np.full((3, *SIZE), 0.5),
        [lamp],
        EMPTY,
        rng=np.random.default_rng(0),
    )
    towards = lamp.position[:, None, None] - view.point
    squared = (towards**2).sum(0)
    cosine = (towards * view.normal).sum(0) / np.sqrt(squared)
    arriving = cosine / (squared + 0.5)
    # Linear light, where the image is neither dark nor clipped, is the arriving light
    # times the exposure, plus what comes from everywhere.
    level = image.mean(-1)
    linear = (level / 255) ** 2.2
    usable = (level > 40) & (level < 240)
    assert usable.sum() > 5000
    slope, offset = np.polyfit(arriving[usable], linear[usable], 1)
    assert 0.25 < offset / (slope * arriving.mean()) < 0.65
    residual = linear[usable] - slope * arriving[usable] - offset
    # The noise of the image, at most 0.02 of full scale in each of three channels.
    assert residual.std() < 2.2 * 0.02 / np.sqrt(3)
