"""Selections of pairs, and parts without a common scene, also of NYU Depth V2."""

import numpy as np
import pytest

pytest.importorskip("PIL")

from betanll_paper.depth.nyu import load_nyu
from betanll_paper.depth.pairs import InMemory, Pair, Pairs, Selection, split_by_scene


class Numbered(Pairs):
    """Pairs whose depth is their index, ten of them in a scene."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        depth = np.full((2, 2), index, np.float32)
        return Pair(np.zeros((2, 2, 3), np.uint8), depth)

    def scene(self, index):
        return f"scene-{index // 10}"


def test_a_selection_has_the_chosen_pairs():
    chosen = Selection(Numbered(30), [25, 3])
    assert len(chosen) == 2
    assert [chosen[index].depth[0, 0] for index in range(2)] == [25, 3]
    assert [chosen.scene(index) for index in range(2)] == ["scene-2", "scene-0"]


def test_pairs_in_memory_are_made_once():
    made = []

    class Counted(Numbered):
        def __getitem__(self, index):
            made.append(index)
            return super().__getitem__(index)

    kept = InMemory(Counted(30))
    assert len(kept) == 30
    assert kept.scene(25) == "scene-2"
    assert [kept[index].depth[0, 0] for index in (7, 3, 7)] == [7, 3, 7]
    assert made == [7, 3]


def test_names_pass_through_selections():
    pairs = Numbered(30)
    assert pairs.name(25) == "image 25 of scene-2"
    chosen = InMemory(Selection(Selection(pairs, [4, 25]), [1]))
    assert chosen.name(0) == pairs.name(25)


def test_parts_have_all_pairs_and_no_common_scene():
    first, second = split_by_scene(Numbered(200), 0.1, seed=0)
    assert sorted([*first.indices, *second.indices]) == list(range(200))
    scenes = [{part.scene(i) for i in range(len(part))} for part in (first, second)]
    assert not scenes[0] & scenes[1]
    assert len(scenes[1]) == 2


def test_seeds_choose_different_scenes():
    chosen = {
        tuple(split_by_scene(Numbered(200), 0.1, seed)[1].indices) for seed in range(5)
    }
    assert len(chosen) > 1


def test_second_part_is_neither_empty_nor_everything():
    for fraction in (0.0, 1.0):
        first, second = split_by_scene(Numbered(20), fraction, seed=0)
        assert len(first) == len(second) == 10


def test_one_scene_cannot_be_split():
    with pytest.raises(ValueError, match="10 training images show 1"):
        split_by_scene(Numbered(10), 0.1, seed=0)


def scenes_of(pairs):
    return {pairs.scene(index) for index in range(len(pairs))}


def test_a_scene_of_nyu_is_held_out(nyu_dir):
    training, validation, test = load_nyu(nyu_dir)
    assert len(training) + len(validation) == 5
    assert not scenes_of(training) & scenes_of(validation)
    assert scenes_of(test) == {"living_room"}


def test_number_of_nyu_validation_images_can_be_limited(nyu_dir):
    usual, few = load_nyu(nyu_dir), load_nyu(nyu_dir, max_validation=1)
    assert len(usual.validation) > 1
    assert len(few.validation) == 1
    assert len(few.training) == len(usual.training)
