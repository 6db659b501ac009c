import pickle
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
h5py = pytest.importorskip("h5py")

from scipy.io import savemat  # noqa: E402, after the skip
from torch.utils.data import DataLoader  # noqa: E402

from betanll_paper.datasets import DataError  # noqa: E402
from betanll_paper.depth import load_nyu  # noqa: E402
from betanll_paper.depth.labelled import LabelledPairs  # noqa: E402

pytestmark = pytest.mark.torch

N, HEIGHT, WIDTH = 5, 4, 6
SCENES = ["kitchen_0004", "kitchen_0004", "office_0003", "bath_0001a", "office_0003"]


@pytest.fixture
def arrays():
    """Images, depths and raw depths in the order of Python: number, row, column."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (N, HEIGHT, WIDTH, 3), np.uint8)
    depths = rng.uniform(0.7, 9.9, (N, HEIGHT, WIDTH)).astype(np.float32)
    raw = np.where(rng.random(depths.shape) < 0.3, 0, depths).astype(np.float32)
    return images, depths, raw


@pytest.fixture
def path(tmp_path, arrays):
    """A file as MATLAB 7.3 writes it: 512 bytes of text first, axes reversed."""
    path = tmp_path / "labelled.mat"
    images, depths, raw = arrays
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset(
            "images", data=images.transpose(0, 3, 2, 1), compression="gzip"
        )
        file["depths"] = depths.transpose(0, 2, 1)
        file["rawDepths"] = raw.transpose(0, 2, 1)
        scenes = file.create_dataset("scenes", (1, N), h5py.ref_dtype)
        for number, scene in enumerate(SCENES):
            letters = file.create_dataset(
                f"#refs#/{number}", data=np.array([list(map(ord, scene))], "u2").T
            )
            scenes[0, number] = letters.ref
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(512))
    return path


@pytest.fixture
def split(tmp_path):
    path = tmp_path / "splits.mat"
    numbers = {"trainNdxs": [[1], [2], [4]], "testNdxs": [[3], [5]]}
    savemat(path, {key: np.array(value, np.uint16) for key, value in numbers.items()})
    return path


def message_of(action):
    with pytest.raises(DataError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    return message


# Values


def test_test_pairs_of_nyu_may_come_from_the_file(path, split, nyu_dir):
    path.rename(nyu_dir / "nyu_depth_v2_labeled.mat")
    split.rename(nyu_dir / "splits.mat")
    (nyu_dir / "nyudepthv2_test_files_with_gt.txt").unlink()
    test = load_nyu(nyu_dir).test
    assert [test.scene(index) for index in range(len(test))] == ["office_0003"] * 2


@pytest.mark.parametrize("raw", [True, False])
def test_pairs_are_those_of_the_file(path, arrays, raw):
    images, *depths = arrays
    pairs = LabelledPairs(path, raw=raw)
    assert len(pairs) == N
    for index, (image, depth) in enumerate(pairs):
        np.testing.assert_array_equal(image, images[index])
        np.testing.assert_array_equal(depth, depths[raw][index])
        assert image.dtype == np.uint8
        assert depth.dtype == np.float32
        assert image.flags.c_contiguous
        assert depth.flags.c_contiguous
        assert pairs.scene(index) == SCENES[index]
    assert index == N - 1


@pytest.mark.parametrize(("part", "chosen"), [("train", [0, 1, 3]), ("test", [2, 4])])
def test_numbers_of_the_split_start_at_one(path, split, arrays, part, chosen):
    pairs = LabelledPairs(path, split=split, part=part)
    assert len(pairs) == len(chosen)
    for index, position in enumerate(chosen):
        np.testing.assert_array_equal(pairs[index].image, arrays[0][position])
        np.testing.assert_array_equal(pairs[index].depth, arrays[2][position])
        assert pairs.scene(index) == SCENES[position]
        assert pairs.name(index) == f"image {position + 1} of labelled.mat"


def test_the_white_frame_of_a_whole_image_is_black(tmp_path):
    path = tmp_path / "whole.mat"
    with h5py.File(path, "w") as file:
        file["images"] = np.full((1, 3, 640, 480), 255, np.uint8)
        file["rawDepths"] = np.ones((1, 640, 480), np.float32)
        file["#refs#/0"] = np.array([list(map(ord, "kitchen"))], "u2").T
        scenes = file.create_dataset("scenes", (1, 1), h5py.ref_dtype)
        scenes[0, 0] = file["#refs#/0"].ref
    image, depth = LabelledPairs(path)[0]
    seen = np.zeros((480, 640), bool)
    seen[7:474, 7:632] = True
    assert (image[seen] == 255).all()
    assert (image[~seen] == 0).all()
    assert (depth == 1).all()


def test_invalid_depths_are_missing(path, arrays):
    with h5py.File(path, "r+") as file:
        file["rawDepths"][0, 0, :3] = [np.nan, np.inf, -1]
    expected = arrays[2][0].copy()
    expected[:3, 0] = 0
    np.testing.assert_array_equal(LabelledPairs(path)[0].depth, expected)


def test_split_of_doubles_is_read(path, tmp_path):
    savemat(tmp_path / "own.mat", {"testNdxs": [2.0, 1.0]})
    pairs = LabelledPairs(path, split=tmp_path / "own.mat")
    assert [pairs.name(i)[:7] for i in range(2)] == ["image 2", "image 1"]


# Processes


def test_pickled_pairs_read_the_same(path, arrays):
    pairs = LabelledPairs(path)
    pairs[0]
    copy = pickle.loads(pickle.dumps(pairs))
    np.testing.assert_array_equal(copy[3].image, arrays[0][3])


def test_no_file_stays_open(path):
    pairs = LabelledPairs(path)
    pairs[0]
    # HDF5 does not open for writing what is open for reading.
    with h5py.File(path, "r+") as file:
        file["rawDepths"][1] = 3
    assert (pairs[1].depth == 3).all()


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_loader_processes_read_the_same_pairs(path, arrays):
    pairs = LabelledPairs(path)
    pairs[0]
    loader = DataLoader(
        pairs, batch_size=None, num_workers=2, multiprocessing_context="fork"
    )
    read = [depth for _, depth in loader]
    np.testing.assert_array_equal(np.stack(read), arrays[2])


# Bad files


def test_file_that_is_missing_or_a_folder_is_named(tmp_path):
    path = tmp_path / "absent.mat"
    message = message_of(lambda: LabelledPairs(path))
    assert message == f"{path} cannot be read: No such file or directory"
    message = message_of(lambda: LabelledPairs(tmp_path))
    assert message == f"{tmp_path} cannot be read: Is a directory"


def test_file_that_is_not_hdf5_is_named(split):
    message = message_of(lambda: LabelledPairs(split))
    assert message.startswith(f"{split} is not an HDF5 file")


@pytest.mark.parametrize("share", [0.4, 0.8, 0.99])
def test_file_cut_short_is_named(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    message = message_of(lambda: LabelledPairs(path))
    assert message.startswith(f"{path} is damaged or cut short")


def test_damage_in_an_image_is_named(path):
    pairs = LabelledPairs(path)
    with h5py.File(path) as file:
        _, packed = file["images"].id.read_direct_chunk((0, 0, 0, 0))
    content = path.read_bytes()
    assert content.count(packed) == 1
    path.write_bytes(content.replace(packed, bytes(len(packed))))
    message = message_of(lambda: pairs[0])
    assert message.startswith(f"{path} is damaged or cut short")


@pytest.mark.parametrize("name", ["images", "rawDepths", "scenes"])
def test_missing_array_is_named(path, name):
    with h5py.File(path, "r+") as file:
        del file[name]
    assert message_of(lambda: LabelledPairs(path)) == f"{path} has no array {name!r}"


def test_unused_depths_may_be_missing(path):
    with h5py.File(path, "r+") as file:
        del file["depths"]
    assert len(LabelledPairs(path)) == N
    with pytest.raises(DataError, match="no array 'depths'"):
        LabelledPairs(path, raw=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("images", np.zeros((N, WIDTH, HEIGHT), np.uint8)),
        ("images", np.zeros((N, 4, WIDTH, HEIGHT), np.uint8)),
        ("images", np.zeros((N, 3, WIDTH, HEIGHT), np.float32)),
        ("rawDepths", np.ones((N, HEIGHT, WIDTH), np.float32)),
        ("rawDepths", np.ones((N - 1, WIDTH, HEIGHT), np.float32)),
        ("rawDepths", np.ones((N, WIDTH, HEIGHT), np.uint16)),
        ("scenes", np.zeros((1, N + 1), np.uint64)),
    ],
)
def test_arrays_of_other_layouts_are_named(path, name, value):
    with h5py.File(path, "r+") as file:
        del file[name]
        file[name] = value
    message = message_of(lambda: LabelledPairs(path))
    assert message.startswith(f"{name} in {path} must")


def test_file_without_images_is_named(path):
    with h5py.File(path, "r+") as file:
        for name in ("images", "rawDepths"):
            shape = (0, *file[name].shape[1:])
            del file[name]
            file[name] = np.zeros(shape, np.uint8)
    assert message_of(lambda: LabelledPairs(path)) == f"{path} has no images"


def test_scene_without_a_name_is_named_by_number(path):
    with h5py.File(path, "r+") as file:
        file["scenes"][0, 2] = h5py.Reference()
    message = message_of(lambda: LabelledPairs(path))
    assert message == f"scene 3 in {path} is not a reference to a name"
    with h5py.File(path, "r+") as file:
        del file["scenes"]
        file["scenes"] = np.zeros((1, N), np.uint64)
    message = message_of(lambda: LabelledPairs(path))
    assert message == f"scene 1 in {path} is not a reference to a name"


def test_image_without_valid_pixels_is_named_by_number(path):
    with h5py.File(path, "r+") as file:
        file["rawDepths"][3] = 0
    pairs = LabelledPairs(path)
    message = message_of(lambda: pairs[3])
    assert message == f"rawDepths of image 4 in {path} has no valid pixel"
    assert LabelledPairs(path, raw=False)[3].depth.all()


# Bad splits


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"trainNdxs": [[1]]}, "has no testNdxs"),
        ({"testNdxs": np.zeros((0, 1), np.uint16)}, "is empty"),
        ({"testNdxs": [[0], [1]]}, "from 1 to 5"),
        ({"testNdxs": [[1], [N + 1]]}, "from 1 to 5"),
        ({"testNdxs": [[1.5]]}, "from 1 to 5"),
        ({"testNdxs": [[np.nan]]}, "from 1 to 5"),
        ({"testNdxs": "one"}, "from 1 to 5"),
    ],
)
def test_bad_split_is_named(path, tmp_path, content, reason):
    split = tmp_path / "bad.mat"
    savemat(split, content)
    message = message_of(lambda: LabelledPairs(path, split=split))
    assert str(split) in message
    assert reason in message


@pytest.mark.parametrize("size", [0, 100, 150, 200])
def test_split_cut_short_is_named(path, split, size):
    split.write_bytes(split.read_bytes()[:size])
    message = message_of(lambda: LabelledPairs(path, split=split))
    assert str(split) in message


def test_missing_split_is_named(path, tmp_path):
    split = tmp_path / "absent.mat"
    message = message_of(lambda: LabelledPairs(path, split=split))
    expected = f"the split {split} cannot be read: No such file or directory"
    assert message == expected


def test_unknown_part_raises(path, split):
    with pytest.raises(ValueError, match="part must be 'train' or 'test', got 'val'"):
        LabelledPairs(path, split=split, part="val")


def test_missing_h5py_says_how_to_install_it(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(
        ImportError, match=r'needs h5py: pip install "betanll-paper\[depth'
    ):
        LabelledPairs(path)
