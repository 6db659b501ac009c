"""Generated Fetch rollouts as inputs and targets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from betanll.datasets import Samples, Splits
from betanll.typing import Array
from betanll_paper.simulators.fetch_controller import SKILLS
from betanll_paper.simulators.fetch_files import (
    N_ACTIONS,
    N_OBSERVED,
    N_STEPS,
    complete_shards,
    read_shard,
)

#: An object that moves less than this in a step is at rest, in metres. On the table the
#: solver of the simulator lets it tremble by less than a thousandth of it.
MOVING = 1e-4

#: The simulator counts an object as arrived if it is as near to its goal, in metres.
ARRIVED = 0.05

_SPLIT_SEED = 42
_OBJECT = slice(3, 6)


def load_fetch(folder: str | os.PathLike[str]) -> Splits:
    """Load transitions of Fetch-PickAndPlace: how far does the object move in a step?

    The rollouts come from :func:`generate_fetch`. They are a **substitute** for the
    840 000 transitions of Seitzer et al. (2022), which were recorded with APEX agents
    and never published; the paper's absolute numbers do not apply to them.

    Parameters
    ----------
    folder : path
        Where the rollouts were generated, all of them.

    Returns
    -------
    Splits
        Training, validation and test samples: 70, 15 and 15% of the rollouts, drawn
        with seed 42 as in the authors' code. The steps of a rollout follow each other.

        Inputs ``(n, 29)`` are the observation before the step and the action, targets
        ``(n, 3)`` the change of the object's position in metres. Columns of the inputs:
        position of the gripper (0-2), of the object (3-5) and of the object as seen
        from the gripper (6-8), of the fingers (9-10), rotation of the object (11-13),
        its velocity as seen from the gripper (14-16) and its angular velocity (17-19),
        velocity of the gripper (20-22) and of the fingers (23-24), action (25-28). The
        goal is left out: the object does not know it.

    Raises
    ------
    DataError
        Where rollouts are missing or damaged.
    """
    shards = complete_shards(Path(folder))
    parts = split_rollouts(sum(shard.n for shard in shards))
    n_inputs, n_targets = N_OBSERVED + N_ACTIONS, 3
    x = [np.empty((len(part), N_STEPS, n_inputs)) for part in parts]
    y = [np.empty((len(part), N_STEPS, n_targets)) for part in parts]
    # One shard after the other, so that no second copy of the data is needed.
    for shard in shards:
        rollouts = read_shard(shard)
        for part, part_x, part_y in zip(parts, x, y, strict=True):
            (to,) = np.nonzero((shard.first <= part) & (part < shard.first + shard.n))
            here = part[to] - shard.first
            observations = rollouts.observations[here]
            part_x[to, :, :N_OBSERVED] = observations[:, :-1]
            part_x[to, :, N_OBSERVED:] = rollouts.actions[here]
            part_y[to] = np.diff(observations[..., _OBJECT], axis=1)
    return Splits(
        *(
            Samples(part_x.reshape(-1, n_inputs), part_y.reshape(-1, n_targets))
            for part_x, part_y in zip(x, y, strict=True)
        )
    )


def split_rollouts(n_rollouts: int) -> list[npt.NDArray[np.int_]]:
    """Return the numbers of the rollouts for training, validation and test.

    Examples
    --------
    >>> [len(part) for part in split_rollouts(16_800)]
    [11760, 2520, 2520]
    """
    # The old generator: the split is that of the authors' code.
    generator = np.random.RandomState(_SPLIT_SEED)
    n_train, n_validation = n_rollouts * 70 // 100, n_rollouts * 15 // 100
    order = generator.permutation(n_rollouts)
    return np.split(order, [n_train, n_train + n_validation])


def share_moving(change: npt.ArrayLike, *, threshold: float = MOVING) -> float:
    """Return the share of steps in which the object moves.

    Parameters
    ----------
    change : array of shape (..., 3)
        Change of the object's position, in metres.
    threshold : float, default=1e-4
        The least distance that counts.

    Examples
    --------
    >>> share_moving([[0.0, 0.0, -1e-7], [0.003, 0.0, 0.004]])
    0.5
    """
    distance = np.linalg.norm(np.asarray(change, np.float64), axis=-1)
    return float(np.mean(distance > threshold))


class FetchSummary(NamedTuple):
    """Some figures of rollouts.

    Parameters
    ----------
    n_rollouts : int
    share_moving : float
        Share of the steps in which the object moves, see :func:`share_moving`.
    share_arrived : float
        Share of the rollouts at whose end the object is within 5 cm of its goal.
    """

    n_rollouts: int
    share_moving: float
    share_arrived: float


def summarize_fetch(folder: str | os.PathLike[str]) -> dict[str, FetchSummary]:
    """Return figures of the rollouts in a folder, by skill and for ``"all"``."""
    skills, changes, arrived = [], [], []
    for shard in complete_shards(Path(folder)):
        rollouts = read_shard(shard)
        positions = rollouts.observations[..., _OBJECT]
        skills.append(rollouts.skills)
        changes.append(np.diff(positions, axis=1))
        arrived.append(_distance(positions[:, -1], rollouts.goals) < ARRIVED)
    skill, change = np.concatenate(skills), np.concatenate(changes)
    has_arrived = np.concatenate(arrived)

    def summary(chosen: npt.NDArray[np.bool_]) -> FetchSummary:
        n = int(chosen.sum())
        moving = share_moving(change[chosen])
        return FetchSummary(n, moving, float(has_arrived[chosen].mean()))

    by_skill = {name: skill == name for name in SKILLS}
    by_skill["all"] = np.ones(len(skill), bool)
    return {name: summary(chosen) for name, chosen in by_skill.items() if chosen.any()}


def _distance(a: Array, b: Array) -> Array:
    return np.asarray(np.linalg.norm(a - b, axis=-1))
