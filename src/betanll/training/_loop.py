"""The compiled training program.

One call of :func:`run` trains until a given epoch. Epochs, shuffling, updates,
validation, early stopping and the choice of the best parameters are one XLA program.
Values that differ between the fits of a sweep are traced; values that require a new
compilation are in ``Program``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from betanll.objectives import Objective
from betanll.training._optimizers import Optimizer
from betanll.training._program import (
    COMPLETED,
    DIVERGED,
    HISTORY_CAPACITY,
    N_INIT_INPUTS,
    RUNNING,
    STOPPED,
    Inputs,
    Program,
    Record,
    Snapshots,
    State,
)
from betanll.training._shuffle import lattice_for, permuted, round_keys

#: How often the training program was traced, for a test.
n_traces = 0


def _split(program: Program, samples: jax.Array) -> tuple[jax.Array, ...]:
    """Return inputs, targets and weights of samples with features first."""
    n_inputs = program.network.n_inputs
    first_target = n_inputs if program.has_targets else 0
    first_weight = first_target + program.n_targets
    return (
        samples[:n_inputs],
        samples[first_target:first_weight],
        samples[first_weight:],
    )


def init_trainable(
    program: Program, objective: Objective, inputs: jax.Array, key: jax.Array
) -> dict[str, Any]:
    """Draw the parameters of the network and the state of the objective."""
    net_key, state_key = jax.random.split(key)
    head_sizes = objective.head_sizes(program.n_targets)
    return {
        "net": program.network.init(head_sizes, key=net_key),
        "objective": objective.init_state(inputs, program.n_targets, key=state_key),
    }


def trainable_template(program: Program, objective: Objective) -> dict[str, Any]:
    """Return zeros in the shape of what :func:`init_trainable` draws."""
    shapes = jax.eval_shape(
        partial(init_trainable, program),
        objective,
        jax.ShapeDtypeStruct((program.network.n_inputs, N_INIT_INPUTS), jnp.float32),
        jax.random.key(0),
    )
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


@partial(jax.jit, static_argnames="program")
def unpack(program: Program, objective: Objective, params: jax.Array) -> dict[str, Any]:
    """Return a flat parameter vector as the trainable pytree."""
    return ravel_pytree(trainable_template(program, objective))[1](params)


def is_weight(program: Program, trainable: dict[str, Any]) -> dict[str, Any]:
    """Return 1 where the network's parameters decay, 0 elsewhere, as a pytree."""

    def mark(leaf: jax.Array, is_decaying: bool) -> jax.Array:
        return jnp.full(leaf.shape, float(is_decaying), leaf.dtype)

    net, state = trainable["net"], trainable["objective"]
    decays = getattr(program.network, "decays", _decay_by_axes)
    return {
        "net": jax.tree.map(mark, net, decays(net)),
        "objective": jax.tree.map(jnp.zeros_like, state),
    }


def _decay_by_axes(params: Any) -> Any:
    """Mark arrays that decay by default: all but vectors and scalars."""
    return jax.tree.map(lambda leaf: leaf.ndim >= 2, params)


@partial(jax.jit, static_argnames="program")
def start(
    program: Program,
    objective: Objective,
    optimizer: Optimizer,
    inputs: jax.Array,
    key: jax.Array,
) -> State:
    """Return the state before the first epoch; `inputs` are random training inputs."""
    trainable = init_trainable(program, objective, inputs, key)
    params, unravel = ravel_pytree(trainable)
    transform = optimizer.flat_transform(is_weight(program, trainable), unravel)
    return State(
        params=params,
        optimizer=transform.init(params),
        epoch=jnp.int32(0),
        status=jnp.int32(RUNNING),
        best_params=params,
        best_score=jnp.float32(jnp.inf),
        best_epoch=jnp.int32(0),
        n_stale=jnp.int32(0),
        snapshots=Snapshots(
            jnp.zeros((program.n_snapshots, params.size), params.dtype), jnp.int32(0)
        ),
    )


