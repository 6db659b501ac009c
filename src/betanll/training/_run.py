"""One fit, step by step: check, start, advance and read the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from betanll import objectives
from betanll.objectives import Objective
from betanll.training import _loop, _program
from betanll.training._data import Data, padded_size, validation_chunk
from betanll.training._optimizers import Optimizer
from betanll.training._result import FitResult
from betanll.training._shuffle import grid_for
from betanll.training._task import Budget, FitTask

DEFAULT_BATCH_SIZE = 256
_NO_LIMIT = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class RunState:
    """The state of a run.

    Attributes
    ----------
    epoch : int
        Epochs done.
    status : {"running", "completed", "stopped", "diverged"}
    """

    carried: _program.State
    records: tuple[_program.Record, ...] = ()

    @property
    def epoch(self) -> int:
        return int(self.carried.epoch)

    @property
    def status(self) -> str:
        return _program.STATUS_NAMES[int(self.carried.status)]

    def then(self, carried: _program.State, records: Any, n_records: int) -> RunState:
        """Return the state after one more call of the program."""
        kept = jax.tree.map(lambda column: np.asarray(column)[:n_records], records)
        return RunState(carried, (*self.records, kept))


@dataclass(frozen=True, eq=False)
class Run:
    """A checked task that can be trained step by step; :func:`prepare` makes one.

    Attributes
    ----------
    task : FitTask
    n_batches : int
        Updates in an epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from betanll.networks import MLP
    >>> from betanll.training import Budget, Data, FitTask, prepare
    >>> x = np.linspace(-1, 1, 64)[:, None]
    >>> budget = Budget(max_epochs=20)
    >>> run = prepare(FitTask(MLP(1, (8,)), "nll", Data.of(x, x), budget=budget))
    >>> state = run.advance(run.start(), until_epoch=5)
    >>> state.epoch, state.status
    (5, 'running')
    >>> state = run.advance(state, until_epoch=100)
    >>> state.epoch, run.result(state).status
    (20, 'completed')
    """

    task: FitTask
    objective: Objective
    program: _program.Program
    inputs: _program.Inputs
    init_inputs: npt.NDArray[np.float32]
    init_key: jax.Array
    n_batches: int

    def start(self) -> RunState:
        """Return the state before the first epoch."""
        return RunState(
            _loop.start(
                self.program,
                self.objective,
                self.task.optimizer,
                self.init_inputs,
                self.init_key,
            )
        )

    def advance(self, state: RunState, until_epoch: int) -> RunState:
        """Train until this epoch, or until training ends."""
        arguments = self.arguments()
        while state.status == "running" and state.epoch < until_epoch:
            done = _loop.run(self.program, *arguments, until_epoch, state.carried)
            carried, records, n_records = jax.block_until_ready(done)
            state = state.then(carried, records, int(n_records))
        return state

    def result(self, state: RunState) -> FitResult:
        """Return the result of a run so far."""
        carried, task = state.carried, self.task
        unravel = partial(_loop.unpack, self.program, self.objective)
        evaluated = task.optimizer.evaluated(carried.params, carried.optimizer, unravel)
        last, best = unravel(evaluated), unravel(carried.best_params)
        is_finite = bool(np.all(np.isfinite(carried.params)))
        kept = np.asarray(carried.snapshots.params)[: int(carried.snapshots.n_taken)]
        return FitResult(
            network=task.network,
            objective=self.objective,
            optimizer=task.optimizer,
            params=(best if task.data.n_validation else last)["net"],
            last_params=last["net"],
            status=state.status if is_finite else "diverged",
            n_epochs=state.epoch,
            n_updates=state.epoch * self.n_batches,
            best_epoch=int(carried.best_epoch),
            best_score=float(carried.best_score),
            history={
                name: np.concatenate([getattr(part, name) for part in state.records])
                for name in (_program.Record._fields if state.records else ())
            },
            snapshots={
                int(update): unravel(params)["net"]
                for update, params in zip(task.snapshots, kept, strict=False)
            },
        )

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of the program, but for the epoch and the state."""
        return self.objective, self.task.optimizer, self.inputs

    @property
    def max_epochs(self) -> int:
        """Epochs of the budget."""
        return int(self.task.budget.max_epochs)


