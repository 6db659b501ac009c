"""Render a room with boxes: a ray for each pixel of a pinhole camera, nearest hit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Focal length in pixels of the NYUv2 camera, whose images have 480 x 640 pixels.
_NYU_FOCAL, _NYU_HEIGHT, _NYU_WIDTH = 518.86, 480, 640
#: Replaces the zero component of a direction that is parallel to a face.
_NEARLY_ZERO = 1e-12
#: Boxes nearer to the plane of the camera than this may appear anywhere.
_NEAR_PLANE = 0.05
_SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


class Camera(NamedTuple):
    """A pinhole camera with its principal point in the middle of the image."""

    #: In metres; the third coordinate is the height.
    position: Floats
    #: Directions to the right, down and forward, as rows.
    axes: Floats
    #: Height and width in pixels.
    size: tuple[int, int]

    @property
    def focal(self) -> float:
        """Focal length in pixels; no field of view is wider than in NYUv2."""
        height, width = self.size
        return _NYU_FOCAL * max(height / _NYU_HEIGHT, width / _NYU_WIDTH)


class Boxes(NamedTuple):
    """Upright boxes: centre and half edges ``(n, 3)``, and yaw ``(n,)`` in radians."""

    centre: Floats
    half: Floats
    yaw: Floats


class View(NamedTuple):
    """The visible surface at each pixel; the last axes are height and width."""

    #: Along the optical axis.
    depth: Floats
    #: 6 * box + face, where box 0 is the room and face is 2 * axis, plus 1 on the side
    #: of the larger coordinate.
    surface: npt.NDArray[np.intp]
    #: The point where the ray ends, ``(3, ...)``.
    point: Floats
    #: Normal of the surface, towards the camera, ``(3, ...)``.
    normal: Floats
    #: Coordinates on the surface from its middle, in metres, ``(2, ...)``.
    place: Floats
    #: Cosine of the angle between ray and normal, 1 where the surface is seen head-on.
    facing: Floats


def camera_at(
    position: npt.ArrayLike,
    *,
    yaw: float,
    pitch: float = 0.0,
    roll: float = 0.0,
    size: tuple[int, int],
) -> Camera:
    """Return a camera with a yaw (0 is the first axis) and an upward pitch."""
    forward = np.array(
        [np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)]
    )
    level = np.array([np.sin(yaw), -np.cos(yaw), 0.0])
    steep = np.cross(forward, level)
    right = np.cos(roll) * level + np.sin(roll) * steep
    down = np.cos(roll) * steep - np.sin(roll) * level
    return Camera(np.asarray(position, float), np.stack([right, down, forward]), size)


def rays(camera: Camera) -> Floats:
    """Return the direction through each pixel, ``(3, height, width)``.

    Its component along the optical axis is 1: a point at depth times direction has this
    depth.
    """
    height, width = camera.size
    across = (np.arange(width) + 0.5 - width / 2) / camera.focal
    downwards = (np.arange(height) + 0.5 - height / 2) / camera.focal
    right, down, forward = camera.axes[:, :, None, None]
    directions = right * across + down * downwards[:, None] + forward
    return np.where(directions == 0, _NEARLY_ZERO, directions)


def render(camera: Camera, room: npt.ArrayLike, boxes: Boxes) -> View:
    """Return the view of a camera that is in the room and outside the boxes.

    The room extends from the origin to the corner `room`.
    """
    room = np.asarray(room, float)
    directions = rays(camera)
    depth, surface = _room_exit(camera.position, directions, room)
    windows = _windows(camera, _corners(boxes))
    for number, window, start in _seen(boxes, windows, camera.position):
        along = _in_box(directions[(slice(None), *window)], boxes.yaw[number])
        enter, near, far = _cross(start, along, boxes.half[number])
        is_hit = (near < far) & (near > 0) & (near < depth[window])
        axis = enter[:, is_hit].argmax(0)
        side = np.take_along_axis(along[:, is_hit], axis[None], 0)[0] < 0
        depth[window][is_hit] = near[is_hit]
        surface[window][is_hit] = 6 * (number + 1) + 2 * axis + side
    return _describe(camera, directions, depth, surface, room, boxes)


def is_shaded(
    camera: Camera, points: Floats, light: npt.ArrayLike, boxes: Boxes
) -> npt.NDArray[np.bool_]:
    """Mark the pixels for which a box stands between the light and the visible point.

    The points ``(3, height, width)`` are those of a :class:`View`, above the floor.
    """
    light = np.asarray(light, float)
    directions = points - light[:, None, None]
    # The shadow lies between the box and its projection on the floor. All pixels are
    # tested if the box reaches as high as the light.
    corners = _corners(boxes)
    below = light[2] - corners[..., 2:]
    is_below = (below > 0.01).all((1, 2))
    thrown = light + light[2] / np.where(below > 0.01, below, 1) * (corners - light)
    windows = _windows(camera, np.concatenate([corners, thrown], axis=1))
    windows[~is_below] = [0, camera.size[0], 0, camera.size[1]]
    shaded = np.zeros(camera.size, bool)
    for number, window, start in _seen(boxes, windows, light):
        along = _in_box(directions[(slice(None), *window)], boxes.yaw[number])
        _, near, far = _cross(start, along, boxes.half[number])
        # A point on the box itself is at 1, up to rounding.
        shaded[window] |= (near < far) & (far > 0) & (near < 0.998)
    return shaded


def distance_to_boxes(points: Floats, boxes: Boxes) -> Floats:
    """Return the distance of points ``(n, 3)`` to the nearest box, 0 inside one."""
    offset = points.T[..., None] - boxes.centre.T[:, None]
    outside = np.abs(_in_box(offset, boxes.yaw)) - boxes.half.T[:, None]
    distance: Floats = np.sqrt((np.maximum(outside, 0) ** 2).sum(0))
    return distance.min(-1, initial=np.inf)


def _room_exit(
    position: Floats, directions: Floats, room: Floats
) -> tuple[Floats, npt.NDArray[np.intp]]:
    is_up = directions > 0
    start, extent = (array.reshape(3, 1, 1) for array in (position, room))
    distances = (np.where(is_up, extent, 0) - start) / directions
    axis = distances.argmin(0)
    side = np.take_along_axis(is_up, axis[None], 0)[0]
    return distances.min(0), 2 * axis + side


def _in_box(vectors: Floats, yaw: npt.ArrayLike) -> Floats:
    """Return vectors ``(3, ...)`` along the edges of boxes, none of them zero."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    turned = np.empty_like(vectors)
    turned[0] = cos * vectors[0] + sin * vectors[1]
    turned[1] = cos * vectors[1] - sin * vectors[0]
    turned[2] = vectors[2]
    turned[turned == 0] = _NEARLY_ZERO
    return turned


