"""Rollouts of the simulated Fetch robot, generated on several cores."""

from __future__ import annotations

import contextlib
import functools
import io
import multiprocessing
import operator
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

from betanll.processes import available_cores, check_guard, refuse_to_nest
from betanll.progress import Progress
from betanll_paper.simulators.fetch_controller import PickAndPlace, draw_skill
from betanll_paper.simulators.fetch_files import (
    ENVIRONMENT,
    N_ROLLOUTS,
    N_STEPS,
    Rollout,
    Shard,
    missing_shards,
    remove_leftovers,
    write_shard,
)

#: With fewer, one of the parts of the split would be empty.
MIN_ROLLOUTS = 7


def generate_fetch(
    folder: str | os.PathLike[str],
    *,
    n_rollouts: int = N_ROLLOUTS,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> None:
    """Generate transitions of Fetch-PickAndPlace, to be loaded by :func:`load_fetch`.

    They are a **substitute** for those of Seitzer et al. (2022), which were recorded
    with APEX agents (Pinneri et al. 2021) and never published. A scripted controller
    picks the object up, brings it to its goal and holds it there, on a level of skill
    that is drawn for each rollout:

    - 25 % are played by an expert with little noise on its actions,
    - 25 % with much noise, and now and then the object is dropped,
    - 25 % clumsily: the hand also reaches beside the object and closes too early,
    - in 15 % the object is pushed over the table instead,
    - in 10 % the actions are random.

    The object moves, by more than 0.1 mm, in about 59 % of the steps;
    :func:`summarize_fetch` tells it for each skill.

    After an interruption, by whatever, another call goes on where this one stopped. A
    rollout depends on `seed` and its number alone: not on the number of processes, and
    not on interruptions. Other versions of the simulator may give other bits.

    Parameters
    ----------
    folder : path
        Where the rollouts are written; nothing else may be in it.
    n_rollouts : int, default=16_800
        Rollouts of 50 steps each, by default 840 000 transitions.
    seed : int, default=0
    n_jobs : int, optional
        Number of processes, by default one for each core. They import the calling
        script: it must be guarded by ``if __name__ == "__main__":``.
    progress : bool, default=False
        Show how far it has come, on the standard error.

    Raises
    ------
    DataError
        If the folder holds anything else, or rollouts with other settings.
    ImportError
        If the simulator is not installed.
    """
    refuse_to_nest()
    n_rollouts, seed = operator.index(n_rollouts), operator.index(seed)
    if n_rollouts < MIN_ROLLOUTS:
        raise ValueError(f"n_rollouts must be at least {MIN_ROLLOUTS}")
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}")
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(f"n_jobs must be at least 1, got {n_jobs}")
    folder = Path(folder)
    shards = missing_shards(folder, n_rollouts, seed)
    n_missing = sum(shard.n for shard in shards)
    n_before = (n_rollouts - n_missing) * N_STEPS
    with Progress(
        n_rollouts * N_STEPS, "steps", initial=n_before, is_shown=progress
    ) as shown:
        if shards:
            _run(shards, seed, n_jobs or available_cores(), shown.update)
    remove_leftovers(folder)


def make_fetch() -> Any:
    """Return the simulator, without the wrappers that check its use."""
    import gymnasium

    # gymnasium-robotics greets with a notice about other robots.
    with contextlib.redirect_stderr(io.StringIO()):
        import gymnasium_robotics

    gymnasium.register_envs(gymnasium_robotics)
    return gymnasium.make(ENVIRONMENT).unwrapped


def play(simulator: Any, *, seed: int, index: int) -> Rollout:
    """Return rollout `index` of the data with this seed.

    It depends on nothing else, in particular not on what was simulated before.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    skill = draw_skill(rng)
    seen, _ = simulator.reset(seed=int(rng.integers(2**32)))
    goal = seen["desired_goal"]
    player = PickAndPlace(skill, seen["observation"][:3], goal, rng)
    observations, actions = [seen["observation"]], []
    for _ in range(N_STEPS):
        actions.append(player.act(observations[-1]))
        seen, *_ = simulator.step(actions[-1])
        observations.append(seen["observation"])
    return Rollout(np.array(observations), np.array(actions), goal, skill)


def _run(
    shards: list[Shard], seed: int, n_jobs: int, report: Callable[[int], object]
) -> None:
    """Generate shards in processes, and report numbers of steps that are stored."""
    # Not forked: threads, such as those of JAX, do not survive that.
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    n_workers = min(n_jobs, len(shards))
    pool = ProcessPoolExecutor(n_workers, context, _start_worker, (stop,))
    try:
        with _interruption_delayed():
            futures = [pool.submit(_generate, shard, seed) for shard in shards]
        for future in as_completed(futures):
            report(future.result())
    except BrokenProcessPool:
        check_guard("generate_fetch")
        raise ChildProcessError(
            "a process that simulates has died; what is finished stays: generate again "
            "with the same settings to go on"
        ) from None
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _interruption_delayed() -> Iterator[None]:
    """Hold back Ctrl-C; processes started meanwhile do not hear it at all."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# In the workers


class _Stopped(Exception):
    """The generation ends early."""


_stop: Event


def _start_worker(stop: Event) -> None:
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # `stop` is for that
    os.environ["MUJOCO_GL"] = "disable"  # nothing is drawn
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Leave when the process that started this one is killed; nobody tells a worker."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _generate(shard: Shard, seed: int) -> int:
    """Write a shard and return its number of steps."""
    rollouts = []
    for index in range(shard.first, shard.first + shard.n):
        if _stop.is_set():
            raise _Stopped
        rollouts.append(play(_simulator(), seed=seed, index=index))
    write_shard(shard, rollouts)
    return shard.n * N_STEPS


@functools.cache
def _simulator() -> Any:
    return make_fetch()
