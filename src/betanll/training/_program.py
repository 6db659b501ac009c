"""Arguments, state and records of the compiled training program."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from betanll.networks import Network
from betanll.training._shuffle import Grid

RUNNING, COMPLETED, STOPPED, DIVERGED = range(4)

#: Names of the four, as results give them.
STATUS_NAMES = ("running", "completed", "stopped", "diverged")

#: Rows of the history that one call of the program can return.
HISTORY_CAPACITY = 1024

#: Random training inputs that an objective may build its state from.
N_INIT_INPUTS = 100


class Program(NamedTuple):
    """Static arguments of the compiled program."""

    network: Network
    n_targets: int
    batch_capacity: int
    validation_chunk: int
    n_snapshots: int = 0
    #: Whether the network reconstructs its inputs, as the data has no targets.
    has_targets: bool = True
    #: Whether validation uses the NLL with heavy tails.
    is_robust: bool = False


class Inputs(NamedTuple):
    """Traced arguments of the compiled program."""

    rows: jax.Array
    #: Number of training samples.
    grid: Grid
    n_validation: jax.Array
    #: Row of the first training sample.
    first: jax.Array
    #: A budget of int32 scalars.
    budget: Any
    #: Updates after which to keep the parameters: epoch and batch, both from 0.
    snapshot_epochs: jax.Array
    snapshot_batches: jax.Array
    key: jax.Array


class Snapshots(NamedTuple):
    """The parameters that were kept so far, one row each."""

    params: jax.Array
    n_taken: jax.Array


class State(NamedTuple):
    """The state of training between epochs; parameters as one flat vector."""

    params: jax.Array
    optimizer: Any
    epoch: jax.Array
    status: jax.Array
    best_params: jax.Array
    best_score: jax.Array
    best_epoch: jax.Array
    n_stale: jax.Array
    snapshots: Snapshots


class Record(NamedTuple):
    """One line of the history; validation values are NaN without validation data."""

    epoch: jax.Array
    train_loss: jax.Array
    validation_nll: jax.Array
    validation_mse: jax.Array
    validation_score: jax.Array
