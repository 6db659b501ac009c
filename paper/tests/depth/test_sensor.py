import numpy as np
import pytest

pytest.importorskip("torch")

from betanll_paper.depth.rooms.sensor import is_in_shadow, measure, sensor_noise

pytestmark = pytest.mark.torch

#: Focal length in pixels.
FOCAL = 100.0


def test_sensor_noise_is_as_published():
    np.testing.assert_allclose(
        sensor_noise([0.4, 1.4, 2.4, 5.4]), [0.0012, 0.0031, 0.0088, 0.0487], rtol=1e-12
    )


@pytest.mark.parametrize("depth", [0.6, 2.0, 5.0, 9.0])
def test_measured_depth_has_the_noise_of_the_sensor(depth):
    shape = (120, 160)
    measured = measure(
        np.full(shape, depth),
        np.ones(shape),
        np.full(shape, 0.5),
        FOCAL,
        rng=np.random.default_rng(1),
    )
    valid = measured[measured > 0].astype(float)
    n = valid.size
    assert n > 0.8 * measured.size
    # Rounding to millimetres adds the variance of a uniform variable.
    std = np.sqrt(sensor_noise(depth) ** 2 + 0.001**2 / 12)
    # Four standard errors of a mean and of a standard deviation.
    assert abs(valid.mean() - depth) < 4 * std / np.sqrt(n)
    assert abs(valid.std() / std - 1) < 4 / np.sqrt(2 * n)
    millimetres = 1000 * valid
    np.testing.assert_allclose(millimetres, np.round(millimetres), atol=1e-3)


def test_projector_shadow_has_the_width_of_the_disparity_and_lies_on_the_left():
    depth = np.full((3, 120), 4.0)
    depth[:, 40:80] = 1.0
    # 100 * 0.075 * (1 / 1 - 1 / 4) = 5.625 columns
    shadow = is_in_shadow(depth, 100.0)
    expected = np.zeros(120, bool)
    expected[35:40] = True
    np.testing.assert_array_equal(shadow, np.tile(expected, (3, 1)))
    assert not is_in_shadow(np.full((3, 120), 4.0), 100.0).any()


@pytest.mark.parametrize(
    ("facing", "reflected", "least", "most"),
    [(1.0, 0.5, 0.0, 0.2), (0.05, 0.5, 0.99, 1.0), (1.0, 0.02, 0.4, 0.9)],
    ids=["easy", "grazing", "dark"],
)
def test_slanted_and_dark_surfaces_are_missed(facing, reflected, least, most):
    shape = (120, 160)
    measured = measure(
        np.full(shape, 3.0),
        np.full(shape, facing),
        np.full(shape, reflected),
        FOCAL,
        rng=np.random.default_rng(2),
    )
    assert least <= (measured == 0).mean() <= most


def test_depth_measured_beyond_ten_metres_is_missing():
    shape = (50, 50)
    measured = measure(
        np.full(shape, 9.9),
        np.ones(shape),
        np.ones(shape),
        FOCAL,
        rng=np.random.default_rng(3),
    )
    # sensor_noise(9.9) is 0.17 m.
    assert 0.15 < (measured == 0).mean() < 0.6
    assert measured.max() < 10
