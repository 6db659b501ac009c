"""A plain training loop to compare the compiled one with, and how to compare bits."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from betanll import losses
from betanll.training import _loop, _shuffle
from betanll.training._run import prepare


def reference_fit(task, n_epochs):
    trained = []
    prepared = prepare(task)
    params = _loop.unpack(
        prepared.program, prepared.objective, prepared.start().carried.params
    )
    run_key = jax.random.split(jax.random.key(task.seed))[1]
    shuffle_key, _ = jax.random.split(run_key)
    grid = _shuffle.grid_for(task.data.n_train)
    lattice = _shuffle.lattice_for(grid, task.data.n_train)
    optimizer = optax.adam(task.optimizer.learning_rate)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y, beta):
        def loss(params):
            raw = task.network.apply(params["net"], x.T)
            mean, variance = prepared.objective.parameters(raw[:, None])
            return jnp.mean(losses.beta_nll(mean, variance, y.T, beta=beta))

        gradient = jax.grad(loss)(params)
        with jax.numpy_dtype_promotion("standard"):
            updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state

    start, end = task.objective.beta
    x, y, _ = map(jnp.asarray, task.data.samples(range(task.data.n_train)))
    n_batches = task.data.n_train // task.budget.batch_size
    for epoch in range(n_epochs):
        key = jax.random.fold_in(shuffle_key, epoch)
        order = _shuffle.permuted(_shuffle.round_keys(key), grid, lattice)
        for i in range(n_batches):
            rows = order[i * task.budget.batch_size : (i + 1) * task.budget.batch_size]
            progress = (epoch * n_batches + i) / (task.budget.max_epochs * n_batches)
            beta = start + (end - start) * progress
            params, state = step(
                params,
                state,
                x[rows],
                y[rows],
                beta,
            )
            trained.append(params["net"])
    return trained


@pytest.fixture(scope="session")
def plain_loop():
    """The same training with optax on a pytree: network parameters of each update."""
    return reference_fit


@pytest.fixture(scope="session")
def same_bits():
    """A function that tells whether two trees of arrays are the same, bit by bit."""

    def compare(a, b):
        leaves = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
        return all(np.array_equal(first, second) for first, second in leaves)

    return compare
