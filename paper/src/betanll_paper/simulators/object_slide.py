"""ObjectSlide: an agent on a line that may push an object, as pure functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from betanll.datasets import Samples, Splits
from betanll.typing import Array

#: Steps of an episode.
OBJECT_SLIDE_STEPS = 30

#: Names of a state, an action and the target, in the order of the data.
OBJECT_SLIDE_COLUMNS = (
    "p_agent",
    "v_agent",
    "p_object",
    "v_object",
    "action",
    "change",
)

_DT = 0.1
_ACTION_SCALE = 5.0
_AGENT_MASS = 1.0
_OBJECT_MASS = 0.5
_FRICTION = 0.15
_GRAVITY = 9.81
_CONTACT_DISTANCE = 0.2
_MAX_AGENT_SPEED = 5.0
_LEFT_WALL = -5.0
_AGENT_WALL = -0.5
_RIGHT_WALL = 5.0


def object_slide_step(state: npt.ArrayLike, action: npt.ArrayLike) -> Array:
    """Return the states after one step of ObjectSlide.

    Within a step of 0.1 these happen, in this order:

    1. The action, cut to [-1, 1], changes the velocity of the agent by up to 0.5; its
       speed stays within 5, and it moves.
    2. If that brings it within 0.2 of where the object was, or beyond, it stops at this
       distance and the object gains twice its velocity.
    3. Friction slows an object that moves to the right by 0.147, at most to rest.
    4. The object moves; at 5 it stops.
    5. Walls stop the agent at -5 and -0.5. One that hits the object and the wall in the
       same step has hit the object.

    Parameters
    ----------
    state : array of shape (..., 4)
        Position and velocity of the agent, position and velocity of the object.
    action : array of shape (...) or (..., 1)
        The force on the agent.

    Returns
    -------
    array of shape (..., 4)

    References
    ----------
    Environment ``OneDSlide-v1`` of Seitzer, Schölkopf, Martius (2021), Causal Influence
    Detection for Improving Efficiency in Reinforcement Learning.

    Examples
    --------
    >>> object_slide_step([-2.0, 2.0, -1.75, 0.0], 0.0).round(3)
    array([-1.95 ,  0.   , -1.365,  3.853])
    """
    state = np.asarray(state, np.float64)
    action = np.asarray(action, np.float64)
    if state.shape[-1:] != (4,):
        raise ValueError(f"state must have shape (..., 4), got {state.shape}")
    if action.shape == (*state.shape[:-1], 1):
        action = action[..., 0]
    if action.shape != state.shape[:-1]:
        raise ValueError(
            f"action must have one value per state, got the shapes {action.shape} and "
            f"{state.shape}"
        )
    p_agent, v_agent, p_object, v_object = np.moveaxis(state, -1, 0)

    gain = _ACTION_SCALE * np.clip(action, -1, 1) * _DT / _AGENT_MASS
    v_agent = np.clip(v_agent + gain, -_MAX_AGENT_SPEED, _MAX_AGENT_SPEED)
    reached = p_agent + v_agent * _DT

    side = np.sign(p_object - p_agent)
    hits = side * (reached - p_object) + _CONTACT_DISTANCE >= 0
    v_object = v_object + np.where(hits, _AGENT_MASS / _OBJECT_MASS * v_agent, 0)
    reached = np.where(hits, p_object - side * _CONTACT_DISTANCE, reached)
    v_agent = np.where(hits, 0, v_agent)

    slowed = np.maximum(v_object - _FRICTION * _GRAVITY * _DT, 0)
    v_object = np.where(v_object > 0, slowed, v_object)
    slid = p_object + v_object * _DT
    v_object = np.where(slid > _RIGHT_WALL, 0, v_object)
    slid = np.minimum(slid, _RIGHT_WALL)

    is_stopped = (reached < _LEFT_WALL) | (reached > _AGENT_WALL)
    v_agent = np.where(is_stopped, 0, v_agent)
    reached = np.clip(reached, _LEFT_WALL, _AGENT_WALL)
    return np.stack([reached, v_agent, slid, v_object], axis=-1)


def object_slide_reset(n_episodes: int, *, rng: np.random.Generator) -> Array:
    """Return the first states of episodes of ObjectSlide, ``(n_episodes, 4)``.

    Both rest: the agent near the left wall, in [-4.9, -2.9], and the object between 1
    and 2 to the right of it.

    Examples
    --------
    >>> object_slide_reset(1000, rng=np.random.default_rng(0)).shape
    (1000, 4)
    """
    p_agent = -3.9 + rng.uniform(-1, 1, n_episodes)
    p_object = p_agent + 1.5 + rng.uniform(-0.5, 0.5, n_episodes)
    rest = np.zeros(n_episodes)
    return np.stack([p_agent, rest, p_object, rest], axis=-1)


def object_slide(
    n_episodes: int = 2000,
    *,
    seed: int | np.random.SeedSequence = 0,
    n_steps: int = OBJECT_SLIDE_STEPS,
) -> Samples:
    """Return transitions of ObjectSlide: how far does the object move in a step?

    The inputs are the state and the action (see :func:`object_slide_step`), the target
    is the change of the object's position. Actions are uniform on [-1, 1]. There is no
    noise, but a jump: the object moves in 13% of the transitions and is hit in 1.3%
    (Seitzer et al. 2022, Table 2).

    Parameters
    ----------
    n_episodes : int, default=2000
        Episodes, whose rows follow each other.
    seed : int or numpy.random.SeedSequence, default=0
        Seed of the first states and of the actions.
    n_steps : int, default=30
        Steps of an episode.

    Returns
    -------
    Samples
        Inputs ``(n_episodes * n_steps, 5)`` and targets ``(n_episodes * n_steps, 1)``.

    Examples
    --------
    >>> x, y = object_slide()
    >>> x.shape, y.shape, round(float((y > 0).mean()), 2)
    ((60000, 5), (60000, 1), 0.14)
    """
    rng = np.random.default_rng(seed)
    state = object_slide_reset(n_episodes, rng=rng)
    x = np.empty((n_episodes, n_steps, 5))
    y = np.empty((n_episodes, n_steps, 1))
    x[..., 4] = rng.uniform(-1, 1, (n_episodes, n_steps))
    for step in range(n_steps):
        x[:, step, :4] = state
        state = object_slide_step(state, x[:, step, 4])
        y[:, step, 0] = state[:, 2] - x[:, step, 2]
    return Samples(x.reshape(-1, 5), y.reshape(-1, 1))


def object_slide_splits(n_episodes: int = 2000, *, seed: int = 0) -> Splits:
    """Return three sets of :func:`object_slide` that share no random number.

    Parameters
    ----------
    n_episodes : int, default=2000
        Episodes of each set; by default each has 60 000 transitions.
    seed : int, default=0
        Seed from which those of the three sets are spawned.

    Examples
    --------
    >>> train, validation, test = object_slide_splits()
    >>> len(train.x), len(validation.x), len(test.x)
    (60000, 60000, 60000)
    """
    seeds = np.random.SeedSequence(seed).spawn(3)
    return Splits(*(object_slide(n_episodes, seed=each) for each in seeds))
