"""Predictions of several parts of the rows as one."""

import numpy as np
import pytest

from betanll.distributions import Affine, Mixture, Normal, StudentT, concatenate


def normal(n, seed=0):
    rng = np.random.default_rng(seed)
    return Normal(rng.normal(size=(n, 2)), rng.uniform(1, 2, (n, 2)))


def student(n):
    part = normal(n, 1)
    return StudentT(np.full((n, 2), 5.0), part.mean, part.std)


@pytest.mark.parametrize(
    "make",
    [
        normal,
        student,
        lambda n: Mixture([normal(n), student(n)]),
        lambda n: Mixture([normal(n), student(n)], weights=[0.2, 0.8]),
        lambda n: Affine(student(n), np.full((n, 2), 2.0), np.ones((n, 2))),
    ],
)
def test_rows_keep_their_distributions(make):
    whole = make(7)
    joined = concatenate([whole[:3], whole[3:]])
    assert type(joined) is type(whole)
    value = np.random.default_rng(2).normal(size=(7, 2))
    for method in ("log_prob", "cdf", "crps"):
        found, expected = (getattr(d, method)(value) for d in (joined, whole))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(joined.interval(0.9), whole.interval(0.9))


def test_one_part_stays_as_it_is():
    part = normal(3)
    assert concatenate([part]) is part


def test_classes_cannot_be_mixed():
    with pytest.raises(TypeError, match="not of Normal, StudentT"):
        concatenate([normal(1), student(1)])