def _run(
    program: Program,
    objective: Objective,
    optimizer: Optimizer,
    given: Inputs,
    until_epoch: jax.Array,
    state: State,
) -> tuple[State, Record, jax.Array]:
    """Train until `until_epoch`, or until done, or until the history is full."""
    global n_traces
    n_traces += 1

    template = trainable_template(program, objective)
    _, unravel = ravel_pytree(template)
    transform = optimizer.flat_transform(is_weight(program, template), unravel)

    data, budget = given.rows, given.budget
    n_train = jnp.asarray(given.grid.n, jnp.int32)
    batch_size = budget.batch_size
    n_samples = n_train + given.n_validation
    n_batches = n_train // batch_size
    n_detached = objective.n_detached * program.n_targets
    shuffle_key, loss_key = jax.random.split(given.key)
    lattice = lattice_for(given.grid, data.shape[0])
    in_batch = (jnp.arange(program.batch_capacity) < batch_size).astype(data.dtype)
    scale = 1 / batch_size.astype(data.dtype)
    if objective.reduction == "mean":
        scale = scale / program.n_targets

    def samples(places: jax.Array) -> jax.Array:
        """Gather samples, which are a ring, with features first."""
        places = places + given.first
        rows = jnp.where(places < n_samples, places, places - n_samples)
        # The barrier keeps the gather whole: fused with the transposition it would
        # touch a cache line for every number instead of one for every sample.
        gathered = data.at[rows].get(mode="promise_in_bounds")
        return jax.lax.optimization_barrier(gathered).T

    def raw_outputs(net_params: Any, inputs: Any) -> Any:
        outputs = program.network.apply(net_params, inputs, n_detached=n_detached)
        return objective.split_outputs(outputs)

    def batch_loss(
        params: jax.Array, batch: jax.Array, progress: jax.Array, key: jax.Array
    ) -> jax.Array:
        trainable = unravel(params)
        inputs, target, weight = _split(program, batch)
        elementwise = objective.training_loss(
            partial(raw_outputs, trainable["net"]),
            inputs,
            target,
            trainable["objective"],
            progress=progress,
            key=key,
        )
        return jnp.sum(elementwise * (weight * in_batch[None])) * scale

    def update(
        keys: jax.Array,
        epoch: jax.Array,
        i: jax.Array,
        carry: tuple[jax.Array, Any, Snapshots, jax.Array],
    ) -> tuple[jax.Array, Any, Snapshots, jax.Array]:
        params, optimizer_state, snapshots, total = carry
        places = jax.tree.map(
            lambda part: jax.lax.dynamic_slice_in_dim(
                part, i * batch_size, program.batch_capacity
            ),
            lattice,
        )
        batch = samples(permuted(keys, given.grid, places))
        # In floating point: the number of updates of a long schedule overflows int32.
        done = epoch.astype(data.dtype) + (i / n_batches).astype(data.dtype)
        progress = done / budget.schedule_epochs.astype(data.dtype)
        step_key = loss_key
        if objective.is_stochastic:
            step_key = jax.random.fold_in(loss_key, epoch * n_batches + i)
        loss, gradient = jax.value_and_grad(batch_loss)(
            params, batch, jnp.minimum(progress, 1), step_key
        )
        # optax raises floats to integer powers, which a strict user setting forbids
        with jax.numpy_dtype_promotion("standard"):
            change, optimizer_state = transform.update(
                gradient, optimizer_state, params
            )
        params = params + change
        if program.n_snapshots:
            evaluated = optimizer.evaluated(params, optimizer_state, unravel)
            snapshots = keep(snapshots, evaluated, epoch, i)
        return params, optimizer_state, snapshots, total + loss

    def keep(
        snapshots: Snapshots, params: jax.Array, epoch: jax.Array, i: jax.Array
    ) -> Snapshots:
        # Past the last one, indexing stays at the last, which does not come again.
        k = snapshots.n_taken
        is_epoch = given.snapshot_epochs[k] == epoch
        is_due = is_epoch & (given.snapshot_batches[k] == i)
        return jax.lax.cond(
            is_due,
            lambda: Snapshots(snapshots.params.at[k].set(params), k + 1),
            lambda: snapshots,
        )

    def validate(params: jax.Array) -> tuple[jax.Array, ...]:
        net_params = unravel(params)["net"]
        chunk = program.validation_chunk

        def add_chunk(
            i: jax.Array, sums: tuple[jax.Array, ...]
        ) -> tuple[jax.Array, ...]:
            places = n_train + i * chunk + jnp.arange(chunk)
            inputs, target, weight = _split(program, samples(places))
            weight = weight * (places < n_samples).astype(data.dtype)[None]
            forward = partial(raw_outputs, net_params)
            parameters = objective.predicted_parameters(forward, inputs)
            nll = objective.nll(parameters, target)
            error = objective.mean(parameters) - target
            # XLA computes it once where it is the same.
            score = nll
            if program.is_robust:
                score = objective.robust_nll(parameters, target)
            return (
                sums[0] + jnp.sum(weight * nll),
                sums[1] + jnp.sum(weight * error * error),
                sums[2] + jnp.sum(weight * score),
                sums[3] + jnp.sum(weight) / weight.shape[0],
            )

        n_chunks = (given.n_validation + chunk - 1) // chunk
        zero = jnp.zeros((), data.dtype)
        nll, square, score, total = jax.lax.fori_loop(
            0, n_chunks, add_chunk, (zero,) * 4
        )
        # 0 / 0 = NaN without validation data; a NaN never counts as an improvement
        mse = square / (total * program.n_targets)
        is_by_error = objective.validation_score == "squared_error"
        return nll / total, mse, mse if is_by_error else score / total

    def train_epoch(
        carry: tuple[State, Record, jax.Array],
    ) -> tuple[State, Record, jax.Array]:
        state, history, n_records = carry
        keys = round_keys(jax.random.fold_in(shuffle_key, state.epoch))
        params, optimizer_state, snapshots, total = jax.lax.fori_loop(
            0,
            n_batches,
            partial(update, keys, state.epoch),
            (
                state.params,
                state.optimizer,
                state.snapshots,
                jnp.zeros((), data.dtype),
            ),
        )
        epoch = state.epoch + 1
        train_loss = total / n_batches.astype(data.dtype)

        is_last = epoch >= budget.max_epochs
        is_evaluated = is_last | (epoch % budget.validate_every == 0)
        nan = jnp.full((), jnp.nan, data.dtype)
        evaluated = optimizer.evaluated(params, optimizer_state, unravel)
        nll, mse, score = jax.lax.cond(
            is_evaluated, validate, lambda _: (nan,) * 3, operand=evaluated
        )
        is_better = is_evaluated & (score < state.best_score)
        n_stale = jnp.where(
            is_better, 0, state.n_stale + is_evaluated.astype(jnp.int32)
        )
        status = jnp.where(
            ~jnp.isfinite(train_loss),
            DIVERGED,
            jnp.where(
                is_last,
                COMPLETED,
                jnp.where(n_stale >= budget.patience, STOPPED, RUNNING),
            ),
        )
        record = Record(epoch, train_loss, nll, mse, score)
        is_recorded = is_evaluated | (status == DIVERGED)
        history = jax.tree.map(
            lambda column, value: column.at[n_records].set(
                jnp.where(is_recorded, value, column[n_records])
            ),
            history,
            record,
        )
        state = State(
            params=params,
            optimizer=optimizer_state,
            epoch=epoch,
            status=status.astype(jnp.int32),
            best_params=jnp.where(is_better, evaluated, state.best_params),
            best_score=jnp.where(is_better, score, state.best_score),
            best_epoch=jnp.where(is_better, epoch, state.best_epoch),
            n_stale=n_stale,
            snapshots=snapshots,
        )
        return state, history, n_records + is_recorded.astype(jnp.int32)

    def is_training(carry: tuple[State, Record, jax.Array]) -> jax.Array:
        state, _, n_records = carry
        return (
            (state.status == RUNNING)
            & (state.epoch < until_epoch)
            & (n_records < HISTORY_CAPACITY)
        )

    empty = jnp.zeros(HISTORY_CAPACITY, data.dtype)
    history = Record(empty.astype(jnp.int32), *(empty,) * 4)
    return jax.lax.while_loop(is_training, train_epoch, (state, history, jnp.int32(0)))


run = jax.jit(_run, static_argnames="program")


@partial(jax.jit, static_argnames="program")
def run_vectorized(program: Program, *arguments: Any) -> tuple[State, Record, Any]:
    """Run fits of one shape together, stacked on the first axis of every argument.

    The arguments are those of :func:`run`; `until_epoch`, the last but one, is shared.
    """
    axes = (*(0 for _ in arguments[:-2]), None, 0)
    return jax.vmap(partial(_run, program), axes)(*arguments)
