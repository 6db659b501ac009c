"""What a structured-light sensor makes of exact depth: noise and missing pixels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from betanll_paper.depth.rooms.raycast import Floats

#: In metres: range of the measurement, and distance from the camera to the projector,
#: which is on its right.
MAX_DEPTH = 10.0
_BASELINE = 0.075
#: Surfaces seen under a smaller cosine, or that reflect less, return too little light.
_MIN_FACING = 0.17
_DARK = 0.05
#: Smooth noise above this many standard deviations makes a hole.
_HOLE = 1.25


def sensor_noise(depth: npt.ArrayLike) -> Floats:
    r"""Return the standard deviation of the measured depth, in metres.

    .. math:: \sigma(z) = 0.0012 + 0.0019 (z - 0.4)^2

    Parameters
    ----------
    depth : array
        In metres.

    Returns
    -------
    array of the same shape

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
    """Return which pixels the light of the projector does not reach.

    Parameters
    ----------
    depth : array of shape (height, width)
    focal : float
        Focal length in pixels.

    Notes
    -----
    The projector sees the point of a pixel in its own column ``column - focal *
    baseline / depth``. The columns keep their order, except where something nearer, to
    the right in the image, has come in between.
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
    """Return the depth that a sensor measures, in whole millimetres, 0 where it fails.

    Parameters
    ----------
    depth : array of shape (height, width)
        Exact, in metres.
    facing : array of shape (height, width)
        Cosine of the angle of incidence.
    reflected : array of shape (height, width)
        Share of the light that the surface reflects.
    focal : float
        Focal length in pixels.
    rng : numpy.random.Generator
    """
    noise = rng.standard_normal(depth.shape)
    measured = np.round(depth + sensor_noise(depth) * noise, 3)
    unevenness = _smooth_noise(depth.shape, rng=rng)
    is_missing = is_in_shadow(depth, focal)
    is_missing |= facing < _MIN_FACING + 0.03 * rng.standard_normal(depth.shape)
    # More often than not, and in patches.
    is_missing |= (reflected < _DARK) & (
        unevenness + 0.5 * rng.standard_normal(depth.shape) > -0.3
    )
    is_missing |= unevenness > _HOLE
    is_missing |= measured >= MAX_DEPTH
    return np.where(is_missing, 0, measured).astype(np.float32)


def _smooth_noise(shape: tuple[int, ...], *, rng: np.random.Generator) -> Floats:
    """Return noise that varies smoothly between the points of a coarse grid."""
    grid = rng.standard_normal((7, 9))
    rows, columns = map(_interpolation, shape, grid.shape)
    return rows @ grid @ columns.T


def _interpolation(n: int, n_grid: int) -> Floats:
    """Return the matrix that interpolates from n_grid values to n."""
    places = np.linspace(0, n_grid - 1, n)[:, None]
    nearness = np.maximum(1 - np.abs(places - np.arange(n_grid)), 0)
    return nearness**2 * (3 - 2 * nearness)
