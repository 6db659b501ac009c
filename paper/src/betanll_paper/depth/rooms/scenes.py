"""Synthetic rooms with furniture: training pairs where NYUv2 is absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from betanll_paper.depth.pairs import DepthData, InMemory, Pair, Pairs
from betanll_paper.depth.rooms.appearance import (
    Light,
    Materials,
    Role,
    albedo,
    draw_lights,
    draw_materials,
    luminance,
    photograph,
)
from betanll_paper.depth.rooms.furniture import (
    ANYWHERE,
    AT_WALLS,
    ON_WALLS,
    RUGS,
    Part,
    bounds,
    stand,
)
from betanll_paper.depth.rooms.raycast import (
    Boxes,
    Camera,
    Floats,
    camera_at,
    distance_to_boxes,
    render,
)
from betanll_paper.depth.rooms.sensor import measure

#: Longest diagonal of a room, in metres: with its height, nothing is 10 m away.
_LONGEST_DIAGONAL = 9.0
#: Distance of the camera from everything; depth in an image corner is 0.79 of it.
_CLEARANCE = 0.4
_SMALLEST_IMAGE = 8


class Room(NamedTuple):
    """A room and its contents."""

    extent: Floats
    boxes: Boxes
    #: Row of the materials for each surface of :class:`View`.
    surface_material: npt.NDArray[np.intp]
    materials: Materials
    lights: list[Light]
    #: A place on the floor that is never occupied.
    free_spot: Floats


class SyntheticScenes(Pairs):
    """Synthetic rooms: training pairs where NYUv2 is absent.

    A scene is a room with furniture made of boxes, lit by one or two lamps. Its views
    differ in the place of the camera. The depth of a pair imitates a sensor: it has the
    noise of :func:`sensor_noise`, and about a tenth of the pixels is missing, mostly
    beside edges, on dark or slanted surfaces, and in patches.

    Parameters
    ----------
    n_scenes : int
        Number of rooms.
    views : int, default=4
        Images of each room, one after the other.
    size : tuple of int, default=(96, 128)
        Height and width of the images. The size does not change rooms and places. The
        camera is the NYUv2 camera, cropped if the shape is not 3 : 4.
    seed : int, default=0
        A pair depends on seed, scene and view, but not on ``n_scenes``.

    Examples
    --------
    >>> scenes = SyntheticScenes(10, views=2)
    >>> len(scenes), scenes.scene(3)
    (20, 'synthetic-0-00001')
    >>> image, depth = scenes[3]
    >>> image.shape, depth.shape, scenes.exact(3).shape
    ((96, 128, 3), (96, 128), (96, 128))
    """

    def __init__(
        self,
        n_scenes: int,
        *,
        views: int = 4,
        size: tuple[int, int] = (96, 128),
        seed: int = 0,
    ) -> None:
        for name, value, least in (
            ("n_scenes", n_scenes, 1),
            ("views", views, 1),
            ("seed", seed, 0),
        ):
            if not _is_whole(value, least):
                raise ValueError(
                    f"{name} must be a whole number of at least {least}, got {value!r}"
                )
        if len(size) != 2 or not all(_is_whole(n, _SMALLEST_IMAGE) for n in size):
            raise ValueError(
                "size must be a height and a width of at least "
                f"{_SMALLEST_IMAGE} pixels, got {size}"
            )
        self.n_scenes = n_scenes
        self.views = views
        self.size = size
        self.seed = seed

    def __len__(self) -> int:
        return self.n_scenes * self.views

    def __getitem__(self, index: int) -> Pair:
        room, camera, rng = self._visit(index)
        view = render(camera, room.extent, room.boxes)
        material = room.surface_material[view.surface]
        reflected = albedo(view, material, room.materials, camera.focal)
        image = photograph(camera, view, reflected, room.lights, room.boxes, rng=rng)
        depth = measure(
            view.depth, view.facing, luminance(reflected), camera.focal, rng=rng
        )
        return Pair(image, depth)

    def exact(self, index: int) -> npt.NDArray[np.float32]:
        """Return the depth of every pixel of a pair without noise, in metres."""
        room, camera, _ = self._visit(index)
        return render(camera, room.extent, room.boxes).depth.astype(np.float32)

    def scene(self, index: int) -> str:
        return f"synthetic-{self.seed}-{self._scene_and_view(index)[0]:05d}"

    def _scene_and_view(self, index: int) -> tuple[int, int]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"no pair {index} among {len(self)}")
        return divmod(index % len(self), self.views)

    def _visit(self, index: int) -> tuple[Room, Camera, np.random.Generator]:
        """Return room and camera of a pair, and the generator of its noise."""
        scene, view = self._scene_and_view(index)
        of_scene, of_view = (
            np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
            for key in ((scene,), (scene, view))
        )
        room = furnish(rng=of_scene)
        return room, _place_camera(room, self.size, rng=of_view), of_view


def make_rooms(
    n_scenes: int, n_others: int, *, size: tuple[int, int] = (96, 128)
) -> DepthData:
    """Make synthetic rooms, and keep their pairs in memory.

    Parameters
    ----------
    n_scenes : int
        Training rooms, with four views each.
    n_others : int
        Validation rooms, and as many test rooms.
    size : tuple of int, default=(96, 128)
        Height and width of training crops; the images are larger by an eighth.
    """
    height, width = size
    rooms = [
        SyntheticScenes(n, size=(height * 9 // 8, width * 9 // 8), seed=seed)
        for seed, n in enumerate((n_scenes, n_others, n_others))
    ]
    return DepthData(*map(InMemory, rooms))


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int | np.integer) and bool(value >= least)


def furnish(*, rng: np.random.Generator) -> Room:
    """Return a random room."""
    width = rng.uniform(3, 8.4)
    length = rng.uniform(3, np.sqrt(_LONGEST_DIAGONAL**2 - width**2))
    sides = rng.permutation([width, length])
    extent = np.array([*sides, rng.uniform(2.4, 3.0)])
    free_spot = rng.uniform(0.8, sides - 0.8)
    taken = [(np.array([*free_spot - 0.5, 0]), np.array([*free_spot + 0.5, 2]))]
    placed = [Boxes(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))]
    roles: list[Role] = ["wall", "wall", "floor", "ceiling"]
    of_boxes: list[int] = []
    for kinds, is_at_wall, n_pieces in (
        (AT_WALLS, True, 1 + rng.poisson(0.25 * sides.sum())),
        (ON_WALLS, True, 1 + rng.poisson(0.25 * sides.sum())),
        (ANYWHERE, False, 1 + rng.poisson(0.12 * sides.prod())),
        (RUGS, False, rng.integers(0, 2)),
    ):
        for _ in range(n_pieces):
            parts = kinds[rng.integers(len(kinds))](rng)
            # A rug may lie under anything.
            others = [] if kinds is RUGS else taken
            boxes = _find_place(parts, is_at_wall, extent, others, rng=rng)
            if boxes is None:
                continue
            placed.append(boxes)
            taken.append(bounds(boxes))
            of_boxes += [len(roles) + part.material for part in parts]
            roles += ["thing"] * (1 + max(part.material for part in parts))
    # One wall may differ from the others.
    of_room = [int(rng.random() < 0.3), 0, 0, 0, 2, 3]
    return Room(
        extent,
        Boxes(*(np.concatenate(arrays) for arrays in zip(*placed, strict=True))),
        np.concatenate([of_room, np.repeat(of_boxes, 6)]).astype(np.intp),
        draw_materials(roles, rng=rng),
        draw_lights(extent, rng=rng),
        free_spot,
    )


def _find_place(
    parts: Sequence[Part],
    is_at_wall: bool,
    extent: Floats,
    taken: Sequence[tuple[Floats, Floats]],
    *,
    rng: np.random.Generator,
) -> Boxes | None:
    """Return a piece at a free place, or None if no place was found."""
    for _ in range(6):
        if is_at_wall:
            # Walls are numbered so that the room is on the left of each.
            wall = int(rng.integers(4))
            along = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)][wall])
            start = extent[:2] * [wall in (1, 2), wall in (2, 3)]
            yaw = wall * np.pi / 2
            corner = start + along * rng.uniform(0, extent[wall % 2])
        else:
            yaw = rng.uniform(0, 2 * np.pi)
            corner = rng.uniform(0, extent[:2])
        boxes = stand(parts, corner, yaw)
        low, high = bounds(boxes)
        if (low < -1e-9).any() or (high > extent + 1e-9).any():
            continue
        if not any((low < up).all() and (high > down).all() for down, up in taken):
            return boxes
    return None


def _place_camera(
    room: Room, size: tuple[int, int], *, rng: np.random.Generator
) -> Camera:
    """Return a camera with space around it that looks into the room."""
    n_tries = 64
    margin = _CLEARANCE + 0.01
    floor = room.extent[:2]
    place, target = rng.uniform(margin, floor - margin, (2, n_tries, 2))
    height = np.full((n_tries, 1), rng.uniform(1.0, 1.8))
    is_good = np.hypot(*(target - place).T) > 1.5
    yaw = np.arctan2(*(target - place).T[::-1])
    ahead = np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)
    for distance in (0.0, 0.5, 1.0):
        points = np.concatenate([place + distance * ahead, height], axis=-1)
        is_good &= distance_to_boxes(points, room.boxes) > margin
    chosen = int(is_good.argmax())
    stand_at = place[chosen] if is_good[chosen] else room.free_spot
    return camera_at(
        [*stand_at, *height[chosen]],
        yaw=yaw[chosen],
        pitch=np.radians(np.clip(rng.normal(-8, 6), -22, 8)),
        roll=np.radians(np.clip(rng.normal(0, 2), -5, 5)),
        size=size,
    )
