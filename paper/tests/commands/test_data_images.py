import functools
import gzip
import hashlib
import http.server
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from betanll_paper.datasets import IMAGE_NAMES, load_images
from betanll_paper.datasets.images import IMAGE_FACTS, IdxFile, ImageFacts

FILES = {
    "train-images-idx3-ubyte": (20, 28, 28),
    "train-labels-idx1-ubyte": (20,),
    "t10k-images-idx3-ubyte": (5, 28, 28),
    "t10k-labels-idx1-ubyte": (5,),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the data, empty; never that of the user."""
    folder = tmp_path / "data"
    monkeypatch.setenv("BETANLL_DATA", str(folder))
    return folder


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """The folder of a server with made-up images in place of the published ones."""
    mirror = tmp_path / "mirror"
    for k, name in enumerate(IMAGE_NAMES):
        (mirror / name).mkdir(parents=True)
        files = []
        for file, shape in FILES.items():
            header = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes()
            content = header + np.full(shape, k, np.uint8).tobytes()
            (mirror / name / f"{file}.gz").write_bytes(gzip.compress(content))
            files.append(IdxFile(file, shape, hashlib.md5(content).hexdigest()))
        monkeypatch.setitem(IMAGE_FACTS, name, ImageFacts("http://[::1]:1", *files))
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))
    handler = functools.partial(Handler, directory=str(mirror))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        monkeypatch.setenv("BETANLL_DATA_URL", url)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield mirror
        server.shutdown()
        thread.join()


def listed(outcome, name):
    assert outcome.code == 0, outcome
    lines = [line.split() for line in outcome.out.splitlines()]
    return next(line for line in lines if line[:1] == [name])


def test_list(run, folder):
    assert listed(run("data", "list"), "images") == [
        *("images", "train", "test", "size", "here")
    ]
    for name in IMAGE_NAMES:
        expected = [name, "60000", "10000", "28x28", "no"]
        assert listed(run("data", "list"), name) == expected
    (folder / "mnist").mkdir(parents=True)
    (folder / "mnist" / "t10k-labels-idx1-ubyte").touch()
    assert listed(run("data", "list"), "mnist")[-1] == "half"
    for file in FILES:
        (folder / "mnist" / f"{file}.gz").touch()
    assert listed(run("data", "list"), "mnist")[-1] == "yes"
    assert listed(run("data", "list"), "fashion-mnist")[-1] == "no"


def test_download(run, mirror, folder, contents):
    outcome = run("data", "download", "mnist", "fashion-mnist", "mnist")
    assert outcome.code == 0, outcome
    assert outcome.out.splitlines() == [
        "mnist: 20 training images, 5 test images",
        "fashion-mnist: 20 training images, 5 test images",
        f"Folder: {folder}",
    ]
    # each from its own folder of the mirror, as they are there
    assert contents(folder) == contents(mirror)
    for k, name in enumerate(IMAGE_NAMES):
        assert (load_images(name).test_images == k).all()
    outcome = run("data", "download", "mnist")
    assert outcome.out == f"mnist: already here\nFolder: {folder}\n"
    other = folder / "other"
    assert run("data", "download", "mnist", "--data-dir", other).code == 0
    assert load_images("mnist", other).name == "mnist"


def test_faults_end_in_one_line(run, refused, mirror, folder):
    path = mirror / "mnist" / "train-images-idx3-ubyte.gz"
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    assert "not the published file" in refused("data", "download", "mnist")
    path.unlink()
    assert "404" in refused("data", "download", "mnist")
    assert not (folder / "mnist" / path.name).exists()
    path.write_bytes(content)
    assert run("data", "download", "mnist").code == 0
    url = ("--base-url", "http://127.0.0.1:1")
    assert "connection refused" in refused("data", "download", "fashion-mnist", *url)
    inside = ("--data-dir", folder / "mnist" / path.name)
    assert "is a file" in refused("data", "download", "mnist", *inside)
    # a damaged file is replaced
    (folder / "mnist" / path.name).write_bytes(content[:-20])
    assert "20 training" in run("data", "download", "mnist").out
    assert (folder / "mnist" / path.name).read_bytes() == content


def test_unknown_set(refused):
    message = refused("data", "download", "yacht", "minst")
    assert "there is no data set 'minst' (did you mean 'mnist'?)" in message
    assert "yacht, mnist, fashion-mnist" in message
