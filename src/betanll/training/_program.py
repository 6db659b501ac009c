"""What the compiled training program takes, carries from epoch to epoch and returns."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax

from betanll.training._shuffle import Grid

RUNNING, COMPLETED, STOPPED, DIVERGED = range(4)

#: Rows of the history that one call of the program can return.
HISTORY_CAPACITY = 1024

#: Random training inputs that an objective may build its state from.
N_INIT_INPUTS = 100


class Net(Protocol):
    """A network description: hashable, with parameters as a pytree."""

    @property
    def n_inputs(self) -> int: ...
    def init(self, head_sizes: tuple[int, ...], *, key: jax.Array) -> Any: ...
    def apply(self, params: Any, inputs: Any, *, n_detached: int = 0) -> Any: ...
    def features(self, params: Any, inputs: jax.Array) -> jax.Array: ...


class Program(NamedTuple):
    """What the compiled program depends on, beside the shape of the data."""

    net: Net
    n_targets: int
    batch_capacity: int
    validation_chunk: int
    n_snapshots: int = 0
    #: Without targets in the data, the inputs are to be reconstructed.
    has_targets: bool = True
    #: Whether validation scores a likelihood with heavy tails.
    has_tails: bool = False


class Sizes(NamedTuple):
    """Numbers of samples, and the row of the first training sample; all traced."""

    grid: Grid
    n_validation: jax.Array
    first: jax.Array
    batch_size: jax.Array


class Limits(NamedTuple):
    """When to validate and when to stop, all traced."""

    max_epochs: jax.Array
    patience: jax.Array
    validate_every: jax.Array
    schedule_epochs: jax.Array


class SnapshotTimes(NamedTuple):
    """After which updates to keep the parameters: epoch and batch, both from 0."""

    epochs: jax.Array
    batches: jax.Array


class Snapshots(NamedTuple):
    """The parameters that were kept so far, one row each."""

    params: jax.Array
    n_taken: jax.Array


class State(NamedTuple):
    """What training carries from epoch to epoch; parameters as one flat vector."""

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
