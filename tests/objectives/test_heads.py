"""Oracle 16 of the specification: limits and starting values of the heads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from betanll import _limits
from betanll.objectives import _heads

ZERO = jnp.zeros(())


def test_zero_means_unit_variance():
    assert float(_heads.unit_head(ZERO)) == pytest.approx(1, abs=1e-7)
    assert pytest.approx(0.5413248, abs=1e-7) == _heads._UNIT_OFFSET
    shape, rate = _heads.gamma_heads(ZERO, ZERO)
    assert float(shape) == pytest.approx(1.69415, abs=1e-5)
    assert float(rate) == pytest.approx(0.69415, abs=1e-5)
    assert float(rate / (shape - 1)) == pytest.approx(1, abs=1e-6)
    assert pytest.approx(0.0019990, abs=1e-7) == _limits.RATE_OFFSET


def test_limits():
    assert pytest.approx(1e-11) == _limits.MIN_RATE
    assert pytest.approx(999000) == _limits.MAX_RATE
    low, high = jnp.float32(-80.0), jnp.float32(2e6)
    assert float(_heads.unit_head(low)) == pytest.approx(1e-8, rel=1e-6)
    assert float(_heads.unit_head(high)) == 1000
    shapes, rates = zip(
        _heads.gamma_heads(low, low), _heads.gamma_heads(high, high), strict=True
    )
    np.testing.assert_allclose(shapes, [1.001, 1000], rtol=1e-6)
    np.testing.assert_allclose(rates, [1e-11, 999000], rtol=1e-6)


def test_gradient_lives_at_the_floor_and_dies_above_the_ceiling():
    slope = jax.grad(_heads.unit_head)
    assert float(slope(jnp.float32(-20.0))) == pytest.approx(
        1 / (1 + np.exp(20 - 0.5413248)), rel=1e-5
    )
    assert float(slope(jnp.float32(2000.0))) == 0
