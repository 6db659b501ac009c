import gzip

import numpy as np
import pytest

from betanll_paper.datasets import DataError, download_images, load_images
from betanll_paper.datasets.download import N_ATTEMPTS

PIXELS = "train-images-idx3-ubyte"
FAULTS = ["error", "truncated", "stalled", "silent", "wrong"]


@pytest.fixture
def download(server, packed, mnist, tmp_path):
    """A function that downloads the made-up MNIST and compares it."""
    server.files = dict(packed)

    def call(**options):
        options = {"base_url": server.url, "timeout": 0.3, **options}
        images = download_images("mnist", tmp_path, **options)
        arrays = list(vars(images).values())[1:]
        for array, expected in zip(arrays, mnist.values(), strict=True):
            np.testing.assert_array_equal(array, expected)

    return call


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_whole_set(download, packed, server, tmp_path):
    seen = []
    download(progress=lambda *numbers: seen.append(numbers))
    assert np.sum(seen, axis=0).tolist() == [4, sum(map(len, packed.values()))]
    # the files as they came, and they are not downloaded again
    assert names(tmp_path) == ["mnist"]
    assert names(tmp_path / "mnist") == sorted(packed)
    for file, content in packed.items():
        assert (tmp_path / "mnist" / file).read_bytes() == content
    server.asked.clear()
    download()
    assert not server.asked


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_survived(download, server, fault):
    server.faults[f"{PIXELS}.gz"] = [fault]
    download()
    assert server.asked[f"{PIXELS}.gz"] == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_a_second_run_completes(download, packed, server, tmp_path, fault):
    server.faults[f"{PIXELS}.gz"] = [fault] * N_ATTEMPTS
    with pytest.raises(DataError, match=r"cannot be downloaded: .* run the command"):
        download()
    server.released.set()
    # What has its name is right and is not asked for again. If the fault came before
    # any file was complete, nothing is left, not even the folder.
    folder = tmp_path / "mnist"
    finished = set(names(folder) if folder.exists() else ()) & set(packed)
    assert f"{PIXELS}.gz" not in finished
    for file in finished:
        assert (tmp_path / "mnist" / file).read_bytes() == packed[file]
    server.asked.clear()
    download()
    assert set(server.asked) == set(packed) - finished
    assert names(tmp_path / "mnist") == sorted(packed)


def test_a_broken_file_starts_over(download, server):
    server.faults[f"{PIXELS}.gz"] = ["truncated"]
    download()
    assert server.asked.pop(f"{PIXELS}.gz") == 2
    assert set(server.asked.values()) == {1}


def test_only_what_is_missing(download, packed, mnist, idx, server, tmp_path):
    folder = tmp_path / "mnist"
    download()
    # nothing of it where the others are unpacked
    for file, array in mnist.items():
        (folder / file).write_bytes(idx(array))
        (folder / f"{file}.gz").unlink()
    (folder / PIXELS).unlink()
    server.asked.clear()
    seen = []
    download(progress=lambda *numbers: seen.append(numbers))
    assert list(server.asked) == [f"{PIXELS}.gz"]
    assert sum(n_files for n_files, _ in seen) == 4


def test_damaged_files_are_replaced(download, packed, mnist, server, tmp_path):
    folder = tmp_path / "mnist"
    download()
    (folder / f"{PIXELS}.gz").write_bytes(packed[f"{PIXELS}.gz"][:-9])
    server.asked.clear()
    download()
    assert list(server.asked) == [f"{PIXELS}.gz"]
    # a damaged file of the user beside it stays and does not count
    (folder / f"{PIXELS}.gz").unlink()
    (folder / PIXELS).write_bytes(b"mine")
    download()
    assert (folder / PIXELS).read_bytes() == b"mine"


def test_content_counts_and_not_how_it_is_packed(
    download, mnist, idx, server, tmp_path
):
    for k, (file, array) in enumerate(mnist.items()):
        content = idx(array)
        packed = gzip.compress(content, k, mtime=k)
        server.files[f"{file}.gz"] = content if k == 3 else packed
    download()


@pytest.mark.parametrize("content", [b"", b"<html>Sign in</html>"])
def test_something_else_at_the_address(download, server, tmp_path, content):
    server.files[f"{PIXELS}.gz"] = content
    with pytest.raises(DataError, match="what arrives is not the published file"):
        download()
    assert not (tmp_path / "mnist" / f"{PIXELS}.gz").exists()
    server.files[f"{PIXELS}.gz"] = gzip.compress(b"another set")
    with pytest.raises(DataError, match="what arrives is not the published file"):
        download()
    with pytest.raises(DataError, match="is missing"):
        load_images("mnist", tmp_path)


def test_leftovers_of_a_killed_download_are_removed(download, packed, tmp_path):
    raw = tmp_path / "raw" / "mnist"
    raw.mkdir(parents=True)
    (raw / "tmp01234567").write_bytes(b"half")
    (raw / f"{PIXELS}.gz").write_bytes(b"nonsense")
    download()
    assert names(tmp_path) == ["mnist"]
    assert names(tmp_path / "mnist") == sorted(packed)


def test_everybody_may_read_what_a_new_file_shows(download, tmp_path):
    (tmp_path / "usual").touch()
    download()
    for path in (tmp_path / "mnist").iterdir():
        assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_missing_file_and_no_server(download, server, tmp_path):
    server.faults[f"{PIXELS}.gz"] = ["missing"]
    with pytest.raises(DataError, match="404 Not Found"):
        download()
    assert server.asked[f"{PIXELS}.gz"] == 1
    with pytest.raises(DataError, match="connection refused"):
        download(base_url=None)  # the made-up set is published nowhere
    with pytest.raises(DataError, match="starts with http"):
        download(base_url="ftp://127.0.0.1")


def test_unknown_name_and_no_folder(tmp_path):
    with pytest.raises(DataError, match="did you mean 'fashion-mnist'"):
        download_images("fashion_mnist", tmp_path)
    (tmp_path / "mnist").touch()
    with pytest.raises(NotADirectoryError):
        download_images("mnist", tmp_path, base_url="http://127.0.0.1:1")
