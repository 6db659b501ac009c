"""The labelled part of NYU Depth V2, images and depths in one MATLAB file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.io import loadmat

from betanll_paper.datasets import DataError
from betanll_paper.depth.pairs import Pair, Pairs

_SPLIT_VARIABLES = {"train": "trainNdxs", "test": "testNdxs"}
#: Rows and columns of a 480 x 640 image inside its white frame.
_SEEN = (slice(7, 474), slice(7, 632))


class LabelledPairs(Pairs):
    """The labelled part of NYU Depth V2, from its MATLAB file.

    The white frame of an image is made black, as in the files that Lee et al. (2019)
    extract. Each access opens the file anew, so that the processes of a data loader do
    not share it.

    Parameters
    ----------
    path : str or Path
        ``nyu_depth_v2_labeled.mat``.
    split : str or Path, optional
        ``splits.mat``, the official split; without it all pairs are taken.
    part : {"test", "train"}, default="test"
        The part of `split` to take.
    raw : bool, default=True
        Take the measured depths instead of the filled-in depths.

    Raises
    ------
    DataError
        If a file is missing, damaged or of another layout. On access to a pair: if no
        pixel has a depth.

    References
    ----------
    Silberman, Hoiem, Kohli, Fergus (2012), Indoor Segmentation and Support Inference
    from RGBD Images.

    Lee, Han, Ko, Suh (2019), From Big to Small: Multi-Scale Local Planar Guidance for
    Monocular Depth Estimation.

    Examples
    --------
    >>> pairs = LabelledPairs(
    ...     "nyu_depth_v2_labeled.mat", split="splits.mat"
    ... )  # doctest: +SKIP
    >>> len(pairs)  # doctest: +SKIP
    654
    """

    def __init__(
        self,
        path: str | Path,
        *,
        split: str | Path | None = None,
        part: str = "test",
        raw: bool = True,
    ) -> None:
        if part not in _SPLIT_VARIABLES:
            raise ValueError(f"part must be 'train' or 'test', got {part!r}")
        self.path = Path(path)
        self._depths = "rawDepths" if raw else "depths"
        with _opened(self.path) as file:
            n_images = _checked_length(self.path, file, self._depths)
            self._positions: Sequence[int] = range(n_images)
            if split is not None:
                self._positions = _positions_of_part(Path(split), part, n_images)
            references = file["scenes"][()].ravel()
            self._scenes = [
                _scene_name(self.path, file, references, position)
                for position in self._positions
            ]

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, index: int) -> Pair:
        position = self._positions[index]
        with _opened(self.path) as file:
            # MATLAB stores columns first, hence the reversed axes.
            image = np.ascontiguousarray(file["images"][position].transpose(2, 1, 0))
            depth = file[self._depths][position].transpose(1, 0)
        is_measured = np.isfinite(depth) & (depth > 0)
        if not is_measured.any():
            raise DataError(
                f"{self._depths} of image {position + 1} in {self.path} has no valid "
                "pixel"
            )
        if image.shape[:2] == (480, 640):
            framed = np.zeros_like(image)
            framed[_SEEN] = image[_SEEN]
            image = framed
        depth = np.where(is_measured, depth, 0).astype(np.float32, order="C")
        return Pair(image, depth)

    def scene(self, index: int) -> str:
        return self._scenes[index]

    def name(self, index: int) -> str:
        """Return the number of an image in the file, counted from 1 as in the split."""
        return f"image {self._positions[index] + 1} of {self.path.name}"


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Yield the open file, with one sentence for each error of h5py."""
    try:
        h5py = import_module("h5py")
    except ImportError:
        raise ImportError(
            "the labelled part of NYU Depth V2 needs h5py: "
            'pip install "betanll-paper[depth]"'
        ) from None
    try:
        path.open("rb").close()  # names errors of the system better than h5py
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    if not h5py.is_hdf5(path):
        raise DataError(f"{path} is not an HDF5 file, as MATLAB 7.3 writes it")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, RuntimeError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path} is damaged or cut short: {reason}") from None


def _checked_length(path: Path, file: Any, depths: str) -> int:
    """Return the number of images in a file of the expected layout."""
    for name in ("images", depths, "scenes"):
        if not hasattr(file.get(name), "shape"):
            raise DataError(f"{path} has no array {name!r}")
    images, depth, n_scenes = file["images"], file[depths], file["scenes"].size
    if images.ndim != 4 or images.shape[1] != 3 or images.dtype != np.uint8:
        raise DataError(
            f"images in {path} must be bytes of shape (n, 3, width, height), got "
            f"{images.dtype} of shape {images.shape}"
        )
    n_images, _, *size = images.shape
    if n_images == 0:
        raise DataError(f"{path} has no images")
    if depth.shape != (n_images, *size) or depth.dtype.kind != "f":
        raise DataError(
            f"{depths} in {path} must be numbers of shape {(n_images, *size)}, as the "
            f"images are, got {depth.dtype} of shape {depth.shape}"
        )
    if n_scenes != n_images:
        raise DataError(
            f"scenes in {path} must have one name for each of the {n_images} images, "
            f"got {n_scenes}"
        )
    return int(n_images)


def _scene_name(path: Path, file: Any, references: Any, position: int) -> str:
    try:
        letters = file[references[position]][()]
        if letters.dtype != np.uint16:
            raise TypeError
        return str(letters.astype("<u2").tobytes().decode("utf-16-le"))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DataError(
            f"scene {position + 1} in {path} is not a reference to a name"
        ) from None


def _positions_of_part(path: Path, part: str, n_images: int) -> list[int]:
    variable = _SPLIT_VARIABLES[part]
    try:
        with path.open("rb") as file:
            content = loadmat(file, variable_names=[variable])
    # The parser of loadmat raises almost anything for a damaged file.
    except Exception as error:
        reason = getattr(error, "strerror", None)
        reason = reason or "it is damaged or not a MATLAB 5 file"
        raise DataError(f"the split {path} cannot be read: {reason}") from None
    if variable not in content:
        raise DataError(f"the split {path} has no {variable}")
    numbers: npt.NDArray[Any] = np.asarray(content[variable]).ravel()
    if numbers.size == 0:
        raise DataError(f"{variable} of the split {path} is empty")
    if numbers.dtype.kind not in "iuf" or not np.all(
        (numbers >= 1) & (numbers <= n_images) & (numbers % 1 == 0)
    ):
        raise DataError(
            f"{variable} of the split {path} must hold numbers of images, from 1 to "
            f"{n_images}"
        )
    return [int(number) - 1 for number in numbers]
