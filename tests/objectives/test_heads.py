"""Oracle 16 of the specification: limits and starting values of the heads."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from betanll.objectives import heads

ZERO = jnp.zeros(())


def test_zero_means_unit_variance():
    assert float(heads.unit_head(ZERO)) == pytest.approx(1, abs=1e-7)
    assert pytest.approx(0.5413248, abs=1e-7) == heads._UNIT_OFFSET
    shape, rate = heads.gamma_heads(ZERO, ZERO)
    assert float(shape) == pytest.approx(1.69415, abs=1e-5)
    assert float(rate) == pytest.approx(0.69415, abs=1e-5)
    assert float(rate / (shape - 1)) == pytest.approx(1, abs=1e-6)
    assert pytest.approx(0.0019990, abs=1e-7) == heads._RATE_OFFSET


def test_limits():
    assert pytest.approx(1e-11) == heads.MIN_RATE
    assert pytest.approx(999000) == heads.MAX_RATE
    low, high = jnp.float32(-80.0), jnp.float32(2e6)
    assert float(heads.unit_head(low)) == pytest.approx(1e-8, rel=1e-6)
    assert float(heads.unit_head(high)) == 1000
    shapes, rates = zip(
        heads.gamma_heads(low, low), heads.gamma_heads(high, high), strict=True
    )
    np.testing.assert_allclose(shapes, [1.001, 1000], rtol=1e-6)
    np.testing.assert_allclose(rates, [1e-11, 999000], rtol=1e-6)


def test_gradient_lives_at_the_floor_and_dies_above_the_ceiling():
    slope = jax.grad(heads.unit_head)
    assert float(slope(jnp.float32(-20.0))) == pytest.approx(
        1 / (1 + np.exp(20 - 0.5413248)), rel=1e-5
    )
    assert float(slope(jnp.float32(2000.0))) == 0


def _to_torch(array):
    return pytest.importorskip("torch").tensor(array)


@pytest.mark.parametrize(
    "convert",
    [np.asarray, pytest.param(_to_torch, marks=pytest.mark.torch)],
    ids=["numpy", "torch"],
)
def test_the_libraries_agree(convert):
    raw = np.array([-80.0, -3.0, 0.0, 0.7, 25.0, 2e6], np.float32)
    ours = [
        heads.unit_head(convert(raw)),
        *heads.gamma_heads(convert(raw), convert(raw)),
    ]
    jax_ = [heads.unit_head(jnp.array(raw)), *heads.gamma_heads(*[jnp.array(raw)] * 2)]
    for one, other in zip(ours, jax_, strict=True):
        assert type(one) is type(convert(raw))
        assert np.asarray(one).dtype == np.float32
        np.testing.assert_allclose(np.asarray(one), other, rtol=2e-6)


@pytest.mark.torch
def test_gradients_of_tensors_live_at_the_floor_and_die_above_the_ceiling():
    torch = pytest.importorskip("torch")
    raw = torch.tensor([-20.0, 2000.0], requires_grad=True)
    heads.unit_head(raw).sum().backward()
    slopes = raw.grad.tolist()
    assert slopes[0] == pytest.approx(1 / (1 + np.exp(20 - 0.5413248)), rel=1e-5)
    assert slopes[1] == 0
