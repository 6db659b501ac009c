import math
import time

import numpy as np
import pytest

from betanll_paper.simulators import (
    object_slide,
    object_slide_reset,
    object_slide_splits,
    object_slide_step,
)

# State, action, next state; worked out by hand.
TRANSITIONS = {
    "free": ([-3, 0, -1.5, 0], 1, [-2.95, 0.5, -1.5, 0]),
    "hit": ([-2, 2, -1.75, 0], 0, [-1.95, 0, -1.364715, 3.85285]),
    "friction": ([-4, 0, 1, 1], -1, [-4.05, -0.5, 1.085285, 0.85285]),
    "rest": ([-4, 0, 1, 0.1], 0, [-4, 0, 1, 0]),
    "right wall": ([-4, 0, 4.9, 3], 0, [-4, 0, 5, 0]),
    "agent's wall": ([-0.55, 2, 3, 0], 0, [-0.5, 0, 3, 0]),
    "left wall": ([-4.95, -1, 0, 0], 0, [-5, 0, 0, 0]),
    "hit at the wall": ([-0.6, 3, -0.2, 0], 0, [-0.5, 0, 0.385285, 5.85285]),
    # Where the object would be after the step, the agent does not reach it.
    "hit on the move": ([-2, 2, -1.7, 2], 0, [-1.9, 0, -1.114715, 5.85285]),
    "hit from the right": ([-2, -1, -2.25, 0], 0, [-2.05, 0, -2.45, -2]),
    "no friction to the left": ([-4, 0, 1, -1], 0, [-4, 0, 0.9, -1]),
    "action cut": ([-3, 0, -1.5, 0], 7, [-2.95, 0.5, -1.5, 0]),
    "speed cut": ([-4, 4.8, 1, 0], 1, [-3.5, 5, 1, 0]),
}


def scalar_step(p_agent, v_agent, p_object, v_object, action):
    """One transition, spelt out; the next state and whether the object was hit."""
    if action > 1:
        action = 1
    if action < -1:
        action = -1
    v_agent += 0.5 * action
    if v_agent > 5:
        v_agent = 5
    if v_agent < -5:
        v_agent = -5
    next_agent = p_agent + 0.1 * v_agent
    if p_agent < p_object:
        is_hit = next_agent >= p_object - 0.2
        beside = p_object - 0.2
    else:
        is_hit = next_agent <= p_object + 0.2
        beside = p_object + 0.2
    if is_hit:
        v_object += 2 * v_agent
        next_agent = beside
        v_agent = 0
    if v_object > 0:
        v_object -= 0.14715
        if v_object < 0:
            v_object = 0
    next_object = p_object + 0.1 * v_object
    if next_object > 5:
        next_object = 5
        v_object = 0
    if next_agent > -0.5:
        next_agent = -0.5
        v_agent = 0
    if next_agent < -5:
        next_agent = -5
        v_agent = 0
    return (next_agent, v_agent, next_object, v_object), is_hit


@pytest.mark.parametrize("name", TRANSITIONS)
def test_transitions_by_hand(name):
    state, action, expected = TRANSITIONS[name]
    np.testing.assert_allclose(object_slide_step(state, action), expected, atol=1e-12)


def test_the_states_of_a_batch_do_not_touch_each_other():
    states, actions, expected = map(np.array, zip(*TRANSITIONS.values(), strict=True))
    np.testing.assert_allclose(object_slide_step(states, actions), expected, atol=1e-12)
    before = states.copy(), actions.copy()
    after = object_slide_step(states[:12].reshape(3, 4, 4), actions[:12].reshape(3, 4))
    np.testing.assert_allclose(after.reshape(12, 4), expected[:12], atol=1e-12)
    np.testing.assert_array_equal(states, before[0])
    np.testing.assert_array_equal(actions, before[1])


