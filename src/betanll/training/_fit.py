"""Running fits: alone, one per core, or all together on an accelerator."""

from __future__ import annotations

import os
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
from tqdm.auto import tqdm

from betanll.training import _loop, _program
from betanll.training._task import (
    FitResult,
    FitTask,
    PreparedFit,
    SharedData,
    prepare,
    result_of,
)

#: Called with the numbers of epochs done and planned, over all fits.
Progress = Callable[[int, int], None]

#: Called with the result of a fit so far.
Callback = Callable[[FitResult], None]

# Seconds between two returns to Python, for progress and Ctrl-C.
_TICK = 0.3


def fit(
    *args: Any,
    progress: bool | Progress = False,
    callback: Callback | None = None,
    callback_every: int = 100,
    **kwargs: Any,
) -> FitResult:
    """Run one fit; the arguments are those of :class:`FitTask`.

    Parameters
    ----------
    progress : bool or callable, default=False
        As for :func:`fit_fleet`.
    callback : callable, optional
        Is called with the result so far, which predicts with the parameters of the
        moment, every `callback_every` epochs and at the end. See
        :class:`betanll.diagnostics.PitfallMonitor`.
    callback_every : int, default=100

    Examples
    --------
    >>> import numpy as np
    >>> from betanll.nets import MLP
    >>> from betanll.objectives import BetaNLL
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> result = fit(MLP(1, (16,)), BetaNLL(0.5), x, x**2, max_epochs=20)
    >>> result.status, result.predict(x).mean.shape
    ('completed', (200, 1))
    """
    if callback_every < 1:
        raise ValueError(f"callback_every must be at least 1, got {callback_every}")
    task = FitTask(*args, **kwargs)
    if callback is None:
        return fit_fleet([task], n_jobs=1, progress=progress)[0]
    prepared = prepare(task)
    with _meter([prepared], progress) as meter:
        return _run_one(prepared, meter, callback=callback, every=callback_every)


def fit_fleet(
    tasks: Sequence[FitTask],
    *,
    n_jobs: int | None = None,
    vectorize: bool | None = None,
    progress: bool | Progress = False,
) -> list[FitResult]:
    """Run many fits.

    On a CPU each fit has a core of its own, which beats batching small networks, and
    gives the same bits as the fit alone, in any process that sees as many cores (XLA
    divides work among them). On an accelerator, fits of the same shape are batched with
    ``vmap``.

    Parameters
    ----------
    tasks : sequence of FitTask
        They may differ in everything; fits that differ only in data, learning rate,
        beta, seed and budget share one compiled program.
    n_jobs : int, optional
        Fits at a time, by default one for each core available to the process.
    vectorize : bool, optional
        Batch with ``vmap``; by default on accelerators only.
    progress : bool or callable, default=False
        Show a progress bar, or call ``progress(epochs_done, epochs_planned)``.

    Returns
    -------
    list of FitResult
        In the order of the tasks.
    """
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"n_jobs must be at least 1, got {n_jobs}")
    shared: SharedData = {}
    fits = [prepare(task, shared) for task in tasks]
    if vectorize is None:
        vectorize = jax.default_backend() != "cpu"
    with _meter(fits, progress) as meter:
        if vectorize:
            return _run_vectorized(fits, meter)
        return _run_threads(fits, n_jobs or available_cores(), meter)


def available_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Meter:
    """Counts epochs over all fits, from any thread."""

    def __init__(self, total: int, report: Progress | None) -> None:
        self._report = report
        self._total = total
        self._done = 0
        self._lock = threading.Lock()

    def add(self, epochs: int) -> None:
        with self._lock:
            self._done += epochs
            if self._report is not None:
                self._report(self._done, self._total)


@contextmanager
def _meter(fits: Sequence[PreparedFit], progress: bool | Progress) -> Iterator[_Meter]:
    total = sum(fit.task.max_epochs for fit in fits)
    if callable(progress):
        yield _Meter(total, progress)
    elif progress:
        with tqdm(total=total, unit="epoch", delay=2, leave=False, disable=None) as bar:
            yield _Meter(total, lambda done, _: bar.update(done - bar.n))
    else:
        yield _Meter(total, None)


