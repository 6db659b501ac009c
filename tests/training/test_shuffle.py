import math

import jax
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from betanll.training._shuffle import grid_for, lattice_for, permuted, round_keys

SIZE = 640


@jax.jit
def padded_permutation(key, grid):
    return permuted(round_keys(key), grid, lattice_for(grid, SIZE))


@given(n=st.integers(1, 10**7))
def test_grid_is_nearly_exact(n):
    _, n_columns, n_rows = grid_for(n)
    assert n <= n_columns * n_rows < max(65, n + n_columns)
    assert min(n_columns, n_rows) >= 8
    assert n_columns <= 2**16
    assert n_rows <= 2**16


@given(n=st.integers(64, 10**5))
def test_no_nearly_square_grid_has_fewer_cells(n):
    _, n_columns, n_rows = grid_for(n)
    root = math.isqrt(n)
    nearly_square = range(max(8, root // 2), root + 1)
    assert n_columns in nearly_square
    assert n_columns * n_rows == min(c * -(-n // c) for c in nearly_square)


@given(n=st.integers(1, SIZE), seed=st.integers(0, 2**31 - 1))
def test_every_number_appears_once_and_padding_stays(n, seed):
    order = padded_permutation(jax.random.key(seed), grid_for(n))
    np.testing.assert_array_equal(np.sort(order[:n]), np.arange(n))
    np.testing.assert_array_equal(order[n:], np.arange(n, SIZE))


def test_traced_sizes_share_one_compilation():
    padded_permutation.clear_cache()
    for n in (5, 64, 97):
        padded_permutation(jax.random.key(0), grid_for(n))
    assert padded_permutation._cache_size() == 1


def test_places_can_be_asked_for_in_parts():
    grid = grid_for(100)
    lattice, keys = lattice_for(grid, 100), round_keys(jax.random.key(1))
    whole = permuted(keys, grid, lattice)
    part = permuted(keys, grid, jax.tree.map(lambda leaf: leaf[30:50], lattice))
    np.testing.assert_array_equal(part, whole[30:50])


@pytest.mark.parametrize("n", [3, 5, 13, 31, 67])
def test_places_and_pairs_are_uniform(n):
    grid = grid_for(n)
    n_draws = 40_000

    @jax.jit
    @jax.vmap
    def draw(key):
        return permuted(round_keys(key), grid, lattice_for(grid, n))

    orders = np.asarray(draw(jax.random.split(jax.random.key(3), n_draws)))
    # What stands in the first place, and the pairs in two neighbouring and two
    # distant places: chi-square against uniform, at the 1e-4 level.
    first = np.bincount(orders[:, 0], minlength=n)
    assert scipy.stats.chisquare(first).pvalue > 1e-4
    for i, j in [(0, 1), (0, n - 1)]:
        pairs = np.bincount(orders[:, i] * n + orders[:, j], minlength=n * n)
        possible = pairs.reshape(n, n)[~np.eye(n, dtype=bool)]
        assert possible.sum() == n_draws
        assert scipy.stats.chisquare(possible).pvalue > 1e-4