def prepare(task: FitTask) -> Run:
    """Check a task; raise a ``ValueError`` before anything is compiled.

    See :class:`Run` for an example.
    """
    objective = objectives.get(task.objective)
    if not isinstance(task.optimizer, Optimizer):
        raise ValueError(
            "optimizer must be an Optimizer such as optimizer(learning_rate=0.001), "
            f"got {task.optimizer!r}"
        )
    network: Any = task.network
    data = task.data
    check_network(network)
    if not isinstance(data, Data):
        raise ValueError(
            f"data must be Data, such as Data.of(x, y), got {type(data).__name__}"
        )
    if data.n_inputs != network.n_inputs:
        raise ValueError(
            f"the network expects {network.n_inputs} inputs, "
            f"the training data has {data.n_inputs} columns"
        )
    if data.n_train < 2:
        raise ValueError("training data must have at least 2 rows, got 1")
    _check_integer("seed", task.seed, 0, 2**32 - 1)
    budget = _checked_budget(task.budget, data)
    n_targets = data.n_targets or data.n_inputs
    arranges_outputs = type(objective).split_outputs is not Objective.split_outputs
    _check_outputs(
        network,
        objective.head_sizes(n_targets),
        objective.n_detached * n_targets,
        arranges_outputs,
    )
    n_batches = data.n_train // budget.batch_size
    snapshots = _checked_snapshots(task.snapshots)
    epochs, batches = np.divmod(snapshots - 1, n_batches)

    # Distinct training inputs, repeated only when there are too few.
    n_distinct = min(data.n_train, _program.N_INIT_INPUTS)
    rng = np.random.default_rng(task.seed)
    indices = rng.choice(data.n_train, n_distinct, replace=False)
    indices = np.resize(indices, _program.N_INIT_INPUTS)
    # A full batch differs from one cross-validation fold to the next.
    is_full = budget.batch_size == data.n_train
    init_key, run_key = jax.random.split(jax.random.key(task.seed))
    return Run(
        task=task,
        objective=objective,
        program=_program.Program(
            network=network,
            n_targets=n_targets,
            batch_capacity=padded_size(budget.batch_size)
            if is_full
            else -(-budget.batch_size // 8) * 8,
            validation_chunk=validation_chunk(len(data)),
            n_snapshots=len(snapshots),
            has_targets=data.n_targets > 0,
            is_robust=bool(task.robust_selection),
        ),
        inputs=_program.Inputs(
            rows=data.rows,
            grid=grid_for(data.n_train),
            n_validation=jnp.int32(data.n_validation),
            first=jnp.int32(data.first),
            budget=jax.tree.map(jnp.int32, budget),
            snapshot_epochs=jnp.asarray(epochs, jnp.int32),
            snapshot_batches=jnp.asarray(batches, jnp.int32),
            key=run_key,
        ),
        init_inputs=data.samples(indices)[0].T,
        init_key=init_key,
        n_batches=n_batches,
    )


def _checked_budget(given: Budget, data: Data) -> Any:
    """Return the budget without any None."""
    if not isinstance(given, Budget):
        raise ValueError(f"budget must be a Budget, got {given!r}")
    batch_size, schedule = given.batch_size, given.schedule_epochs
    if batch_size is None:
        batch_size = min(DEFAULT_BATCH_SIZE, data.n_train)
    budget = given._replace(
        batch_size=batch_size,
        patience=_NO_LIMIT if given.patience is None else given.patience,
        schedule_epochs=given.max_epochs if schedule is None else schedule,
    )
    for name, value in budget._asdict().items():
        _check_integer(name, value, 1, _NO_LIMIT)
    if batch_size > data.n_train:
        raise ValueError(
            "batch_size is larger than the training data: "
            f"{batch_size} > {data.n_train}"
        )
    if given.patience is not None and data.n_validation == 0:
        raise ValueError("patience needs validation data")
    return budget


def _checked_snapshots(snapshots: Sequence[int]) -> npt.NDArray[np.int64]:
    for number in snapshots:
        _check_integer("snapshots", number, 1, _NO_LIMIT)
    numbers = np.array(snapshots, np.int64)
    if np.any(np.diff(numbers) <= 0):
        raise ValueError("snapshots must increase")
    return numbers


def _check_integer(name: str, value: Any, low: int, high: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer, got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")
    if value > high:
        raise ValueError(f"{name} must be at most {high}, got {value}")


def check_network(net: Any) -> None:
    """Refuse what is not the description of a network, in one sentence.

    Examples
    --------
    >>> from betanll.training import check_network
    >>> check_network("mlp")
    Traceback (most recent call last):
    ValueError: the network str must have n_inputs
    """
    name = type(net).__name__
    for attribute in ("n_inputs", "init", "apply"):
        if not hasattr(net, attribute):
            raise ValueError(f"the network {name} must have {attribute}")
    try:
        hash(net)
    except TypeError:
        raise ValueError(
            f"the network {name} must be hashable, such as a frozen dataclass of "
            "numbers and strings: init returns its arrays"
        ) from None


@lru_cache(maxsize=1024)
def _check_outputs(
    net: Any, head_sizes: tuple[int, ...], n_detached: int, arranges_outputs: bool
) -> None:
    """Refuse a network whose outputs are not what the objective needs.

    `arranges_outputs` says that outputs of any kind, as of an autoencoder, are for the
    objective to arrange.
    """
    n_outputs = sum(head_sizes)
    # Not the number of outputs, to detect transposed outputs.
    n = n_outputs + 1
    inputs = jax.ShapeDtypeStruct((net.n_inputs, n), jnp.float32)
    params = jax.eval_shape(partial(net.init, head_sizes), key=jax.random.key(0))
    found = jax.eval_shape(partial(net.apply, n_detached=n_detached), params, inputs)
    name = type(net).__name__
    if not isinstance(found, jax.ShapeDtypeStruct):
        if arranges_outputs:
            return
        raise ValueError(
            f"the network {name} must return one array of shape ({n_outputs}, n) for n "
            f"samples, got {type(found).__name__}"
        )
    if found.shape != (n_outputs, n):
        raise ValueError(
            f"the network {name} must return outputs of shape "
            f"({n_outputs}, n) for n samples, got {found.shape} for n = {n}"
        )
