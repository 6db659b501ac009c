"""Noise and missing pixels of a structured-light sensor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from betanll_paper.depth.rooms.raycast import Floats

#: Range of the sensor, and distance from the camera to the projector on its right, in
#: metres.
MAX_DEPTH = 10.0
_BASELINE = 0.075
#: Surfaces with a smaller cosine of incidence or albedo return too little light.
_MIN_FACING = 0.17
_DARK = 0.05
#: Smooth noise above this many standard deviations makes a hole.
_HOLE = 1.25


def sensor_noise(depth: npt.ArrayLike) -> Floats:
    r"""Return the standard deviation of the measured depth, in metres.

    .. math:: \sigma(z) = 0.0012 + 0.0019 (z - 0.4)^2

    References
    ----------
    Nguyen, Izadi, Lovell (2012), Modeling Kinect Sensor Noise for Improved 3D
    Reconstruction and Tracking: the axial noise of surfaces that face the camera.

    Examples
    --------
    >>> sensor_noise([0.4, 1.4, 5.4])
    array([0.0012, 0.0031, 0.0487])
    """
    return 0.0012 + 0.0019 * (np.asarray(depth, float) - 0.4) ** 2


def is_in_shadow(depth: Floats, focal: float) -> npt.NDArray[np.bool_]:
    """Mark the pixels that the light of the projector does not reach.

    The projector sees the point of a pixel in its own column ``column - focal *
    baseline / depth``. These columns keep their order, except where a nearer surface,
    to the right in the image, is in between. The focal length is in pixels.
    """
    columns = np.arange(depth.shape[1]) - focal * _BASELINE / depth
    least_to_the_right = np.minimum.accumulate(columns[:, ::-1], axis=1)[:, ::-1]
    shadow = np.zeros(depth.shape, bool)
    shadow[:, :-1] = columns[:, :-1] >= least_to_the_right[:, 1:]
    return shadow


def measure(
    depth: Floats,
    facing: Floats,
    reflected: Floats,
    focal: float,
    *,
    rng: np.random.Generator,
) -> npt.NDArray[np.float32]:
    """Return the measured depth, in whole millimetres, 0 where the sensor fails.

    Parameters
    ----------
    depth, facing, reflected : array of shape (height, width)
        Exact depth in metres, cosine of the angle of incidence, and share of the light
        that the surface reflects.
    focal : float
        Focal length in pixels.
    rng : numpy.random.Generator
    """
    noise = rng.standard_normal(depth.shape)
    measured = np.round(depth + sensor_noise(depth) * noise, 3)
    unevenness = _smooth_noise(depth.shape, rng=rng)
    is_missing = is_in_shadow(depth, focal)
    is_missing |= facing < _MIN_FACING + 0.03 * rng.standard_normal(depth.shape)
    # Most dark pixels, in patches.
    is_missing |= (reflected < _DARK) & (
        unevenness + 0.5 * rng.standard_normal(depth.shape) > -0.3
    )
    is_missing |= unevenness > _HOLE
    is_missing |= measured >= MAX_DEPTH
    return np.where(is_missing, 0, measured).astype(np.float32)


def _smooth_noise(shape: tuple[int, ...], *, rng: np.random.Generator) -> Floats:
    """Return noise that is smooth between the points of a coarse grid."""
    grid = rng.standard_normal((7, 9))
    rows, columns = map(_interpolation, shape, grid.shape)
    return rows @ grid @ columns.T


def _interpolation(n: int, n_grid: int) -> Floats:
    """Return the matrix that interpolates from n_grid values to n."""
    places = np.linspace(0, n_grid - 1, n)[:, None]
    nearness = np.maximum(1 - np.abs(places - np.arange(n_grid)), 0)
    return nearness**2 * (3 - 2 * nearness)
