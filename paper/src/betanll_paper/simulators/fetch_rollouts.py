"""Rollouts of the simulated Fetch robot, as tasks of a sweep."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import operator
import os
from pathlib import Path
from typing import Any

import numpy as np

from betanll.processes import refuse_to_nest
from betanll.sentences import shortened
from betanll.sweeps import Store, Task, run_sweep, task
from betanll_paper.simulators.fetch_controller import PickAndPlace, draw_skill
from betanll_paper.simulators.fetch_files import (
    ENVIRONMENT,
    N_ROLLOUTS,
    N_STEPS,
    Rollout,
    Shard,
    all_shards,
    missing_shards,
    write_shard,
)

#: Which shards are finished, in the folder of the rollouts.
STORE = "sweep.db"
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

    - 25% are played by an expert with little noise on its actions,
    - 25% with much noise, and now and then the object is dropped,
    - 25% clumsily: the hand also reaches beside the object and closes too early,
    - in 15% the object is pushed over the table instead,
    - in 10% the actions are random.

    The object moves, by more than 0.1 mm, in about 59% of the steps;
    :func:`summarize_fetch` tells it for each skill.

    After an interruption, even a kill, another call keeps the finished files and
    generates the others: each file is a task of a sweep with a store in the folder. A
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
        Show progress on the standard error.

    Raises
    ------
    DataError
        If the folder holds anything else, or rollouts with other settings.
    ImportError
        If the simulator is not installed.
    ChildProcessError
        If files could not be generated, three times in a row. Finished files remain.
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
    if missing := missing_shards(folder, n_rollouts, seed):
        _run(folder, missing, seed, n_jobs, progress)
    # Of processes that were killed while they wrote.
    for leftover in folder.glob(".rollouts-*.npz"):
        leftover.unlink(missing_ok=True)


def _run(
    folder: Path, missing: list[Shard], seed: int, n_jobs: int | None, progress: bool
) -> None:
    """Run the shards as tasks of a sweep, whose store knows which are finished."""

    def task_of(shard: Shard) -> Task:
        path, first, n = shard
        path = path.absolute()  # the files of a moved folder are checked again
        return Task.of(generate_shard, path=str(path), first=first, n=n, seed=seed)

    tasks = list(map(task_of, all_shards(folder)))
    with Store(folder / STORE) as store:
        store.forget_failures()
        store.forget_results(map(task_of, missing))  # their files were deleted
        report = run_sweep(tasks, store, n_workers=n_jobs, progress=progress)
        if report.n_given_up:
            reason = store.failures()[-1][1].strip().splitlines()[-1]
            raise ChildProcessError(
                f"{report.n_given_up} of {len(tasks)} files of rollouts could not be "
                f"generated ({shortened(reason)}); generate again with the same "
                "settings to resume"
            )


@task
def generate_shard(*, path: str, first: int, n: int, seed: int) -> list[dict[str, str]]:
    """Write a shard unless it is there, and return its checksum."""
    shard = Shard(Path(path), first, n)
    if not shard.path.exists():
        simulator = _simulator()
        indices = range(first, first + n)
        write_shard(shard, [play(simulator, seed=seed, index=i) for i in indices])
    checksum = hashlib.sha256(shard.path.read_bytes()).hexdigest()
    return [{"file": shard.path.name, "sha256": checksum}]


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

    The rollout depends on nothing else, in particular not on previous rollouts.
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


@functools.cache
def _simulator() -> Any:
    os.environ["MUJOCO_GL"] = "disable"  # nothing is drawn
    return make_fetch()