class _History:
    """Gathers the records that the program returns piece by piece."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[Any]] = defaultdict(list)

    def extend(self, records: Any, n: int) -> None:
        for name, column in records._asdict().items():
            self._pieces[name].append(np.asarray(column)[:n])

    def arrays(self) -> dict[str, Any]:
        return {name: np.concatenate(p) for name, p in self._pieces.items()}


class _Pace:
    """Chooses until which epoch to run before Python looks again."""

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
    fit: PreparedFit,
    meter: _Meter,
    cancelled: threading.Event | None = None,
    *,
    callback: Callback | None = None,
    every: int = 1,
) -> FitResult:
    arguments, state = fit.arguments(), fit.start()
    history, pace = _History(), _Pace(fit.task.max_epochs)
    while int(state.status) == _program.RUNNING:
        if cancelled is not None and cancelled.is_set():
            raise InterruptedError("another fit was interrupted or failed")
        epoch = int(state.epoch)
        until = pace.after(epoch)
        if callback is not None:
            until = min(until, (epoch // every + 1) * every)
        state, records, n_records = jax.block_until_ready(
            _loop.run(fit.program, *arguments, until, state)
        )
        history.extend(records, int(n_records))
        meter.add(int(state.epoch) - epoch)
        is_done = int(state.status) != _program.RUNNING
        if callback is not None and (is_done or int(state.epoch) % every == 0):
            current = result_of(fit, state, history.arrays())
            callback(replace(current, params=current.last_params))
    meter.add(fit.task.max_epochs - int(state.epoch))
    return result_of(fit, state, history.arrays())


def _run_threads(
    fits: Sequence[PreparedFit], n_jobs: int, meter: _Meter
) -> list[FitResult]:
    _compile(fits)
    cancelled = threading.Event()

    def run(fit: PreparedFit) -> FitResult:
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


def _compile(fits: Sequence[PreparedFit]) -> None:
    """Compile each program once, before several threads would do it at a time."""
    seen = set()
    for fit in fits:
        signature = _signature(fit)
        if signature not in seen:
            seen.add(signature)
            _loop.run(fit.program, *fit.arguments(), 0, fit.start())


def _signature(fit: PreparedFit) -> Any:
    leaves, structure = jax.tree.flatten(fit.arguments())
    return fit.program, structure, tuple(np.shape(leaf) for leaf in leaves)


def _run_vectorized(fits: Sequence[PreparedFit], meter: _Meter) -> list[FitResult]:
    groups: dict[Any, list[int]] = defaultdict(list)
    for i, fit in enumerate(fits):
        groups[_signature(fit)].append(i)
    results: dict[int, FitResult] = {}
    for places in groups.values():
        members = [fits[i] for i in places]
        for i, result in zip(places, _run_group(members, meter), strict=True):
            results[i] = result
    return [results[i] for i in range(len(fits))]


def _run_group(fits: Sequence[PreparedFit], meter: _Meter) -> list[FitResult]:
    def stack(trees: Sequence[Any]) -> Any:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)

    arguments = stack([fit.arguments() for fit in fits])
    states = stack([fit.start() for fit in fits])
    histories = [_History() for _ in fits]
    pace = _Pace(max(fit.task.max_epochs for fit in fits))
    while np.any(np.asarray(states.status) == _program.RUNNING):
        before = np.asarray(states.epoch)
        running = np.asarray(states.status) == _program.RUNNING
        until = pace.after(int(before[running].min()))
        states, records, counts = jax.block_until_ready(
            _loop.run_vectorized(fits[0].program, *arguments, until, states)
        )
        for i, history in enumerate(histories):
            part = jax.tree.map(lambda column, i=i: column[i], records)
            history.extend(part, int(counts[i]))
        meter.add(int(np.sum(np.asarray(states.epoch) - before)))
    meter.add(sum(f.task.max_epochs for f in fits) - int(np.sum(states.epoch)))
    return [
        result_of(
            fit, jax.tree.map(lambda leaf, i=i: leaf[i], states), histories[i].arrays()
        )
        for i, fit in enumerate(fits)
    ]