def test_agrees_with_a_plain_implementation():
    """In all of the space, next to the object and at the walls."""
    rng = np.random.default_rng(0)
    n = 20_000
    states = rng.uniform([-5, -5, -5, -3], [-0.5, 5, 5, 8], (n, 4))
    near, edge = slice(0, n // 2), slice(n // 2, 3 * n // 4)
    states[near, 2] = states[near, 0] + rng.uniform(-0.8, 0.8, n // 2)
    states[edge, 0] = rng.choice([-5, -0.5], n // 4) + rng.uniform(-0.2, 0.2, n // 4)
    states[edge, 2] = rng.uniform(4, 5, n // 4)
    actions = rng.uniform(-1.2, 1.2, n)
    after = object_slide_step(states, actions)
    steps = [
        scalar_step(*state, action)
        for state, action in zip(states.tolist(), actions.tolist(), strict=True)
    ]
    np.testing.assert_allclose(after, [step for step, _ in steps], atol=1e-12)
    # Each rule was at work.
    assert sum(is_hit for _, is_hit in steps) > n / 10
    for column, wall in ((0, -5), (0, -0.5), (2, 5)):
        assert np.sum(after[:, column] == wall) > n / 50


def test_actions_have_one_value_per_state():
    states = np.tile([-3, 0, -1.5, 0], (6, 1))
    actions = np.linspace(-1, 1, 6)
    after = object_slide_step(states, actions)
    np.testing.assert_array_equal(object_slide_step(states, actions[:, None]), after)
    np.testing.assert_array_equal(object_slide_step(states[0], actions[:1]), after[0])
    assert object_slide_step(states[:0], actions[:0]).shape == (0, 4)
    for wrong in (0.0, actions[:3], actions[None], actions.reshape(2, 3)):
        with pytest.raises(ValueError, match="one value per state"):
            object_slide_step(states, wrong)
    for wrong in (0.0, states[:, :3], states.T):
        with pytest.raises(ValueError, match=r"shape \(\.\.\., 4\)"):
            object_slide_step(wrong, actions)


def test_first_states():
    """Uniform: of 100 000 draws, mean and ends are known to a few thousandths."""
    state = object_slide_reset(100_000, rng=np.random.default_rng(0))
    agent, offset = state[:, 0], state[:, 2] - state[:, 0]
    assert not state[:, 1::2].any()
    for draws, low, high in ((agent, -4.9, -2.9), (offset, 1, 2)):
        assert draws.min() == pytest.approx(low, abs=1e-3)
        assert draws.max() == pytest.approx(high, abs=1e-3)
        assert draws.mean() == pytest.approx((low + high) / 2, abs=0.01)
        assert draws.std() == pytest.approx((high - low) / math.sqrt(12), rel=0.01)
    assert abs(np.corrcoef(agent, offset)[0, 1]) < 0.02


def test_rows_are_episodes_one_after_the_other():
    x, y = object_slide(50, seed=1, n_steps=7)
    assert x.shape == (350, 5)
    assert y.shape == (350, 1)
    state, action = np.split(x.reshape(50, 7, 5), [4], axis=2)
    after = object_slide_step(state, action)
    np.testing.assert_array_equal(after[:, :-1], state[:, 1:])
    np.testing.assert_array_equal(
        y.reshape(50, 7), after[..., 2] - state[..., 2], strict=True
    )
    # The agent begins at rest, and not for long.
    assert not state[:, 0, 1].any()
    assert state[:, 1, 1].all()


def test_actions_are_uniform():
    action = object_slide(seed=2).x[:, 4].reshape(2000, 30)
    assert action.min() == pytest.approx(-1, abs=1e-3)
    assert action.max() == pytest.approx(1, abs=1e-3)
    # Five standard errors of 60 000 draws.
    assert abs(action.mean()) < 5 * math.sqrt(1 / 3 / 60_000)
    assert abs((action[:, 1:] * action[:, :-1]).mean()) < 5 / 3 / math.sqrt(58_000)


@pytest.mark.parametrize("seed", range(6))
def test_statistics_of_the_paper_sized_set(seed):
    """Ranges that an independent implementation had over 20 seeds."""
    x, y = object_slide(seed=seed)
    is_hit = np.array([scalar_step(*row)[1] for row in x.tolist()])
    assert 0.078 < y.std() < 0.086
    assert 0.125 < np.mean(y > 0) < 0.141
    assert 0.012 < is_hit.mean() < 0.014
    assert 0.34 < is_hit.reshape(2000, 30).any(axis=1).mean() < 0.39
    assert y.min() == 0
    assert 0.55 < y.max() < 0.9


def test_a_seed_is_one_set():
    first, again, other = (
        object_slide(9),
        object_slide(9, seed=0),
        object_slide(9, seed=1),
    )
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.any(first.x[:, 4] == other.x[:, 4])


def test_splits_have_no_row_in_common():
    splits = object_slide_splits(seed=3)
    again, other = object_slide_splits(seed=3), object_slide_splits(seed=4)
    plain = object_slide(seed=3)
    for part in ("train", "validation", "test"):
        samples = getattr(splits, part)
        assert samples.x.shape == (60_000, 5)
        assert samples.y.shape == (60_000, 1)
        np.testing.assert_array_equal(samples.x, getattr(again, part).x)
        np.testing.assert_array_equal(samples.y, getattr(again, part).y)
    sets = [*splits, *other, plain]
    # An action is a random number of 53 bits: equal ones would be the same draw.
    actions = np.concatenate([samples.x[:, 4] for samples in sets])
    assert len(np.unique(actions)) == 7 * 60_000
    positions = np.concatenate([samples.x[::30, 0] for samples in sets])
    assert len(np.unique(positions)) == 7 * 2000
    assert len(object_slide_splits(5).test.x) == 150


def test_a_million_transitions_take_a_moment():
    """A fifth of a second on a free core; the bound leaves room for a busy machine."""
    start = time.process_time()
    assert len(object_slide(33_334).x) > 1e6
    assert time.process_time() - start < 5
