"""Pairs to train, to select and to test on: of NYU Depth V2, or of made-up rooms."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from betanll_paper.depth.bts import BTSPairs
from betanll_paper.depth.labelled import LabelledPairs
from betanll_paper.depth.pairs import InMemory, Pairs, Selection, split_by_scene
from betanll_paper.depth.rooms.scenes import SyntheticScenes

TRAINING_LIST = "nyudepthv2_train_files_with_gt.txt"
TEST_LIST = "nyudepthv2_test_files_with_gt.txt"
TRAINING_FOLDER = "sync"
TEST_FOLDER = Path("official_splits", "test")
LABELLED = "nyu_depth_v2_labeled.mat"
SPLITS = "splits.mat"
#: Share of the training scenes on which the model is selected.
VALIDATION_SHARE = 0.05


class DepthData(NamedTuple):
    """Pairs to train, to select and to test a model on, without a common scene."""

    training: Pairs
    validation: Pairs
    test: Pairs


def make_rooms(
    n_scenes: int, n_others: int, *, size: tuple[int, int] = (96, 128)
) -> DepthData:
    """Make up rooms, and keep the pairs in memory.

    Parameters
    ----------
    n_scenes : int
        Rooms to train on, with four views each.
    n_others : int
        Rooms to validate on, and as many to test on.
    size : tuple of int, default=(96, 128)
        Height and width of what is trained on. The images are larger by an eighth, so
        that parts can be chosen.
    """
    height, width = size
    rooms = [
        SyntheticScenes(n, size=(height * 9 // 8, width * 9 // 8), seed=seed)
        for seed, n in enumerate((n_scenes, n_others, n_others))
    ]
    return DepthData(*map(InMemory, rooms))


def load_nyu(
    folder: str | Path, *, max_validation: int = 600, seed: int = 0
) -> DepthData:
    """Read NYU Depth V2.

    Parameters
    ----------
    folder : path
        With ``nyudepthv2_train_files_with_gt.txt`` and the pairs it lists under
        ``sync``. The test pairs are those of ``nyudepthv2_test_files_with_gt.txt``
        under ``official_splits/test``, or, without that list, those of
        ``nyu_depth_v2_labeled.mat`` that ``splits.mat`` calls test pairs.
    max_validation : int, default=600
        Validation images, spread evenly over those of the scenes that are held out,
        so that looking at them takes no more time than looking at the test images.
    seed : int, default=0
        Of the choice of scenes.

    Notes
    -----
    The model is selected on scenes of the training set. The published numbers were
    selected on the test images.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NotADirectoryError(f"there is no folder {folder}")
    pairs = BTSPairs(folder / TRAINING_FOLDER, folder / TRAINING_LIST)
    training, held_out = split_by_scene(pairs, VALIDATION_SHARE, seed)
    step = -(-len(held_out) // max_validation)
    validation = Selection(held_out, range(0, len(held_out), step))
    return DepthData(training, validation, _test_pairs(folder))


def _test_pairs(folder: Path) -> Pairs:
    if (folder / TEST_LIST).exists():
        return BTSPairs(folder / TEST_FOLDER, folder / TEST_LIST)
    if (folder / LABELLED).exists():
        return LabelledPairs(folder / LABELLED, split=folder / SPLITS, part="test")
    raise FileNotFoundError(f"{folder} has neither {TEST_LIST} nor {LABELLED}")
