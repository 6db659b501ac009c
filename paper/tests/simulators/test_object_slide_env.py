import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402, after the skip

from betanll_paper.simulators import ObjectSlideEnv, object_slide_step  # noqa: E402

ID = "betanll/ObjectSlide-v1"


def rollout(env, policy, *, seed):
    """Play one episode; return states with the first one, actions and rewards."""
    observation, _ = env.reset(seed=seed)
    states, actions, rewards = [env.unwrapped.state], [], []
    truncated = False
    while not truncated:
        action = policy(observation)
        observation, reward, terminated, truncated, _ = env.step(action)
        assert not terminated
        np.testing.assert_array_equal(observation, env.unwrapped.state.astype("f4"))
        assert observation in env.observation_space
        states.append(env.unwrapped.state)
        actions.append(action)
        rewards.append(reward)
    return np.array(states), np.array(actions), np.array(rewards)


def test_passes_the_checks_of_gymnasium():
    check_env(gymnasium.make(ID).unwrapped)
    check_env(gymnasium.make(f"betanll_paper.simulators:{ID}").unwrapped)


def test_an_episode_is_that_of_the_simulator():
    env = gymnasium.make(ID)
    env.action_space.seed(1)
    states, actions, _ = rollout(env, lambda _: env.action_space.sample(), seed=2)
    assert actions.shape == (30, 1)
    assert states.dtype == np.float64
    np.testing.assert_array_equal(states[1:], object_slide_step(states[:-1], actions))


def test_first_states():
    """Where the data begins, and never the same."""
    env = ObjectSlideEnv()
    env.reset(seed=0)
    states = np.array([(env.reset(), env.state)[1] for _ in range(200)])
    assert not states[:, 1::2].any()
    assert np.all((states[:, 0] > -4.9) & (states[:, 0] < -2.9))
    offset = states[:, 2] - states[:, 0]
    assert np.all((offset > 1) & (offset < 2))
    assert len(np.unique(states[:, 0])) == 200


def test_a_seed_is_one_episode():
    env = gymnasium.make(ID)
    first, info = env.reset(seed=5)
    again, same = env.reset(seed=5)
    np.testing.assert_array_equal(first, again)
    assert info == same
    assert env.reset(seed=6)[1] != info


def test_the_reward_is_the_distance_from_the_goal():
    env = ObjectSlideEnv()
    goals = [env.reset(seed=seed)[1]["goal"] for seed in range(100)]
    assert 0.5 < min(goals) < 0.7
    assert 4.3 < max(goals) < 4.5
    env.state = np.array([-2, 2, -1.75, 0])
    env.goal = 1.0
    _, reward, _, _, info = env.step(np.zeros(1, np.float32))
    assert reward == pytest.approx(-2.364715)
    assert info["goal"] == 1.0


def test_no_agent_leaves_the_bounds():
    """Not even one that hits as hard and as often as it can; rollout looks."""
    env = gymnasium.make(ID)
    rng = np.random.default_rng(0)
    fastest = 0.0
    for seed in range(40):
        retreat = rng.uniform(0, 2)

        def charge(observation, retreat=retreat):
            gap = observation[2] - observation[0]
            forth = gap > retreat or observation[1] > 0 or rng.uniform() < 0.1
            return np.array([1 if forth else -1], np.float32)

        states, _, _ = rollout(env, charge, seed=seed)
        fastest = max(fastest, states[:, 3].max())
    assert fastest > 5


def test_actions_beyond_the_bounds_are_cut():
    env = ObjectSlideEnv()
    env.reset(seed=0)
    assert env.step(np.array([9.0]))[0][1] == 0.5
