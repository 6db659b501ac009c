"""ObjectSlide as an environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from betanll_paper.simulators.object_slide import object_slide_reset, object_slide_step

_Observation = npt.NDArray[np.float32]
_Action = npt.NDArray[np.float32]

# The agent must be faster than the object to hit it, and passes on twice its velocity
# of at most 5: the object stays below 5 + 2 * 5.
_BOUNDS = np.array([5, 5, 5, 15], np.float32)


class ObjectSlideEnv(gymnasium.Env[_Observation, _Action]):
    """An agent on a line that is to push an object towards a goal.

    It never terminates. ``gymnasium.make("betanll/ObjectSlide-v1")`` ends an episode
    after 30 steps, as in the data of :func:`betanll.datasets.object_slide`. The rules
    of a step are those of :func:`betanll.datasets.object_slide_step`.

    **Observation**: position and velocity of the agent, position and velocity of the
    object, in single precision.

    **Action**: the force on the agent, in [-1, 1].

    **Reward**: minus the distance of the object from a goal in [0.5, 4.5], which is
    drawn for each episode and is in ``info["goal"]``.

    Attributes
    ----------
    state : array of shape (4,)
        The observation in double precision.
    goal : float

    Examples
    --------
    >>> env = gymnasium.make("betanll/ObjectSlide-v1")
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(np.ones(1))
    >>> float(observation[1])
    0.5
    """

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-_BOUNDS, _BOUNDS)
        self.action_space = gymnasium.spaces.Box(-1, 1, (1,))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_Observation, dict[str, Any]]:
        """Begin an episode; there are no options."""
        super().reset(seed=seed)
        self.state = object_slide_reset(1, rng=self.np_random)[0]
        self.goal = 2.5 + self.np_random.uniform(-2, 2)
        return self._observation(), {"goal": self.goal}

    def step(
        self, action: npt.ArrayLike
    ) -> tuple[_Observation, float, bool, bool, dict[str, Any]]:
        """Take one step."""
        self.state = object_slide_step(self.state, action)
        reward = -abs(float(self.state[2]) - self.goal)
        return self._observation(), reward, False, False, {"goal": self.goal}

    def _observation(self) -> _Observation:
        return self.state.astype(np.float32)
