"""Parts of NYU Depth V2, and made-up rooms."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from betanll_paper.depth import load_nyu, make_rooms


def scenes_of(pairs):
    return {pairs.scene(index) for index in range(len(pairs))}


def test_a_scene_of_nyu_is_held_out(nyu_dir):
    training, validation, test = load_nyu(nyu_dir)
    assert len(training) + len(validation) == 5
    assert not scenes_of(training) & scenes_of(validation)
    assert scenes_of(test) == {"living_room"}


def test_validation_images_of_nyu_can_be_few(nyu_dir):
    usual, few = load_nyu(nyu_dir), load_nyu(nyu_dir, max_validation=1)
    assert len(usual.validation) > 1
    assert len(few.validation) == 1
    assert len(few.training) == len(usual.training)


def test_rooms_of_the_parts_have_names_of_their_own():
    parts = make_rooms(3, 2)
    assert [len(pairs) for pairs in parts] == [12, 8, 8]
    assert len(set.union(*map(scenes_of, parts))) == 3 + 2 + 2
