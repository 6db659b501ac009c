"""Forward passes in pieces of fixed sizes."""

import jax
import numpy as np
import pytest

from betanll.networks import MLP
from betanll.objectives import MSE
from betanll.training._predict import CHUNK, SIZES, predict_parameters

NET = MLP(2, (3,), activation="tanh")


@pytest.mark.parametrize("n", [1, SIZES[0], SIZES[0] + 1, CHUNK, CHUNK + 1])
def test_any_number_of_rows(n):
    params = NET.init([1], key=jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(n, 2))
    first, head = (np.asarray(layer["weight"], float) for layer in params)
    (mean,) = predict_parameters(NET, MSE(), params, x)
    assert mean.dtype == np.float64
    np.testing.assert_allclose(mean, np.tanh(x @ first.T) @ head.T, atol=1e-5)
