"""Random permutations without a sort.

Sorting random keys costs more than an epoch of training on a small network. A Feistel
network over the pairs (column, row) of a grid with about n cells is a bijection of the
grid for any round function; cells outside the n wanted ones walk on until they fall
inside.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

_N_ROUNDS = 8
_uint = jnp.uint32


class Grid(NamedTuple):
    """Sides of a grid with at least n cells; a NamedTuple so that it can be traced."""

    n: int | jax.Array
    n_columns: int | jax.Array
    n_rows: int | jax.Array


def grid_for(n: int) -> Grid:
    """Return the grid with the fewest superfluous cells among nearly square ones.

    Few cells would mix badly, so that the smallest grid has 8 x 8.
    """
    root = max(8, math.isqrt(n))
    candidates = range(max(8, root // 2), root + 1)
    n_columns = min(candidates, key=lambda c: (-n % c, -c))
    return Grid(n, n_columns, max(8, -(-n // n_columns)))


class Lattice(NamedTuple):
    """Columns and rows of some cells."""

    column: jax.Array
    row: jax.Array


def lattice_for(grid: Grid, size: int) -> Lattice:
    """Return column and row of the first `size` cells: slow divisions, done once."""
    cell = jnp.arange(size, dtype=_uint)
    n_columns = jnp.asarray(grid.n_columns, _uint)
    return Lattice(cell % n_columns, cell // n_columns)


def round_keys(key: jax.Array) -> jax.Array:
    """Return what determines one permutation."""
    return jax.random.bits(key, (_N_ROUNDS,), _uint)


def permuted(keys: jax.Array, grid: Grid, places: Lattice) -> jax.Array:
    """Return the numbers below ``grid.n`` that a permutation puts into the places.

    Only the places asked for are computed, so that a batch of an epoch costs no more
    than its size. Places from ``grid.n`` on hold their own number.
    """
    n, n_columns, n_rows = (jnp.asarray(value, _uint) for value in grid)

    def cell(column: jax.Array, row: jax.Array) -> jax.Array:
        return column + row * n_columns

    def walk(state: _Walk) -> _Walk:
        column, row, is_walking = state
        old = column, row
        for i in range(0, _N_ROUNDS, 2):
            column = _add(column, _hash_below(row, keys[i], n_columns), n_columns)
            row = _add(row, _hash_below(column, keys[i + 1], n_rows), n_rows)
        column, row = (
            jnp.where(is_walking, new, kept)
            for new, kept in zip((column, row), old, strict=True)
        )
        return column, row, is_walking & (cell(column, row) >= n)

    start = (*places, cell(*places) < n)
    column, row, _ = jax.lax.while_loop(lambda state: jnp.any(state[2]), walk, start)
    return cell(column, row).astype(jnp.int32)


_Walk = tuple[jax.Array, jax.Array, jax.Array]


def _add(value: jax.Array, offset: jax.Array, modulus: jax.Array) -> jax.Array:
    total = value + offset
    return jnp.where(total >= modulus, total - modulus, total)


def _hash_below(value: jax.Array, key: jax.Array, bound: jax.Array) -> jax.Array:
    """Hash to a number below `bound` (at most 2**16), by multiplication and shifts."""
    h = (value ^ key) * _uint(0x9E3779B1)
    h = (h ^ (h >> _uint(15))) * _uint(0x85EBCA77)
    h = h ^ (h >> _uint(13))
    return ((h >> _uint(16)) * bound) >> _uint(16)
