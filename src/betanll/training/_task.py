"""Description and result of one fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
import jax.random
import numpy as np
import numpy.typing as npt

from betanll import objectives
from betanll.distributions import Distribution
from betanll.objectives import Objective
from betanll.training import _loop, _program
from betanll.training._data import (
    PackedData,
    bucket,
    checked_table,
    pack,
    validation_chunk,
)
from betanll.training._optimizers import Adam, Optimizer
from betanll.training._predict import predict_parameters
from betanll.training._shuffle import grid_for

DEFAULT_BATCH_SIZE = 256
_SELECTIONS = ("nll", "student-t")
_NO_LIMIT = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class FitTask:
    """One fit: data, network, objective and budget.

    Values are used as they are: whiten inputs and targets first.

    Parameters
    ----------
    net : MLP or Autoencoder
        The network; its `n_inputs` must equal the number of columns of `x`.
    objective : Objective or str
        What to train, for example ``BetaNLL(0.5)`` or ``"student-t"``.
    x, y : array of shape (n, n_inputs) and (n, n_targets) or (n,)
        Training data, finite. A :class:`PackedData` as `x` stands for these and for
        the weights and validation data below.
    sample_weight : array of shape (n,) or (n, n_targets), optional
        Non-negative weights of the samples or of single targets.
    validation : tuple (x, y) or (x, y, sample_weight), optional
        Data for early stopping and for the choice of the best epoch.
    optimizer : Optimizer, default=Adam()
        ``Adam``, ``AdamW``, ``CosineAdamW``, ``SGD`` or ``RMSprop``.
    batch_size : int, optional
        Samples in an update, by default 256 or all if there are fewer. The last,
        partial batch of an epoch is dropped.
    max_epochs : int, default=100
        Epochs to train; exactly so many without validation data.
    patience : int, optional
        Stop after so many evaluations without strict improvement.
    validate_every : int, default=1
        Epochs from one evaluation, and line of the history, to the next.
    selection : {"nll", "student-t"}, default="nll"
        What chooses the best epoch: the likelihood of the objective, or one with the
        heavy tails of a Student t in place of a Gaussian's, which a few rows far off
        cannot decide. Objectives without a likelihood have their squared error.
    schedule_epochs : int, optional
        Epochs over which a scheduled beta moves, by default `max_epochs`. A refit for
        fewer epochs keeps the budget of the search here.
    snapshots : sequence of int, optional
        Numbers of updates after which to keep the parameters, increasing.
    seed : int, default=0
        Below 2**32. Initialisation, shuffling and the random numbers of the objective.
    """

    net: _program.Net
    objective: Objective | str
    x: Any = field(repr=False)
    y: Any = field(default=None, repr=False)
    sample_weight: Any = field(default=None, repr=False)
    validation: Sequence[Any] | None = field(default=None, repr=False)
    optimizer: Optimizer = field(default_factory=Adam)
    batch_size: int | None = None
    max_epochs: int = 100
    patience: int | None = None
    validate_every: int = 1
    selection: str = "nll"
    schedule_epochs: int | None = None
    snapshots: Sequence[int] = ()
    seed: int = 0


@dataclass(frozen=True, eq=False)
class PreparedFit:
    """A checked task as the arguments of the compiled program."""

    task: FitTask
    objective: Objective
    program: _program.Program
    rows: jnp.ndarray
    init_inputs: npt.NDArray[np.float32]
    sizes: _program.Sizes
    limits: _program.Limits
    snapshot_times: _program.SnapshotTimes
    key: jnp.ndarray
    n_batches: int

    def start(self) -> _program.State:
        """Return the state before the first epoch."""
        init_key, _ = jax.random.split(self.key)
        return _loop.start(
            self.program,
            self.objective,
            self.task.optimizer,
            self.init_inputs,
            init_key,
        )

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of ``run`` after the program, but for the last two."""
        _, run_key = jax.random.split(self.key)
        return (
            self.objective,
            self.task.optimizer,
            self.rows,
            self.sizes,
            self.limits,
            self.snapshot_times,
            run_key,
        )

    @property
    def has_validation(self) -> bool:
        return int(self.sizes.n_validation) > 0


#: Checked and packed data by the identities of the arrays of a task.
SharedData = dict[tuple[int, ...], PackedData]


