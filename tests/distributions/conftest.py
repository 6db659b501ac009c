"""One distribution of each class."""

import numpy as np
import pytest

from betanll.distributions import Mixture, Normal, StudentT


def build(shape, seed=0):
    rng = np.random.default_rng(seed)
    normal = Normal(rng.normal(size=shape), rng.uniform(0.1, 2, shape))
    student = StudentT(
        rng.uniform(2.1, 30, shape), rng.normal(size=shape), rng.uniform(0.1, 2, shape)
    )
    return [normal, student, Mixture([normal, student])]


@pytest.fixture(scope="session")
def one_of_each():
    """A function of a shape: a normal, a Student-t and a mixture of both classes."""
    return build
