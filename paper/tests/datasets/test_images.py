import gzip
import hashlib
import pickle
import re
import shutil

import numpy as np
import pytest

from betanll_paper.datasets import IMAGE_NAMES, DataError, ImageSet, load_images
from betanll_paper.datasets.images import IMAGE_FACTS

LABELS = "train-labels-idx1-ubyte"
PIXELS = "train-images-idx3-ubyte"


@pytest.fixture(scope="session")
def real(data_dir):
    """The published sets by name."""
    for name in IMAGE_NAMES:
        if not (data_dir / name).is_dir():
            pytest.skip(f"{name} is not among the data")
    return {name: load_images(name, data_dir) for name in IMAGE_NAMES}


@pytest.fixture
def folder(packed, tmp_path):
    """A folder of data with the made-up files."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for file, content in packed.items():
        (folder / file).write_bytes(content)
    return folder


@pytest.fixture
def damaged(folder, tmp_path):
    """A function of a file and its new content that returns the complaint."""

    def load(file, content):
        path = folder / f"{file}.gz"
        before = path.read_bytes()
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            load_images("mnist", tmp_path)
        path.write_bytes(before)
        message = str(caught.value)
        assert message.startswith(f"{path} is damaged (it")
        assert message.endswith("); 'betanll data download mnist' replaces it")
        assert "\n" not in message
        return message

    return load


def check(images, arrays):
    """Compare a set with the arrays it was made from."""
    fields = ("train_images", "train_labels", "test_images", "test_labels")
    for name, array in zip(fields, arrays.values(), strict=True):
        np.testing.assert_array_equal(getattr(images, name), array)


def spread(pixels):
    """Return the standard deviation without a copy in double precision."""
    return np.sqrt(np.square(pixels, dtype=np.uint16).mean() - pixels.mean() ** 2)


@pytest.mark.parametrize("name", IMAGE_NAMES)
def test_shapes_of_the_published_sets(real, name):
    images = real[name]
    assert images.train_images.shape == (60_000, 28, 28)
    assert images.test_images.shape == (10_000, 28, 28)
    assert images.train_labels.shape == (60_000,)
    assert images.test_labels.shape == (10_000,)
    assert images.train_images.dtype == images.train_labels.dtype == np.uint8
    assert images.test_images.dtype == images.test_labels.dtype == np.uint8


def test_labels_and_pixels_of_mnist(real):
    images = real["mnist"]
    assert np.bincount(images.train_labels).tolist() == [
        *(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
    ]
    # As printed by everybody who ever looked at it.
    assert images.train_labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert images.train_images.mean() == pytest.approx(33.318, abs=5e-4)
    assert spread(images.train_images) == pytest.approx(78.567, abs=5e-4)


def test_labels_and_pixels_of_fashion_mnist(real):
    images = real["fashion-mnist"]
    assert np.bincount(images.train_labels).tolist() == [6000] * 10
    assert np.bincount(images.test_labels).tolist() == [1000] * 10
    assert images.train_images.mean() == pytest.approx(72.940, abs=5e-4)
    assert spread(images.train_images) == pytest.approx(90.021, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "rmse"), [("mnist", 0.2598), ("fashion-mnist", 0.2943)]
)
def test_error_of_the_mean_image(real, name, rmse):
    # That of an autoencoder that ignores its latent variables.
    images = real[name]
    errors = images.test_images / 255 - images.train_images.mean(axis=0) / 255
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(rmse, abs=1e-4)


def test_checksums_are_those_of_the_readme(data_dir):
    path = data_dir / "README.md"
    if not path.exists():
        pytest.skip("there is no list of checksums beside the data")
    text = path.read_text()
    for file in IMAGE_FACTS["mnist"].files:
        short = re.sub("-idx.*", "", file.name)
        assert f"{short} {file.md5}" in text
    lines = [line.split("  ") for line in text.splitlines()]
    sums = {
        line[1]: line[0] for line in lines if re.match("(fashion-)?mnist/", line[-1])
    }
    assert len(sums) == 8
    for name, expected in sums.items():
        content = (data_dir / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == expected, name


def test_split_of_the_authors(real):
    train, validation = real["mnist"].split()
    assert (len(train), len(validation)) == (48_000, 12_000)
    rows = np.concatenate([train, validation])
    np.testing.assert_array_equal(np.sort(rows), np.arange(60_000))
    np.testing.assert_array_equal(rows, np.random.RandomState(45).permutation(60_000))
    for ours, others in zip(
        (train, validation), real["fashion-mnist"].split(), strict=True
    ):
        np.testing.assert_array_equal(ours, others)


def test_compressed_or_not(folder, mnist, idx, tmp_path):
    check(load_images("mnist", tmp_path), mnist)
    # one of them unpacked
    packed = folder / f"{PIXELS}.gz"
    unpacked = folder / PIXELS
    unpacked.write_bytes(idx(mnist[PIXELS]))
    packed.unlink()
    check(load_images("mnist", tmp_path), mnist)
    # unpacked without a new name, as browsers do
    unpacked.rename(packed)
    check(load_images("mnist", tmp_path), mnist)
    # the packed one counts where there are both
    unpacked.write_bytes(b"")
    check(load_images("mnist", tmp_path), mnist)


def test_folder_from_the_environment(folder, mnist, tmp_path, monkeypatch):
    monkeypatch.setenv("BETANLL_DATA", str(tmp_path))
    check(load_images("mnist"), mnist)


def test_set_travels_to_other_processes(folder, mnist, tmp_path):
    images = load_images("mnist", str(tmp_path))
    assert repr(images) == "ImageSet(name='mnist')"
    check(pickle.loads(pickle.dumps(images)), mnist)


def test_unknown(tmp_path):
    with pytest.raises(
        DataError, match=r"did you mean 'mnist'\?\); there are mnist, f"
    ):
        load_images("minst", tmp_path)


def test_missing(folder, tmp_path):
    for path in sorted(folder.iterdir()):
        moved = path.rename(tmp_path / "moved")
        with pytest.raises(DataError, match="'betanll data download mnist'") as caught:
            load_images("mnist", tmp_path)
        assert str(caught.value).startswith(f"{path} is missing; ")
        path.mkdir()  # a folder is no file
        with pytest.raises(DataError, match="is missing"):
            load_images("mnist", tmp_path)
        path.rmdir()
        moved.rename(path)
    shutil.rmtree(folder)
    with pytest.raises(DataError, match="is missing"):
        load_images("mnist", tmp_path)


def test_unreadable(folder, tmp_path, monkeypatch):
    def fail(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("betanll_paper.datasets.images.read_idx", fail)
    with pytest.raises(DataError, match=r"gz cannot be read: Permission denied$"):
        load_images("mnist", tmp_path)


def test_damaged(damaged, packed, mnist, idx):
    pixels, labels = mnist[PIXELS], mnist[LABELS]
    whole = packed[f"{PIXELS}.gz"]
    for content in (whole[:-100], whole[: len(whole) // 2], whole[:5], whole + b"x"):
        assert "cannot be decompressed to its end" in damaged(PIXELS, content)
    flipped = whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]
    damaged(PIXELS, flipped)
    for content in (b"", b"<html>", gzip.compress(b"")):
        assert "not an idx file of bytes with 3 dimensions" in damaged(PIXELS, content)
    assert "with 3 dimensions" in damaged(PIXELS, idx(labels))
    assert "with 1 dimensions" in damaged(LABELS, idx(pixels))
    assert "ends after 15679 of 15680" in damaged(PIXELS, idx(pixels)[:-1])
    assert "has more than its 15680" in damaged(PIXELS, idx(pixels) + b"\0")
    assert "19 x 28 x 28 instead of 20 x 28 x 28" in damaged(PIXELS, idx(pixels[:19]))
    # labels of other images
    assert "its shape is 19 instead of 20" in damaged(LABELS, idx(labels[:-1]))
    assert "not the published ones" in damaged(LABELS, idx(labels[::-1].copy()))


def test_another_set_under_these_names(real, data_dir, tmp_path):
    (tmp_path / "mnist").symlink_to(data_dir / "fashion-mnist")
    with pytest.raises(DataError, match="values are not the published ones"):
        load_images("mnist", tmp_path)


def test_split_of_fewer_images():
    images = np.zeros((7, 2, 2), np.uint8)
    few = ImageSet("few", images, images[:, 0, 0], images, images[:, 0, 0])
    assert [len(rows) for rows in few.split()] == [5, 2]