def prepare(task: FitTask, shared: SharedData | None = None) -> PreparedFit:
    """Check a task; faults raise a ``ValueError`` before anything is compiled.

    Tasks on the same arrays that are prepared with the same `shared` dictionary have
    one copy of the data.
    """
    objective = objectives.get(task.objective)
    if not isinstance(task.optimizer, Optimizer):
        raise ValueError(f"optimizer must be an Optimizer, got {task.optimizer!r}")
    packed = _packed_data(task, {} if shared is None else shared)
    n_train = packed.n_train
    if packed.n_inputs != task.net.n_inputs:
        raise ValueError(
            f"the network expects {task.net.n_inputs} inputs, "
            f"the training data has {packed.n_inputs} columns"
        )
    if n_train < 2:
        raise ValueError("training data must have at least 2 rows, got 1")
    _check_integer("seed", task.seed, 0, 2**32 - 1)
    batch_size = task.batch_size
    if batch_size is None:
        batch_size = min(DEFAULT_BATCH_SIZE, n_train)
    for name, value in [
        ("batch_size", batch_size),
        ("max_epochs", task.max_epochs),
        ("validate_every", task.validate_every),
        ("patience", 1 if task.patience is None else task.patience),
        (
            "schedule_epochs",
            1 if task.schedule_epochs is None else task.schedule_epochs,
        ),
    ]:
        _check_integer(name, value, 1, _NO_LIMIT)
    if task.selection not in _SELECTIONS:
        raise ValueError(
            f"selection must be one of {', '.join(map(repr, _SELECTIONS))}, got "
            f"{task.selection!r}"
        )
    if batch_size > n_train:
        raise ValueError(
            f"batch_size is larger than the training data: {batch_size} > {n_train}"
        )
    if task.patience is not None and packed.n_validation == 0:
        raise ValueError("patience needs validation data")
    n_batches = n_train // batch_size
    snapshots = _checked_snapshots(task.snapshots)

    # Distinct training inputs, repeated only when there are too few.
    n_distinct = min(n_train, _program.N_INIT_INPUTS)
    rng = np.random.default_rng(task.seed)
    places = rng.choice(n_train, n_distinct, replace=False)
    places = np.resize(places, _program.N_INIT_INPUTS)
    n = n_train + packed.n_validation
    # A full batch differs from one cross-validation fold to the next.
    is_full = batch_size == n_train
    program = _program.Program(
        net=task.net,
        n_targets=packed.n_targets or packed.n_inputs,
        batch_capacity=bucket(batch_size) if is_full else -(-batch_size // 8) * 8,
        validation_chunk=validation_chunk(n),
        n_snapshots=len(snapshots),
        has_targets=packed.n_targets > 0,
        has_tails=task.selection == "student-t",
    )
    max_epochs = task.max_epochs
    return PreparedFit(
        task=task,
        objective=objective,
        program=program,
        rows=packed.rows,
        init_inputs=packed.samples(places)[0].T,
        sizes=_program.Sizes(
            grid_for(n_train),
            jnp.int32(packed.n_validation),
            jnp.int32(packed.first),
            jnp.int32(batch_size),
        ),
        limits=_program.Limits(
            max_epochs=jnp.int32(max_epochs),
            patience=jnp.int32(_NO_LIMIT if task.patience is None else task.patience),
            validate_every=jnp.int32(task.validate_every),
            schedule_epochs=jnp.int32(task.schedule_epochs or max_epochs),
        ),
        snapshot_times=_program.SnapshotTimes(
            *(
                jnp.asarray(part, jnp.int32)
                for part in np.divmod(snapshots - 1, n_batches)
            )
        ),
        key=jax.random.key(task.seed),
        n_batches=n_batches,
    )


def _packed_data(task: FitTask, shared: SharedData) -> PackedData:
    if isinstance(task.x, PackedData):
        if not (task.y is None and task.sample_weight is None is task.validation):
            raise ValueError("packed data holds targets, weights and validation data")
        return task.x
    parts = () if task.validation is None else tuple(task.validation)
    if task.validation is not None and len(parts) not in (2, 3):
        raise ValueError(
            "validation must be (x, y) or (x, y, sample_weight), "
            f"got {len(parts)} elements"
        )
    arrays = (task.x, task.y, task.sample_weight, *parts)
    identity = tuple(id(array) for array in arrays)
    if identity not in shared:
        train = checked_table(*arrays[:3], what="training data")
        validation = checked_table(*parts, what="validation data") if parts else None
        shared[identity] = pack(train, validation)
    return shared[identity]


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


@dataclass(frozen=True, eq=False)
class FitResult:
    """A trained network.

    Attributes
    ----------
    net, objective, optimizer
        What was trained and how, as in the task.
    params : pytree
        Parameters of the best epoch with validation data, else of the last one; their
        moving average if the optimiser keeps one.
    last_params : pytree
        The same after the last epoch.
    status : {"completed", "stopped", "diverged", "running"}
        Whether the budget was used up, patience ran out, or the loss became NaN; a
        callback is also shown a fit that goes on.
    n_epochs, n_updates : int
        What was trained.
    best_epoch : int
        Epoch of the best validation score, 0 without validation data.
    best_score : float
        Validation NLL of that epoch, with heavy tails if these were to select, or MSE
        for objectives selected by it.
    history : dict of str to array
        `epoch`, `train_loss`, `validation_nll`, `validation_mse`, and
        `validation_score`, which selects the epoch, by evaluation.
    snapshots : dict of int to pytree
        Parameters by the number of updates, as far as training came.
    """

    net: _program.Net
    objective: Objective
    optimizer: Optimizer
    params: Any = field(repr=False)
    last_params: Any = field(repr=False)
    status: str
    n_epochs: int
    n_updates: int
    best_epoch: int
    best_score: float
    history: dict[str, npt.NDArray[Any]] = field(repr=False)
    snapshots: dict[int, Any] = field(repr=False, default_factory=dict)

    def at(self, update: int) -> FitResult:
        """Return the result with the parameters of a snapshot."""
        if update not in self.snapshots:
            taken = ", ".join(map(str, self.snapshots)) or "none"
            raise ValueError(
                f"there is no snapshot of update {update}, only of: {taken}"
            )
        return replace(self, params=self.snapshots[update])

    def features(self, x: Any) -> jnp.ndarray:
        """Return the activations of the last hidden layer, ``(n, n_units)``.

        A function of JAX, to be differentiated by `x`; see
        :func:`betanll.diagnostics.feature_jacobians`.
        """
        return self.net.features(self.params, jnp.asarray(x).T).T

    def predict(self, x: Any) -> Distribution:
        """Return the predictive distribution, of shape ``(n, n_targets)``.

        A fit that diverged before it had a best epoch has nothing to predict with.
        """
        if self.status == "diverged" and self.best_epoch == 0:
            raise ValueError(
                f"the fit diverged in epoch {self.n_epochs} and has no usable "
                "parameters: whiten the data or lower the learning rate"
            )
        parameters = predict_parameters(self.net, self.objective, self.params, x)
        return self.objective.predictive(parameters)


_STATUS_NAMES = {
    _program.RUNNING: "running",
    _program.COMPLETED: "completed",
    _program.STOPPED: "stopped",
    _program.DIVERGED: "diverged",
}


def result_of(
    fit: PreparedFit, state: _program.State, history: dict[str, npt.NDArray[Any]]
) -> FitResult:
    """Read the final state of a fit."""
    last, best = (
        _loop.unpack(fit.program, fit.objective, params)
        for params in (
            fit.task.optimizer.evaluated(state.params, state.optimizer),
            state.best_params,
        )
    )
    is_finite = bool(np.all(np.isfinite(state.params)))
    kept = np.asarray(state.snapshots.params)[: int(state.snapshots.n_taken)]
    return FitResult(
        net=fit.task.net,
        objective=fit.objective,
        optimizer=fit.task.optimizer,
        params=(best if fit.has_validation else last)["net"],
        last_params=last["net"],
        status=_STATUS_NAMES[int(state.status)] if is_finite else "diverged",
        n_epochs=int(state.epoch),
        n_updates=int(state.epoch) * fit.n_batches,
        best_epoch=int(state.best_epoch),
        best_score=float(state.best_score),
        history=history,
        snapshots={
            int(update): _loop.unpack(fit.program, fit.objective, params)["net"]
            for update, params in zip(fit.task.snapshots, kept, strict=False)
        },
    )
