"""Appearance of surfaces: materials, lights, and the image of a view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from betanll_paper.depth.rooms.raycast import Boxes, Camera, Floats, View, is_shaded

Role = Literal["floor", "ceiling", "wall", "thing"]

_PLAIN, _STRIPES, _CHECKS, _NOISE = range(4)
#: Probabilities of plain, striped, checked and cloudy surfaces.
_KINDS: dict[Role, tuple[float, ...]] = {
    "floor": (0.15, 0.25, 0.3, 0.3),
    "ceiling": (0.8, 0.0, 0.1, 0.1),
    "wall": (0.45, 0.15, 0.1, 0.3),
    "thing": (0.4, 0.15, 0.15, 0.3),
}
#: Range of the share of the light that surfaces reflect.
_BRIGHTNESS: dict[Role, tuple[float, float]] = {
    "floor": (0.1, 0.6),
    "ceiling": (0.6, 0.95),
    "wall": (0.35, 0.9),
    "thing": (0.06, 0.9),
}
#: Share of nearly black things.
_SHARE_BLACK = 0.15
_LUMINANCE = np.array([0.299, 0.587, 0.114])
_LATTICE = 64


class Materials(NamedTuple):
    """Textures; the first axis of each array but the last is the material."""

    kind: npt.NDArray[np.intp]
    #: Two colours between which the texture varies, ``(n, 2, 3)``.
    colours: Floats
    #: Size of the pattern in metres, ``(n, 2)``.
    period: Floats
    #: Direction of the pattern on the surface, in radians.
    angle: Floats
    #: Random numbers between which cloudy textures interpolate, ``(64, 64)``.
    lattice: Floats


class Light(NamedTuple):
    """A lamp: its place, its colour, and its power relative to other lamps."""

    position: Floats
    colour: Floats
    power: float


def draw_materials(roles: Sequence[Role], *, rng: np.random.Generator) -> Materials:
    """Return a random material for each role."""
    n = len(roles)
    kind = np.array([rng.choice(4, p=_KINDS[role]) for role in roles], np.intp)
    low, high = np.array([_BRIGHTNESS[role] for role in roles]).T
    brightness = rng.uniform(low, high)
    is_black = (np.array(roles) == "thing") & (rng.random(n) < _SHARE_BLACK)
    brightness[is_black] = rng.uniform(0.01, 0.04, is_black.sum())
    saturation = rng.beta(1.2, 1.2, n)
    saturation[np.array(roles) == "ceiling"] *= 0.2
    first = brightness[:, None] * (1 - saturation[:, None] * rng.random((n, 3)))
    other = rng.uniform(low, high)[:, None] * rng.uniform(0.3, 1, (n, 3))
    darker = first * rng.uniform(0.45, 0.85, (n, 1))
    is_two_coloured = (rng.random(n) < 0.3) & ~is_black
    second = np.where(is_two_coloured[:, None], other, darker)
    # From planks and tiles to wallpaper; cloudy textures may be stretched, like wood.
    period = np.exp(rng.uniform(np.log(0.12), np.log(0.9), (n, 1))).repeat(2, axis=1)
    period[:, 1] *= np.where(kind == _NOISE, rng.choice([1.0, 1.0, 6.0], n), 1.0)
    angle = rng.choice(4, n) * np.pi / 2
    angle += (rng.random(n) < 0.2) * rng.uniform(0, np.pi, n)
    return Materials(
        kind,
        np.stack([first, second], axis=1),
        period,
        angle,
        rng.random((_LATTICE, _LATTICE)),
    )


def draw_lights(room: Floats, *, rng: np.random.Generator) -> list[Light]:
    """Return one or two lamps under the ceiling."""
    lights = []
    for _ in range(rng.integers(1, 3)):
        place = room * [*rng.uniform(0.15, 0.85, 2), 1] - [0, 0, rng.uniform(0.1, 0.15)]
        warmth = rng.uniform(-0.12, 0.12)
        colour = np.array([1 + warmth, 1.0, 1 - warmth])
        lights.append(Light(place, colour, rng.uniform(0.5, 1.5)))
    return lights


def albedo(
    view: View, material: npt.NDArray[np.intp], materials: Materials, focal: float
) -> Floats:
    """Return the share of the light that each pixel reflects, ``(3, height, width)``.

    `material` is the row of each pixel's material, `focal` the focal length in pixels.
    Patterns fade where a pixel covers about one period.
    """
    kind = materials.kind[material]
    covered = view.depth / (focal * np.maximum(view.facing, 0.05))
    mix = np.zeros(view.depth.shape)
    for pattern, of_kind in (
        (_stripes, _STRIPES),
        (_checks, _CHECKS),
        (_clouds, _NOISE),
    ):
        here = kind == of_kind
        rows = material[here]
        cos, sin = np.cos(materials.angle)[rows], np.sin(materials.angle)[rows]
        u, v = view.place[:, here]
        place = np.stack([cos * u + sin * v, cos * v - sin * u])
        # A shift, so that patterns do not start in the middle of every surface.
        place += np.modf(rows * [[0.618], [0.414]])[0]
        period = materials.period.T[:, rows]
        mix[here] = pattern(place, period, covered[here], materials.lattice)
    first, second = np.moveaxis(materials.colours, 0, -1)[..., material]
    return first + mix * (second - first)


def photograph(
    camera: Camera,
    view: View,
    reflected: Floats,
    lights: Sequence[Light],
    boxes: Boxes,
    *,
    rng: np.random.Generator,
) -> npt.NDArray[np.uint8]:
    """Return the image of a view, bytes of shape ``(height, width, 3)``.

    `reflected` is the result of :func:`albedo`. Boxes cast shadows. Exposure and noise
    of the image are random.
    """
    arriving = np.zeros(reflected.shape)
    for light in lights:
        arriving += light.colour[:, None, None] * _direct(camera, view, light, boxes)
    ambient = rng.uniform(0.3, 0.6) * arriving.mean()
    radiance = reflected * (arriving + ambient)
    radiance *= rng.uniform(0.2, 0.4) / radiance.mean()
    image = np.minimum(radiance, 1.5) ** (1 / 2.2)
    image += rng.uniform(0.005, 0.02) * rng.standard_normal(image.shape)
    levels = np.clip(np.round(255 * image), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(np.moveaxis(levels, 0, -1))


def luminance(colours: Floats) -> Floats:
    """Return the perceived brightness of colours ``(3, ...)``."""
    return np.tensordot(_LUMINANCE, colours, 1)


def _direct(camera: Camera, view: View, light: Light, boxes: Boxes) -> Floats:
    towards = light.position[:, None, None] - view.point
    squared = (towards**2).sum(0)
    cosine = (towards * view.normal).sum(0) / np.sqrt(squared)
    # Lamps are not points: the light close to them stays finite.
    arriving = light.power * np.maximum(cosine, 0) / (squared + 0.5)
    arriving[is_shaded(camera, view.point, light.position, boxes)] = 0
    return arriving


def _square_wave(x: Floats, period: Floats, covered: Floats) -> Floats:
    """Return a wave between -1 and 1 that rises and falls within a pixel."""
    wave = np.sin(2 * np.pi * x / period)
    return np.clip(wave * period / (np.pi * covered), -1, 1)


def _stripes(place: Floats, period: Floats, covered: Floats, _: Floats) -> Floats:
    return 0.5 + 0.5 * _square_wave(place[0], period[0], covered)


def _checks(place: Floats, period: Floats, covered: Floats, _: Floats) -> Floats:
    across = _square_wave(place[0], period[0], covered)
    return 0.5 + 0.5 * across * _square_wave(place[1], period[1], covered)


def _clouds(place: Floats, period: Floats, covered: Floats, lattice: Floats) -> Floats:
    mix = np.full(covered.shape, 0.5)
    for octave, share in ((1, 0.7), (4, 0.3)):
        knots = octave * place / period
        whole = np.floor(knots)
        part = knots - whole
        part *= part * (3 - 2 * part)
        i, j = whole.astype(np.intp) % _LATTICE
        next_i, next_j = (i + 1) % _LATTICE, (j + 1) % _LATTICE
        low = lattice[i, j] + part[1] * (lattice[i, next_j] - lattice[i, j])
        high = lattice[next_i, j]
        high = high + part[1] * (lattice[next_i, next_j] - high)
        fading = np.minimum(period[0] / (2 * octave * covered), 1)
        mix += share * fading * (low + part[0] * (high - low) - 0.5)
    return mix
