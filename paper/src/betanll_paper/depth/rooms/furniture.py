"""Furniture made of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from betanll_paper.depth.rooms.raycast import Boxes, Floats


class Part(NamedTuple):
    """A box of a piece of furniture, in metres: along the wall, into the room, up."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    #: Parts of a piece with the same number look the same.
    material: int = 0
    #: Rotation about the vertical through the part's middle, in radians.
    yaw: float = 0.0


def stand(parts: Sequence[Part], corner: Floats, yaw: float) -> Boxes:
    """Return the boxes of a piece with its origin at a corner, rotated about it.

    A yaw of 0 radians leaves the first axis along the first axis of the room.
    """
    low, high = (np.array([part[end] for part in parts]) for end in (0, 1))
    centre = (low + high) / 2
    turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    centre[:, :2] = corner + centre[:, :2] @ turn
    return Boxes(centre, (high - low) / 2, yaw + np.array([part.yaw for part in parts]))


def bounds(boxes: Boxes) -> tuple[Floats, Floats]:
    """Return lower and upper corner of the space that boxes extend over."""
    cos, sin = np.abs(np.cos(boxes.yaw)), np.abs(np.sin(boxes.yaw))
    reach = boxes.half.copy()
    reach[:, 0] = cos * boxes.half[:, 0] + sin * boxes.half[:, 1]
    reach[:, 1] = sin * boxes.half[:, 0] + cos * boxes.half[:, 1]
    return (boxes.centre - reach).min(0), (boxes.centre + reach).max(0)


def _cabinet(rng: np.random.Generator) -> list[Part]:
    width, depth, height = rng.uniform([0.5, 0.35, 0.5], [2.0, 0.65, 2.2])
    body = Part((0, 0, 0), (width, depth, height))
    return [body, *_things_on(body, rng)] if height < 1.4 else [body]


def _table(rng: np.random.Generator) -> list[Part]:
    width, depth, height = rng.uniform([0.8, 0.5, 0.68], [2.0, 1.0, 0.8])
    top = Part((0, 0, height - 0.05), (width, depth, height))
    return [top, *_legs(width, depth, height - 0.05), *_things_on(top, rng)]


def _chair(rng: np.random.Generator) -> list[Part]:
    side, height = rng.uniform([0.4, 0.42], [0.5, 0.5])
    seat = Part((0, 0, height - 0.05), (side, side, height))
    back = Part((0, 0, height), (side, 0.05, height + rng.uniform(0.35, 0.55)))
    return [seat, back, *_legs(side, side, height - 0.05)]


def _bed(rng: np.random.Generator) -> list[Part]:
    width, height, head = rng.uniform([0.9, 0.4, 0.7], [1.8, 0.6, 1.3])
    return [
        Part((0, 0, 0), (width, 0.08, head)),
        Part((0, 0.08, 0), (width, 2.08, height), 1),
        Part((0.1, 0.12, height), (width - 0.1, 0.5, height + 0.12), 2),
    ]


def _sofa(rng: np.random.Generator) -> list[Part]:
    width, height, back = rng.uniform([1.3, 0.38, 0.75], [2.4, 0.48, 0.95])
    return [
        Part((0.2, 0.2, 0), (width - 0.2, 0.9, height)),
        Part((0, 0, 0), (width, 0.2, back)),
        Part((0, 0.2, 0), (0.2, 0.9, height + 0.18)),
        Part((width - 0.2, 0.2, 0), (width, 0.9, height + 0.18)),
        Part((0.3, 0.2, height), (0.7, 0.35, height + 0.35), 1),
    ]


def _shelf(rng: np.random.Generator) -> list[Part]:
    width, depth, height = rng.uniform([0.6, 0.25, 1.2], [1.4, 0.4, 2.1])
    sides = [Part((x, 0, 0), (x + 0.03, depth, height)) for x in (0.0, width - 0.03)]
    heights = np.linspace(0.03, height, rng.integers(4, 7))
    boards = [Part((0.03, 0, z - 0.03), (width - 0.03, depth, z)) for z in heights]
    books = [
        Part((0.05, 0, z), (rng.uniform(0.2, width - 0.05), 0.18, z + 0.2), 1 + number)
        for number, z in enumerate(heights[:-1])
    ]
    return [*sides, *boards, *books]


def _stack(rng: np.random.Generator) -> list[Part]:
    width, depth, height = rng.uniform(0.3, 0.8, 3)
    body = Part((0, 0, 0), (width, depth, height))
    return [body, *_things_on(body, rng)]


def _cupboard(rng: np.random.Generator) -> list[Part]:
    width, depth, low = rng.uniform([0.5, 0.25, 1.35], [1.8, 0.4, 1.45])
    return [Part((0, 0, low), (width, depth, low + rng.uniform(0.4, 0.7)))]


def _picture(rng: np.random.Generator) -> list[Part]:
    width, height, low = rng.uniform([0.4, 0.3, 1.1], [1.6, 0.8, 1.35])
    return [
        Part((0, 0, low), (width, 0.03, low + height)),
        Part((0.05, 0.03, low + 0.05), (width - 0.05, 0.032, low + height - 0.05), 1),
    ]


def _door(rng: np.random.Generator) -> list[Part]:
    return [Part((0, 0, 0), (rng.uniform(0.75, 1.0), 0.04, 2.05))]


def _legs(width: float, depth: float, height: float) -> list[Part]:
    return [
        Part((x, y, 0), (x + 0.06, y + 0.06, height))
        for x in (0.0, width - 0.06)
        for y in (0.0, depth - 0.06)
    ]


def _things_on(body: Part, rng: np.random.Generator) -> list[Part]:
    """Return up to two boxes that lie on another box."""
    things = []
    room = np.subtract(body.high, body.low)[:2]
    for number in range(rng.integers(0, 3)):
        # Each box has one half of the top.
        half = room * [0.5, 1]
        size = half * rng.uniform(0.3, 0.9, 2)
        x, y = body.low[:2] + half * [number, 0] + rng.random(2) * (half - size)
        z = body.high[2]
        high = (x + size[0], y + size[1], z + rng.uniform(0.05, 0.45))
        things.append(Part((x, y, z), high, 3 + number, rng.uniform(-0.3, 0.3)))
    return things


def _rug(rng: np.random.Generator) -> list[Part]:
    width, depth = rng.uniform([1.0, 0.8], [2.6, 1.8])
    return [Part((0, 0, 0), (width, depth, 0.012))]


#: Furniture by its place in the room; listed twice is twice as common.
AT_WALLS = (_cabinet, _cabinet, _table, _bed, _sofa, _shelf, _shelf)
ON_WALLS = (_cupboard, _cupboard, _picture, _picture, _picture, _door)
ANYWHERE = (_table, _chair, _chair, _stack, _stack, _sofa)
RUGS = (_rug,)
