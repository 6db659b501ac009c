"""What the scripted controller achieves on its levels of skill."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from betanll_paper.simulators.fetch_controller import SKILLS, draw_skill
from betanll_paper.simulators.fetch_data import ARRIVED, share_moving
from betanll_paper.simulators.fetch_rollouts import play


@pytest.fixture
def played(simulator, monkeypatch):
    """A function that plays rollouts on one level of skill."""

    def play_all(skill, n):
        monkeypatch.setattr(
            "betanll_paper.simulators.fetch_rollouts.draw_skill", lambda rng: skill
        )
        return [play(simulator, seed=1, index=index) for index in range(n)]

    return play_all


def objects(rollouts):
    """Return the positions of the object, of shape (n_rollouts, 51, 3)."""
    return np.array([rollout.observations[:, 3:6] for rollout in rollouts])


def test_the_expert_brings_the_object_to_its_goal(played):
    rollouts = played("expert", 10)
    goals = np.array([rollout.goal for rollout in rollouts])
    positions = objects(rollouts)
    arrived = np.linalg.norm(positions[:, -1] - goals, axis=-1) < ARRIVED
    assert arrived.mean() > 0.8
    # those to be lifted are lifted, and held in the air
    in_the_air = goals[:, 2] > 0.5
    assert in_the_air.any()
    assert (positions[in_the_air & arrived, -1, 2] > 0.45).all()
    assert share_moving(np.diff(positions, axis=1)) > 0.5


@pytest.mark.parametrize("skill", ["noisy", "clumsy", "push"])
def test_others_move_it_too(played, skill):
    change = np.diff(objects(played(skill, 4)), axis=1)
    assert share_moving(change) > 0.2


def test_random_actions_hardly_move_it(played):
    change = np.diff(objects(played("random", 4)), axis=1)
    assert share_moving(change) < 0.2
    # an object at rest stays far below the threshold
    assert np.median(np.linalg.norm(change, axis=-1)) < 1e-7


@pytest.mark.parametrize("skill", SKILLS)
def test_actions_lie_within_their_bounds(played, skill):
    (rollout,) = played(skill, 1)
    assert rollout.actions.shape == (50, 4)
    assert np.abs(rollout.actions).max() <= 1
    assert np.isfinite(rollout.observations).all()


def test_skills_are_drawn_by_their_shares():
    shares = {name: skill.share for name, skill in SKILLS.items()}
    assert sum(shares.values()) == pytest.approx(1)
    rng = np.random.default_rng(0)
    drawn = [draw_skill(rng) for _ in range(4000)]
    for name, share in shares.items():
        # Four standard errors of a share of 4000 draws are 0.03 at most.
        assert drawn.count(name) / 4000 == pytest.approx(share, abs=0.03)


def test_a_rollout_depends_on_seed_and_number_alone(simulator):
    first = play(simulator, seed=0, index=6)
    for index in range(2, 4):
        play(simulator, seed=0, index=index)
    again = play(simulator, seed=0, index=6)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    other = play(simulator, seed=1, index=6)
    assert (other.observations[0] != first.observations[0]).any()
