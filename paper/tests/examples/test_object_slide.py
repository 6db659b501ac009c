import importlib.util
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from betanll_paper.simulators import object_slide_splits, object_slide_step

SCRIPT = Path(__file__).parents[2] / "examples" / "object_slide.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("example_object_slide", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def few(example):
    """A function that learns in a second."""
    return partial(example.learn, n_members=2, max_updates=200)


class Noisy:
    """A model whose samples are a function of the inputs, and normal noise."""

    def __init__(self, change, std):
        self.change, self.std = change, std

    def sample(self, rows, random_state):
        change = self.change(rows)
        return (change + random_state.normal(0, self.std, change.shape))[None]


def true_change(rows):
    return object_slide_step(rows[:, :4], rows[:, 4]) - rows[:, :4]


def test_episodes_follow_the_simulator(example):
    samples = object_slide_splits(20).train
    states, actions = example.episodes(samples)
    assert states.shape == (20, 31, 4)
    assert actions.shape == (20, 30, 1)
    np.testing.assert_allclose(
        object_slide_step(states[:, :-1], actions), states[:, 1:], rtol=1e-12
    )


def test_particles_of_a_perfect_model_follow_the_truth(example):
    truth, actions = example.episodes(object_slide_splits(200).test)
    model = Noisy(true_change, 1e-9)
    particles = example.roll_out(model, truth[:, 0], actions, n_particles=5)
    assert particles.shape == (5, 200, 31, 4)
    assert np.all(particles[:, :, 0] == truth[:, 0])
    np.testing.assert_allclose(
        particles, np.broadcast_to(truth, particles.shape), atol=1e-6
    )
    # Each particle has noise of its own.
    assert len(np.unique(particles[:, 0, 1, 0])) == 5

    scores = example.scores(particles, truth).set_index("step")
    assert list(scores.index) == [1, 5, 10, 20, 30]
    assert scores["RMSE"].max() < 1e-6
    distance = truth[:, 30, 2] - truth[:, 0, 2]
    np.testing.assert_allclose(scores["unmoved"][30], np.sqrt(np.mean(distance**2)))


def test_bands_of_the_true_noise_grow_and_hold_their_share(example):
    # A random walk, predicted by the distribution that it comes from.
    rng = np.random.default_rng(1)
    model = Noisy(lambda rows: np.full((len(rows), 4), 0.1), 0.2)
    start, actions = np.zeros((1000, 4)), np.zeros((1000, 30, 1))
    truth = example.roll_out(model, start, actions, n_particles=1, seed=rng)[0]
    particles = example.roll_out(model, start, actions, n_particles=100, seed=rng)
    scores = example.scores(particles, truth).set_index("step")
    # Four standard errors of a share of 1000 episodes.
    np.testing.assert_allclose(scores["held"], 0.9, atol=4 * np.sqrt(0.09 / 1000))
    # On average the smallest but 4.05 of 100 standard normals is -1.68 (Blom 1958). The
    # width varies by 9%, its median over several hundred episodes by 0.5%.
    width = 2 * 1.68 * 0.2 * np.sqrt(scores.index)
    np.testing.assert_allclose(scores["width if hit"], width, rtol=0.02)


def test_chosen_episodes_are_what_they_are_called(example):
    truth, _ = example.episodes(object_slide_splits(200).test)
    particles = np.repeat(truth[None], 3, axis=0)
    particles[0, 7, -1, 2] += 1
    chosen = example.chosen_episodes(particles, truth)
    hit, near_miss, no_contact, widest = chosen.values()
    distance = truth[:, -1, 2] - truth[:, 0, 2]
    assert distance[hit] == np.sort(distance[distance > 0])[sum(distance > 0) // 2]
    gap = (truth[:, :21, 2] - truth[:, :21, 0]).min(axis=1)
    assert distance[near_miss] == distance[no_contact] == 0
    assert gap[near_miss] == gap[distance == 0].min() < gap[no_contact]
    assert widest == 7


def test_bands_contain_the_median_and_each_other(example):
    particles = np.random.default_rng(0).normal(size=(100, 6, 4))
    bands = example.quantiles(particles, [0.05, 0.25, 0.5, 0.75, 0.95])
    assert bands.shape == (5, 6, 4)
    assert np.all(np.diff(bands, axis=0) > 0)
    np.testing.assert_allclose(bands[2], np.median(particles, axis=0))


def test_short_training_predicts_the_free_motion(example, few):
    train, _, test = object_slide_splits(100)
    model = few(*example.episodes(train))
    truth, actions = (part[:20] for part in example.episodes(test))
    particles = example.roll_out(model, truth[:, 0], actions, n_particles=10, seed=3)
    again = example.roll_out(model, truth[:, 0], actions, n_particles=10, seed=3)
    np.testing.assert_array_equal(particles, again)
    # In five steps from rest the agent moves freely, by 0.07 on average.
    errors = np.abs(particles.mean(axis=0) - truth)[:, 1:6]
    moves = np.abs(truth - truth[:, :1])[:, 1:6]
    assert errors[..., 0].mean() < 0.5 * moves[..., 0].mean()
    assert errors[..., 2].max() < 0.1
    held, held_in_hits = example.one_step_coverage(model, truth, actions)
    assert 0.5 < held <= 1
    assert 0 <= held_in_hits <= 1


def test_command_prints_the_table_and_writes_picture_and_model(
    example, few, monkeypatch, tmp_path
):
    monkeypatch.setattr(example, "learn", few)
    monkeypatch.setattr(
        example, "object_slide_splits", partial(object_slide_splits, 100)
    )
    out = tmp_path / "not" / "there"
    arguments = ["--out", str(out), "--seed", "1", "--beta", "0"]
    result = CliRunner().invoke(example.main, arguments, catch_exceptions=False)
    first, header, *rows = result.stdout.splitlines()
    assert first.startswith("90% intervals of one step: ")
    assert header.split()[:3] == ["step", "RMSE", "unmoved"]
    assert [int(row.split()[0]) for row in rows] == [1, 5, 10, 20, 30]
    assert (out / "object-slide.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "model" / "model.json").exists()
