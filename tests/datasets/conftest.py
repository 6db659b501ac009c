"""The real data where it is present, made-up raw files, and a server with faults."""

import hashlib
import http.server
import io
import threading
from collections import defaultdict

import numpy as np
import pytest

from betanll.datasets._uci_facts import UCI_FACTS


def blob(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


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
        "betanll.datasets._uci_download.uci_sources",
        lambda name: {path: blob(content) for path, content in files.items()},
    )
    monkeypatch.setattr("betanll.datasets._fetch.FIRST_WAIT", 0.0)
    return files


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server, path = self.server, self.path[1:]
        range_ = self.headers.get("Range")
        server.asked[path].append(range_)
        fault = server.faults[path].pop(0) if server.faults[path] else None
        if fault == "silent":
            server.released.wait(10)
        if fault == "error":
            return self.send_error(500)
        if fault == "missing" or path not in server.files:
            return self.send_error(404)
        content = server.files[path]
        if fault == "wrong":
            content = content[::-1]
        start = 0
        if range_ is not None and server.ranges:
            start = int(range_.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return self.send_error(416)
        body = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault in ("truncated", "stalled"):
            body = body[: len(body) // 2]
        self.wfile.write(body)
        self.wfile.flush()
        if fault == "stalled":
            server.released.wait(10)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Has `files`, `faults` to commit at the next requests, and what was `asked`."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.ranges = {}, True
        self.faults, self.asked = defaultdict(list), defaultdict(list)
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass  # the client went away


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()
