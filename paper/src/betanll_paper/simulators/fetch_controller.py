"""A scripted controller of the Fetch robot with several levels of skill.

Positions are in metres, x and y along the table and z upwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from betanll.typing import Array


class Skill(NamedTuple):
    """The noise and errors of a rollout.

    Parameters
    ----------
    share : float
        Probability that a rollout is played on this level.
    noise : float
        Standard deviation of the Gaussian noise on each entry of an action. Entries
        are cut to [-1, 1] afterwards.
    aim_error : float, default=0
        Standard deviation of x and y of the place beside the object at which the hand
        aims; drawn for each attempt.
    haste : float, default=0
        The hand closes up to so far above the object; drawn for each attempt.
    drop_rate : float, default=0
        Probability for each step that the closed hand lets go.
    """

    share: float
    noise: float
    aim_error: float = 0.0
    haste: float = 0.0
    drop_rate: float = 0.0


#: The levels. ``push`` shoves the object over the table with a closed hand; the actions
#: of ``random`` are uniform.
SKILLS = {
    "expert": Skill(0.25, noise=0.05),
    "noisy": Skill(0.25, noise=0.3, drop_rate=0.02),
    "clumsy": Skill(0.25, noise=0.15, aim_error=0.02, haste=0.02, drop_rate=0.02),
    "push": Skill(0.15, noise=0.15, aim_error=0.01),
    "random": Skill(0.10, noise=0.0),
}

#: Increase this with each change of the controller, except for :data:`SKILLS`: rollouts
#: of two versions must not mix.
CONTROLLER_VERSION = 1

# Entries of an action per metre. One of 1 moves the hand by 5 cm at most.
_GAIN = 12.0
_OPEN, _CLOSE = 1.0, -1.0
_CLEARANCE = np.array([0.0, 0.0, 0.06])  # of the open fingers over the object
_ALIGNED = 0.012
_WITHIN_REACH = 0.05
# The fingers' positions add up to 0.05 when they touch the object, to 0.1 when open.
_TOUCHING = 0.055
_RUN_UP = 0.065
_ON_COURSE = 0.02
_LOW = 0.03
_ARRIVED = 0.03
_TARGET_RANGE = 0.15


def draw_skill(rng: np.random.Generator) -> str:
    """Return the name of a level, drawn by the shares in :data:`SKILLS`.

    Examples
    --------
    >>> draw_skill(np.random.default_rng(0))
    'clumsy'
    """
    shares = [skill.share for skill in SKILLS.values()]
    return str(rng.choice(list(SKILLS), p=shares))


class PickAndPlace:
    """The player of one rollout.

    Parameters
    ----------
    skill : str
        A name in :data:`SKILLS`.
    start : array of shape (3,)
        Where the hand is at first: above the middle of the part of the table in which
        the simulator draws objects and goals.
    goal : array of shape (3,)
        Where the object is to be brought.
    rng : numpy.random.Generator
        Source of all errors and noise.

    Examples
    --------
    Far from the object, the hand goes there and opens:

    >>> start, rng = np.array([1.34, 0.75, 0.53]), np.random.default_rng(0)
    >>> player = PickAndPlace("expert", start, start, rng)
    >>> observation = np.zeros(25)
    >>> observation[:3] = start
    >>> observation[3:6] = [1.44, 0.65, 0.42]
    >>> player.act(observation).round()
    array([ 1., -1., -1.,  1.])
    """

    def __init__(
        self, skill: str, start: Array, goal: Array, rng: np.random.Generator
    ) -> None:
        self._name = skill
        self._skill = SKILLS[skill]
        self._start = start
        self._goal = goal
        self._rng = rng
        self._begin_attempt()

    def act(self, observation: Array) -> Array:
        """Return the action for an observation: the way of the hand, and the grip."""
        if self._name == "random":
            return self._rng.uniform(-1, 1, 4)
        hand, thing, fingers = observation[:3], observation[3:6], observation[9:11]
        if self._name == "push":
            way, grip = self._push(hand, thing), _CLOSE
        elif self._is_closed:
            way, grip = self._carry(hand, thing, fingers)
        else:
            way, grip = self._reach(hand, thing)
        action = np.append(_GAIN * way, grip)
        return np.clip(action + self._rng.normal(0, self._skill.noise, 4), -1, 1)

    def _begin_attempt(self) -> None:
        """Open the hand and draw the errors of the next grasp."""
        self._is_closed = False
        self._aim = np.append(self._rng.normal(0, self._skill.aim_error, 2), 0.0)
        self._early = self._rng.uniform(0, self._skill.haste)

    def _reach(self, hand: Array, thing: Array) -> tuple[Array, float]:
        """Go above the object, then down to it, then close the hand."""
        way = thing + self._aim - hand
        if _length(way[:2]) > _ALIGNED:
            return way + _CLEARANCE, _OPEN
        if -way[2] > self._early + _ALIGNED:
            return way, _OPEN
        self._is_closed = True
        return np.zeros(3), _CLOSE

    def _carry(self, hand: Array, thing: Array, fingers: Array) -> tuple[Array, float]:
        """Bring the object to the goal and hold it there, unless it gets lost."""
        is_lost = _length(thing + self._aim - hand) > _WITHIN_REACH
        if is_lost or self._rng.uniform() < self._skill.drop_rate:
            self._begin_attempt()
            return _CLEARANCE, _OPEN
        has_closed = fingers.sum() < _TOUCHING
        return (self._goal - thing if has_closed else np.zeros(3)), _CLOSE

    def _push(self, hand: Array, thing: Array) -> Array:
        """Go behind the object and through it; once it has arrived, elsewhere."""
        if _length(self._goal[:2] - thing[:2]) < _ARRIVED:
            wanted = self._rng.uniform(-_TARGET_RANGE, _TARGET_RANGE, 2)
            self._goal = self._start + np.append(wanted, 0.0)
            self._begin_attempt()
        course = np.append(self._goal[:2] - thing[:2], 0.0)
        course /= max(_length(course), 1e-9)
        offset = hand - thing - self._aim
        along = offset @ course
        astray = offset - along * course
        if along < 0 and offset[2] < _LOW and _length(astray[:2]) < _ON_COURSE:
            return _RUN_UP * course - astray
        way = -_RUN_UP * course - offset
        is_behind = _length(way[:2]) < _ON_COURSE
        return way if is_behind else way + _CLEARANCE


def _length(vector: Array) -> float:
    return float(np.linalg.norm(vector))
