"""NYU Depth V2: image files with depth files beside them, named in a list."""

from __future__ import annotations

import math
import re
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import numpy.typing as npt
from PIL import Image

from betanll_paper.datasets import DataError
from betanll_paper.depth.labelled import LabelledPairs
from betanll_paper.depth.pairs import (
    DepthData,
    Pair,
    Pairs,
    Selection,
    split_by_scene,
)

TRAINING_LIST = "nyudepthv2_train_files_with_gt.txt"
TEST_LIST = "nyudepthv2_test_files_with_gt.txt"
TRAINING_FOLDER = "sync"
TEST_FOLDER = Path("official_splits", "test")
LABELLED = "nyu_depth_v2_labeled.mat"
SPLITS = "splits.mat"
#: Share of the training scenes for validation.
VALIDATION_SHARE = 0.05

_MILLIMETRES = np.float32(1000)
#: Pillow's names for 16-bit grey; old versions widen such a PNG to 32 bits, "I".
_DEPTH_MODES = ("I;16", "I;16B", "I;16L", "I")
#: Pillow passes other formats, such as PostScript, to programs that execute them.
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "PPM", "WEBP")
#: Recordings of one place have a letter behind its number.
_RECORDING = re.compile(r"(_\d{4})[a-z]?(_out)?$")


def load_nyu(
    folder: str | Path, *, max_validation: int = 600, seed: int = 0
) -> DepthData:
    """Read NYU Depth V2.

    Parameters
    ----------
    folder : path
        Contains ``nyudepthv2_train_files_with_gt.txt`` and the pairs it lists under
        ``sync``. Test pairs are listed in ``nyudepthv2_test_files_with_gt.txt``, under
        ``official_splits/test``. Without this list they come from
        ``nyu_depth_v2_labeled.mat``, chosen by ``splits.mat``.
    max_validation : int, default=600
        Validation images, spread evenly over the held-out scenes, so that a validation
        check takes no longer than the test.
    seed : int, default=0
        Seed of the choice of scenes.

    Notes
    -----
    Validation uses scenes of the training set. The published models were selected on
    the test images.
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


class BTSPairs(Pairs):
    """Pairs of the BTS variant of NYU Depth V2 (Lee et al. 2019), named in a list.

    A line of the list names an image, its depth and the focal length, separated by
    blanks. Names are relative to the folder, with or without a slash in front. Depths
    are 16-bit pictures in millimetres, 0 where there is no measurement. The scene of a
    pair is the folder of its image; ``bedroom_0010a`` and ``bedroom_0010b`` are two
    recordings of one scene.

    Parameters
    ----------
    folder : str or Path
        The folder of the scenes.
    file_list : str or Path

    Raises
    ------
    DataError
        If the list cannot be read, is empty or has a malformed line, or if a listed
        file is missing. On access to a pair: if a file is damaged, if the sizes of
        image and depth differ, or if no pixel has a depth.

    References
    ----------
    Lee, Han, Ko, Suh (2019), From Big to Small: Multi-Scale Local Planar Guidance for
    Monocular Depth Estimation.

    Examples
    --------
    >>> pairs = BTSPairs("nyu/train", "nyu/train.txt")  # doctest: +SKIP
    >>> image, depth = pairs[0]  # doctest: +SKIP
    >>> image.shape, depth.shape  # doctest: +SKIP
    ((480, 640, 3), (480, 640))
    """

    def __init__(self, folder: str | Path, file_list: str | Path) -> None:
        self.folder = Path(folder)
        self._names = _listed_names(Path(file_list))
        paths = [self.folder / name for names in self._names for name in names]
        missing = [path for path in paths if not path.is_file()]
        if missing:
            raise DataError(
                f"{missing[0]} is missing, the first of {len(missing)} missing files "
                f"that are listed in {file_list}"
            )

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: int) -> Pair:
        image_path, depth_path = (self.folder / name for name in self._names[index])
        image, depth = _read_image(image_path), _read_depth(depth_path)
        if depth.shape != image.shape[:2]:
            sizes = [f"{array.shape[1]} x {array.shape[0]}" for array in (depth, image)]
            raise DataError(
                f"the depth {depth_path} has {sizes[0]} pixels, but its image "
                f"{image_path} has {sizes[1]}"
            )
        if not depth.any():
            raise DataError(f"the depth {depth_path} has no valid pixel")
        return Pair(image, depth)

    def scene(self, index: int) -> str:
        folder = PurePosixPath(self._names[index][0]).parent.as_posix()
        return _RECORDING.sub(r"\1", folder)

    def name(self, index: int) -> str:
        """Return the file name of an image, relative to the folder."""
        return self._names[index][0]


def _listed_names(file_list: Path) -> list[tuple[str, str]]:
    """Return the names of image and depth in each line of a list."""
    try:
        lines = file_list.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(
            f"the file list {file_list} cannot be read: {error.strerror or error}"
        ) from None
    except UnicodeDecodeError:
        raise DataError(f"the file list {file_list} is not a text file") from None
    names = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                names.append(_parsed(line.split()))
            except ValueError as error:
                raise DataError(f"line {number} of {file_list} {error}") from None
    if not names:
        raise DataError(f"the file list {file_list} is empty")
    return names


def _parsed(fields: list[str]) -> tuple[str, str]:
    if len(fields) != 3:
        raise ValueError(
            f"must name an image, a depth and a focal length, got {len(fields)} fields"
        )
    image, depth, focal = fields
    try:
        is_length = 0 < float(focal) < math.inf
    except ValueError:
        is_length = False
    if not is_length:
        raise ValueError(f"must end with a focal length, got {focal!r}")
    return _inside(image), _inside(depth)


def _inside(name: str) -> str:
    relative = name.lstrip("/\\")
    # This flavour knows both separators, and drives, on every system.
    path = PureWindowsPath(relative)
    if path.drive or ".." in path.parts:
        raise ValueError(f"leads out of the folder: {name!r}")
    return relative


def _read_image(path: Path) -> npt.NDArray[np.uint8]:
    picture = _read_picture(path)
    # Pillow would clip these values at 255.
    if picture.mode == "F" or picture.mode in _DEPTH_MODES:
        raise DataError(
            f"the image {path} must have colours of 8 bits, got mode {picture.mode}"
        )
    return np.array(picture.convert("RGB"), np.uint8)


def _read_depth(path: Path) -> npt.NDArray[np.float32]:
    picture = _read_picture(path)
    if picture.mode not in _DEPTH_MODES:
        raise DataError(
            f"the depth {path} must be a grey picture of 16 bits, got mode "
            f"{picture.mode}"
        )
    return np.array(picture, np.float32) / _MILLIMETRES


def _read_picture(path: Path) -> Image.Image:
    try:
        with path.open("rb") as file:
            picture = Image.open(file, formats=_FORMATS)
            picture.load()
    # Decoders of damaged files raise almost anything, SyntaxError included.
    except Exception as error:
        reason = getattr(error, "strerror", None)
        reason = reason or "it is damaged, cut short or not a picture"
        raise DataError(f"{path} cannot be read: {reason}") from None
    return picture