def _cross(start: Floats, along: Floats, half: Floats) -> tuple[Floats, Floats, Floats]:
    """Return where rays enter each pair of opposite faces, the box, and leave the box.

    A ray misses the box if it leaves the space between one pair of faces before it
    enters the space between another.
    """
    inverse = 1 / along
    middle = -start[:, None, None] * inverse
    reach = half[:, None, None] * np.abs(inverse)
    enter = middle - reach
    return enter, enter.max(0), (middle + reach).min(0)


def _seen(
    boxes: Boxes, windows: npt.NDArray[np.intp], start: Floats
) -> Iterator[tuple[int, tuple[slice, slice], Floats]]:
    """Yield boxes with a window that is not empty, and the start of rays in the box."""
    starts = _in_box((start - boxes.centre).T, boxes.yaw).T
    for number, (top, bottom, left, right) in enumerate(windows.tolist()):
        if top < bottom and left < right:
            yield number, (slice(top, bottom), slice(left, right)), starts[number]


def _corners(boxes: Boxes) -> Floats:
    """Return the corners of boxes, ``(n, 8, 3)``."""
    x, y, z = (_SIGNS * boxes.half[:, None]).transpose(2, 0, 1)
    cos, sin = np.cos(boxes.yaw)[:, None], np.sin(boxes.yaw)[:, None]
    turned = np.stack([cos * x - sin * y, sin * x + cos * y, z], axis=-1)
    return boxes.centre[:, None] + turned


def _windows(camera: Camera, corners: Floats) -> npt.NDArray[np.intp]:
    """Return windows of pixels around convex hulls of corners ``(n, n_corners, 3)``.

    A window is first row, last row + 1, first column, last column + 1.
    """
    height, width = camera.size
    across, downwards, ahead = np.moveaxis(
        (corners - camera.position) @ camera.axes.T, -1, 0
    )
    reaches_behind = ahead.min(1) < _NEAR_PLANE
    scale = camera.focal / np.maximum(ahead, _NEAR_PLANE)
    bounds = []
    for coordinate, n_pixels in ((downwards, height), (across, width)):
        pixels = np.clip(coordinate * scale + n_pixels / 2, 0, n_pixels)
        bounds += [
            np.where(reaches_behind, 0, np.floor(pixels.min(1))),
            np.where(reaches_behind, n_pixels, np.ceil(pixels.max(1))),
        ]
    windows = np.stack(bounds, axis=-1).astype(np.intp)
    windows[ahead.max(1) <= 0] = 0
    return windows


def _describe(
    camera: Camera,
    directions: Floats,
    depth: Floats,
    surface: npt.NDArray[np.intp],
    room: Floats,
    boxes: Boxes,
) -> View:
    """Return the view that follows from depth and surface."""
    point = camera.position[:, None, None] + depth * directions
    first, second, outward, middle = _frames(room, boxes)
    normal = outward[:, surface]
    place = np.stack(
        [
            (point * first[:, surface]).sum(0) - middle[0, surface],
            (point * second[:, surface]).sum(0) - middle[1, surface],
        ]
    )
    facing = -(directions * normal).sum(0) / np.sqrt((directions**2).sum(0))
    return View(depth, surface, point, normal, place, facing)


def _frames(room: Floats, boxes: Boxes) -> tuple[Floats, Floats, Floats, Floats]:
    """Return two axes and the normal of each surface, and its middle along the axes."""
    centre = np.concatenate([room[None] / 2, boxes.centre])
    yaw = np.concatenate([[0.0], boxes.yaw])
    cos, sin, zero, one = (
        np.cos(yaw),
        np.sin(yaw),
        np.zeros_like(yaw),
        np.ones_like(yaw),
    )
    # (edge, coordinate, box), then (coordinate, surface): the faces come in pairs.
    edges = np.array([[cos, sin, zero], [-sin, cos, zero], [zero, zero, one]])
    first, second, outward = (
        edges[order].transpose(1, 2, 0).reshape(3, -1)
        for order in ([1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1], [0, 0, 1, 1, 2, 2])
    )
    outward *= np.tile([-1, 1], 3 * len(yaw))
    outward[:, :6] *= -1  # The room is seen from inside.
    centres = centre.repeat(6, axis=0).T
    middle = np.stack([(centres * first).sum(0), (centres * second).sum(0)])
    return first, second, outward, middle
