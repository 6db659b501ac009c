"""Running fits: alone, one per core, or all together on an accelerator."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from betanll.networks import Network
from betanll.objectives import Objective
from betanll.processes import available_cores
from betanll.progress import Progress as ProgressDisplay
from betanll.training import _loop
from betanll.training._data import Data
from betanll.training._memory import check_memory, naming_failed_allocations
from betanll.training._optimizers import Optimizer
from betanll.training._optimizers import optimizer as make_optimizer
from betanll.training._programs import forget_if_many
from betanll.training._result import FitResult
from betanll.training._run import Run, prepare
from betanll.training._task import Budget, FitTask

#: Called with the numbers of epochs done and planned, over all fits.
Progress = Callable[[int, int], None]

#: Called with the result of a fit so far.
Callback = Callable[[FitResult], None]

# Seconds between two returns to Python, for progress and Ctrl-C.
_TICK = 0.3


def fit(
    net: Network,
    objective: Objective | str,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    validation: Sequence[Any] | None = None,
    optimizer: Optimizer | None = None,
    batch_size: int | None = None,
    max_epochs: int = 100,
    patience: int | None = None,
    validate_every: int = 1,
    robust_selection: bool = False,
    schedule_epochs: int | None = None,
    snapshots: Sequence[int] = (),
    seed: int = 0,
    *,
    progress: bool | Progress = False,
    callback: Callback | None = None,
    callback_every: int = 100,
) -> FitResult:
    """Run one fit.

    Values are used as they are: standardise inputs and targets first.

    Parameters
    ----------
    net, objective, optimizer, robust_selection, snapshots, seed
        As in :class:`FitTask`.
    x, y, sample_weight, validation
        As for :meth:`Data.of`. A :class:`Data` as `x` stands for all of them.
    batch_size, max_epochs, patience, validate_every, schedule_epochs
        As in :class:`Budget`.
    progress : bool or callable, default=False
        As for :func:`fit_fleet`.
    callback : callable, optional
        Called with the result so far, which predicts with the current parameters, every
        `callback_every` epochs and at the end. See
        :class:`betanll.diagnostics.PitfallMonitor`.
    callback_every : int, default=100

    Examples
    --------
    >>> import numpy as np
    >>> from betanll.networks import MLP
    >>> from betanll.objectives import BetaNLL
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> result = fit(MLP(1, (16,)), BetaNLL(0.5), x, x**2, max_epochs=20)
    >>> result.status, result.predict(x).mean.shape
    ('completed', (200, 1))
    """
    if callback_every < 1:
        raise ValueError(f"callback_every must be at least 1, got {callback_every}")
    if not isinstance(x, Data):
        x = Data.of(x, y, sample_weight, validation=validation)
    elif not (y is None and sample_weight is None is validation):
        raise ValueError("Data holds targets, weights and validation data")
    task = FitTask(
        net,
        objective,
        x,
        make_optimizer() if optimizer is None else optimizer,
        Budget(batch_size, max_epochs, patience, validate_every, schedule_epochs),
        robust_selection=robust_selection,
        snapshots=snapshots,
        seed=seed,
    )
    if callback is None:
        return fit_fleet([task], n_jobs=1, progress=progress)[0]
    prepared = prepare(task)
    check_memory([prepared], 1)
    with naming_failed_allocations(), _meter([prepared], progress) as meter:
        return _run_one(prepared, meter, callback=callback, every=callback_every)


def fit_fleet(
    tasks: Sequence[FitTask],
    *,
    n_jobs: int | None = None,
    vectorize: bool | None = None,
    progress: bool | Progress = False,
) -> list[FitResult]:
    """Run many fits.

    On a CPU each fit has its own core, which is faster than batching small networks. A
    fit gives the same bits as alone, in any process with as many cores (XLA divides
    work among them). On an accelerator, ``vmap`` batches fits of the same shape.

    Parameters
    ----------
    tasks : sequence of FitTask
        Any tasks. Fits that differ only in data, learning rate, beta, seed and budget
        share one compiled program.
    n_jobs : int, optional
        Fits in parallel, by default one for each core available to the process.
    vectorize : bool, optional
        Batch with ``vmap``; by default on accelerators only.
    progress : bool or callable, default=False
        Show progress on the standard error, or call ``progress(epochs_done,
        epochs_planned)``.

    Returns
    -------
    list of FitResult
        In the order of the tasks.

    Raises
    ------
    MemoryError
        If the fits cannot fit into memory, before anything is compiled.
    """
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"n_jobs must be at least 1, got {n_jobs}")
    if vectorize is None:
        vectorize = jax.default_backend() != "cpu"
    n_jobs = n_jobs or available_cores()
    forget_if_many()
    with naming_failed_allocations():
        fits = [prepare(task) for task in tasks]
        check_memory(fits, len(fits) if vectorize else n_jobs)
        with _meter(fits, progress) as meter:
            if vectorize:
                return _run_vectorized(fits, meter)
            return _run_threads(fits, n_jobs, meter)


class _Meter:
    """Reports epochs of all fits, from any thread."""

    def __init__(self, report: Callable[[int], object]) -> None:
        self._report = report
        self._lock = threading.Lock()

    def add(self, epochs: int) -> None:
        with self._lock:
            self._report(epochs)


@contextmanager
def _meter(fits: Sequence[Run], progress: bool | Progress) -> Iterator[_Meter]:
    total = sum(fit.max_epochs for fit in fits)
    if callable(progress):
        done = 0

        def report(epochs: int) -> None:
            nonlocal done
            done += epochs
            progress(done, total)

        yield _Meter(report)
    else:
        with ProgressDisplay(total, "epochs", is_shown=progress) as shown:
            yield _Meter(shown.update)


class _Pace:
    """Chooses how many epochs to run before the program returns to Python."""

    def __init__(self, max_epochs: int) -> None:
        self._max_epochs = max_epochs
        self._epochs = 1
        self._started = time.perf_counter()

    def after(self, epoch: int) -> int:
        now = time.perf_counter()
        if now - self._started < _TICK / 2:
            self._epochs = min(2 * self._epochs, self._max_epochs)
        elif now - self._started > _TICK * 2:
            self._epochs = max(1, self._epochs // 2)
        self._started = now
        return min(epoch + self._epochs, self._max_epochs)


def _run_one(
    fit: Run,
    meter: _Meter,
    cancelled: threading.Event | None = None,
    *,
    callback: Callback | None = None,
    every: int = 1,
) -> FitResult:
    state, pace = fit.start(), _Pace(fit.max_epochs)
    while state.status == "running":
        if cancelled is not None and cancelled.is_set():
            raise InterruptedError("another fit was interrupted or failed")
        epoch = state.epoch
        until = pace.after(epoch)
        if callback is not None:
            until = min(until, (epoch // every + 1) * every)
        state = fit.advance(state, until)
        meter.add(state.epoch - epoch)
        is_done = state.status != "running"
        if callback is not None and (is_done or state.epoch % every == 0):
            current = fit.result(state)
            callback(replace(current, params=current.last_params))
    meter.add(fit.max_epochs - state.epoch)
    return fit.result(state)


def _run_threads(fits: Sequence[Run], n_jobs: int, meter: _Meter) -> list[FitResult]:
    _compile(fits)
    cancelled = threading.Event()

    def run(fit: Run) -> FitResult:
        return _run_one(fit, meter, cancelled)

    if n_jobs == 1 or len(fits) == 1:
        return [run(fit) for fit in fits]
    with ThreadPoolExecutor(n_jobs) as executor:
        futures = [executor.submit(run, fit) for fit in fits]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            return [future.result() for future in futures]
        except BaseException:
            cancelled.set()
            executor.shutdown(cancel_futures=True)
            raise


def _compile(fits: Sequence[Run]) -> None:
    """Compile each program once, before several threads would do it at a time."""
    seen = set()
    for fit in fits:
        signature = _signature(fit)
        if signature not in seen:
            seen.add(signature)
            _loop.run(fit.program, *fit.arguments(), 0, fit.start().carried)


def _signature(fit: Run) -> Any:
    leaves, structure = jax.tree.flatten(fit.arguments())
    return fit.program, structure, tuple(np.shape(leaf) for leaf in leaves)


def _run_vectorized(fits: Sequence[Run], meter: _Meter) -> list[FitResult]:
    groups: dict[Any, list[int]] = defaultdict(list)
    for i, fit in enumerate(fits):
        groups[_signature(fit)].append(i)
    results: dict[int, FitResult] = {}
    for places in groups.values():
        members = [fits[i] for i in places]
        for i, result in zip(places, _run_group(members, meter), strict=True):
            results[i] = result
    return [results[i] for i in range(len(fits))]


def _run_group(fits: Sequence[Run], meter: _Meter) -> list[FitResult]:
    def stack(trees: Sequence[Any]) -> Any:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)

    arguments = stack([fit.arguments() for fit in fits])
    states = [fit.start() for fit in fits]
    carried = stack([state.carried for state in states])
    pace = _Pace(max(fit.max_epochs for fit in fits))
    while any(state.status == "running" for state in states):
        before = [state.epoch for state in states]
        running = [state.epoch for state in states if state.status == "running"]
        done = _loop.run_vectorized(
            fits[0].program, *arguments, pace.after(min(running)), carried
        )
        carried, records, counts = jax.block_until_ready(done)
        states = [
            state.then(_part(carried, i), _part(records, i), int(counts[i]))
            for i, state in enumerate(states)
        ]
        meter.add(sum(state.epoch for state in states) - sum(before))
    epochs = sum(fit.max_epochs for fit in fits)
    meter.add(epochs - sum(state.epoch for state in states))
    return [fit.result(state) for fit, state in zip(fits, states, strict=True)]


def _part(tree: Any, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], tree)
