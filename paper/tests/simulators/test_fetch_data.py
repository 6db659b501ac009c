"""What the columns of the Fetch data mean, how it is split, and damaged files."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from betanll_paper.datasets import DataError
from betanll_paper.simulators import fetch_files as _fetch_files
from betanll_paper.simulators.fetch_data import (
    load_fetch,
    share_moving,
    split_rollouts,
    summarize_fetch,
)
from betanll_paper.simulators.fetch_files import Rollout, missing_shards, write_shard


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A folder of 40 rollouts whose numbers tell rollout, step and column."""
    monkeypatch.setattr(_fetch_files, "ROLLOUTS_PER_SHARD", 9)
    monkeypatch.setattr(_fetch_files, "versions", dict)
    for shard in missing_shards(tmp_path, 40, 0):
        numbers = range(shard.first, shard.first + shard.n)
        write_shard(shard, [numbered(k) for k in numbers])
    return tmp_path


def numbered(k):
    step, column = np.arange(51.0)[:, None], np.arange(29.0)
    values = 1e4 * k + 100 * step + column
    # The object moves by rollout + step.
    values[:, 3:6] = (step * k + step * (step - 1) / 2) + column[3:6]
    return Rollout(values[:, :25], values[:-1, 25:], np.zeros(3), "expert")


def test_rows_are_steps_of_whole_rollouts(made_up):
    splits = load_fetch(made_up)
    assert [len(part.x) for part in splits] == [28 * 50, 6 * 50, 6 * 50]
    seen = []
    for part in splits:
        assert part.x.shape[1:] == (29,)
        assert part.y.shape == (len(part.x), 3)
        first = part.x.reshape(-1, 50, 29)
        numbers = first[:, 0, 0] // 1e4
        seen += numbers.tolist()
        for k, x, y in zip(numbers, first, part.y.reshape(-1, 50, 3), strict=True):
            expected = numbered(int(k))
            np.testing.assert_array_equal(x[:, :25], expected.observations[:-1])
            np.testing.assert_array_equal(x[:, 25:], expected.actions)
            np.testing.assert_array_equal(y, (k + np.arange(50.0))[:, None] * [[1] * 3])
    # Each rollout is in one part, in the order of the authors' generator.
    assert seen == np.random.RandomState(42).permutation(40).tolist()


@pytest.mark.parametrize("n", [7, 12, 101, 16_800])
def test_parts_share_out_the_rollouts(n):
    parts = split_rollouts(n)
    assert np.sort(np.concatenate(parts)).tolist() == list(range(n))
    assert all(map(len, parts))
    np.testing.assert_allclose(
        [len(part) / n for part in parts], [0.7, 0.15, 0.15], atol=1.5 / n
    )


def test_columns_mean_what_they_say(fetch_folder):
    for x, y in load_fetch(fetch_folder):
        gripper, thing, relative = x[:, :3], x[:, 3:6], x[:, 6:9]
        np.testing.assert_allclose(relative, thing - gripper, atol=1e-12)
        # Within a rollout, the target leads from each row to the next.
        steps, changes = thing.reshape(-1, 50, 3), y.reshape(-1, 50, 3)
        np.testing.assert_array_equal(np.diff(steps, axis=1), changes[:, :-1])
        assert np.abs(x[:, 25:]).max() <= 1
        # Velocities are ways in one step at the present speed, which changes.
        way = np.diff(gripper.reshape(-1, 50, 3), axis=1)
        velocity = x[:, 20:23].reshape(-1, 50, 3)[:, 1:]
        assert np.corrcoef(way.ravel(), velocity.ravel())[0, 1] > 0.9


def test_the_object_moves_in_a_substantial_share_of_steps(fetch_folder):
    summary = summarize_fetch(fetch_folder)
    assert summary["all"].n_rollouts == 12
    assert sum(s.n_rollouts for name, s in summary.items() if name != "all") == 12
    assert 0.3 < summary["all"].share_moving < 0.9
    assert summary["expert"].share_arrived > summary["random"].share_arrived
    parts = load_fetch(fetch_folder)
    everything = np.concatenate([part.y for part in parts])
    assert share_moving(everything) == pytest.approx(summary["all"].share_moving)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "other"])
def test_a_damaged_file_is_named(made_up, damage):
    path = made_up / "rollouts-000018.npz"
    content = path.read_bytes()
    if damage == "flipped":
        middle = len(content) // 2
        flipped = bytes([content[middle] ^ 1])
        content = content[:middle] + flipped + content[middle + 1 :]
    elif damage == "other":
        content = (made_up / "rollouts-000036.npz").read_bytes()
    else:
        content = content[: 0 if damage == "empty" else -100]
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"rollouts-000018\.npz is damaged"):
        load_fetch(made_up)


def test_missing_files_are_counted(made_up):
    (made_up / "rollouts-000018.npz").unlink()
    with pytest.raises(DataError, match="lacks 1 of 5 files of rollouts"):
        load_fetch(made_up)
    with pytest.raises(DataError, match=r"holds no Fetch rollouts: it lacks fetch"):
        load_fetch(made_up / "nowhere")
