"""Made-up files in place of the published ones, and a server with faults."""

import gzip
import hashlib
import http.server
import io
import threading
from collections import Counter, defaultdict
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from betanll_paper.datasets.images import IMAGE_FACTS, IdxFile, ImageFacts
from betanll_paper.datasets.uci import UCI_FACTS


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def raw_files(name, values, splits, form="%.18e", delimiter=" "):
    """Return the files of the authors' repository as bytes by path."""
    facts = UCI_FACTS[name]
    n_inputs, n_columns = len(facts.inputs), values.shape[1]

    def text(array, form="%d"):
        file = io.BytesIO()
        np.savetxt(file, array, fmt=form, delimiter=delimiter)
        return file.getvalue()

    files = {
        "data.txt": text(values, form),
        "index_features.txt": text(np.arange(n_inputs)),
        "index_target.txt": text(np.arange(n_inputs, n_columns)[::-1]),
        "n_splits.txt": text([len(splits)]),
    }
    for k, (train, test) in enumerate(splits):
        files[f"index_train_{k}.txt"] = text(train)
        files[f"index_test_{k}.txt"] = text(test)
    folder = f"data/UCI_Datasets/{facts.folder}/data"
    return {f"{folder}/{file}": content for file, content in files.items()}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """Let pooch try again at once."""
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture(scope="session")
def as_raw():
    """A function of name, values, splits and format that returns raw files."""
    return raw_files


@pytest.fixture
def yacht(monkeypatch):
    """Made-up raw files in place of those of yacht."""
    rng = np.random.default_rng(0)
    n_rows = UCI_FACTS["yacht"].n_rows
    orders = [rng.permutation(n_rows) for _ in range(20)]
    splits = [(order[31:], order[:31]) for order in orders]
    files = raw_files("yacht", rng.normal(size=(n_rows, 7)), splits)
    monkeypatch.setattr(
        "betanll_paper.datasets.uci_download.uci_sources",
        lambda name: {path: sha256(content) for path, content in files.items()},
    )
    return files


def as_idx(array):
    """Return an array of bytes as the content of an idx file."""
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return header + array.tobytes()


@pytest.fixture(scope="session")
def idx():
    """A function of an array that returns an idx file."""
    return as_idx


@pytest.fixture
def mnist(monkeypatch):
    """Made-up arrays in place of those of MNIST, by file name without ``.gz``."""
    rng = np.random.default_rng(0)
    shapes = {
        "train-images-idx3-ubyte": (20, 28, 28),
        "train-labels-idx1-ubyte": (20,),
        "t10k-images-idx3-ubyte": (5, 28, 28),
        "t10k-labels-idx1-ubyte": (5,),
    }
    arrays = {
        name: rng.integers(256 if len(shape) == 3 else 10, size=shape, dtype=np.uint8)
        for name, shape in shapes.items()
    }
    files = [
        IdxFile(name, array.shape, hashlib.md5(as_idx(array)).hexdigest())
        for name, array in arrays.items()
    ]
    facts = ImageFacts("http://127.0.0.1:1", *files)
    monkeypatch.setitem(IMAGE_FACTS, "mnist", facts)
    return arrays


@pytest.fixture
def packed(mnist):
    """The made-up files as they are published."""
    return {f"{name}.gz": gzip.compress(as_idx(a)) for name, a in mnist.items()}


class Redirect(NamedTuple):
    """A fault: send the client elsewhere."""

    address: str
    status: int = 302
    is_endless: bool = False


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server, path = self.server, self.path[1:]
        server.asked[path] += 1
        fault = server.faults[path].pop(0) if server.faults[path] else None
        if fault == "silent":
            server.released.wait(10)
        if fault == "error":
            return self.send_error(500)
        if isinstance(fault, Redirect):
            self.send_response(fault.status)
            self.send_header("Location", fault.address)
            self.end_headers()
            return self.send_without_end() if fault.is_endless else None
        if fault == "endless":
            self.send_response(200)
            self.end_headers()
            return self.send_without_end()
        if fault == "missing" or path not in server.files:
            return self.send_error(404)
        content = server.files[path]
        if fault == "wrong":
            content = content[::-1]
        self.send_response(200)
        n_bytes = 10**15 if fault == "large" else len(content)
        self.send_header("Content-Length", str(n_bytes))
        self.end_headers()
        if fault in ("truncated", "stalled"):
            content = content[: len(content) // 2]
        self.wfile.write(content)
        self.wfile.flush()
        if fault == "stalled":
            server.released.wait(10)

    def send_without_end(self):
        while not self.server.released.is_set():
            self.wfile.write(bytes(1 << 16))
            self.server.n_sent += 1 << 16

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Has `files`, `faults` to commit at the next requests, and counts requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.n_sent = {}, 0
        self.faults, self.asked = defaultdict(list), Counter()
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass  # the client went away


@pytest.fixture
def redirect():
    """A function of an address and a status that returns a fault of the server."""
    return Redirect


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()
