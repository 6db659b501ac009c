"""One rollout of the simulated Fetch robot."""

from __future__ import annotations

import contextlib
import io
from typing import Any, NamedTuple

import numpy as np

from betanll.typing import Array
from betanll_paper.simulators.fetch_controller import PickAndPlace, draw_skill

ENVIRONMENT = "FetchPickAndPlace-v4"
N_STEPS = 50


class Rollout(NamedTuple):
    """What was seen and done.

    Parameters
    ----------
    observations : array of shape (51, 25)
        Before each step and after the last.
    actions : array of shape (50, 4)
    goal : array of shape (3,)
        Where the object was to be brought.
    skill : str
        How the rollout was played, a name in ``SKILLS``.
    """

    observations: Array
    actions: Array
    goal: Array
    skill: str


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
