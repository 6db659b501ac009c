"""Servers that send too much or elsewhere, and files that must not be left behind."""

import hashlib
import threading

import pytest

from betanll_paper.datasets import DataError
from betanll_paper.datasets.download import N_ATTEMPTS, RemoteFile, download_files
from betanll_paper.datasets.images import IMAGE_FACTS
from betanll_paper.datasets.uci_download import BASE_URL
from betanll_paper.datasets.web import RefusedError, redirected

CONTENT = bytes(range(256)) * 100
CHECKSUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
LIMIT = len(CONTENT) + 1000


@pytest.fixture
def fetch_file(server, tmp_path):
    """A function that fetches one file, and returns its content."""
    server.files["file"] = CONTENT
    path = tmp_path / "new" / "file"

    def call(base_url=server.url, progress=None):
        file = RemoteFile("file", path, LIMIT, CHECKSUM)
        download_files(base_url, path.parent, [file], timeout=5.0, progress=progress)
        return path.read_bytes()

    return call


def files(folder):
    return [path.name for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("fault", ["endless", "large"])
def test_too_much_is_refused(fetch_file, server, tmp_path, fault):
    server.faults["file"] = [fault] * N_ATTEMPTS
    with pytest.raises(
        DataError, match=r"more than the 26600 bytes .* 4 times"
    ) as error:
        fetch_file()
    assert "\n" not in str(error.value)
    assert files(tmp_path) == []
    # no more was taken than fits into the buffers of sockets
    assert server.n_sent < 100 * 2**20


@pytest.mark.parametrize("fault", ["endless", "large"])
def test_too_much_once_is_survived(fetch_file, server, tmp_path, fault):
    server.faults["file"] = [fault]
    assert fetch_file() == CONTENT
    assert files(tmp_path) == ["file"]


def test_too_much_without_an_announcement(fetch_file, server, tmp_path):
    server.files["file"] = CONTENT + bytes(1001)
    with pytest.raises(DataError, match="more than the 26600 bytes"):
        fetch_file()
    server.files["file"] = CONTENT + bytes(1000)
    with pytest.raises(DataError, match="published file"):
        fetch_file()
    assert files(tmp_path) == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_to_the_web_are_followed(fetch_file, server, redirect, status):
    server.files["elsewhere"] = CONTENT
    server.faults["file"] = [redirect(f"{server.url}/elsewhere", status)]
    assert fetch_file() == CONTENT
    server.faults["file"] = [redirect("/elsewhere", status)]
    assert fetch_file() == CONTENT


ADDRESSES = [
    *("file:///etc/passwd", "ftp://127.0.0.1:1/file", "data:,text", "javascript:1"),
    *("http://[bad/", "http://127.0.0.1:99999999/", "http://a..b/"),
    "ftp://127.0.0.1/" + "x" * 10_000,
]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("address", ADDRESSES, ids=lambda text: text[:24])
def test_redirects_elsewhere(fetch_file, server, redirect, tmp_path, address, status):
    server.faults["file"] = [redirect(address, status)]
    with pytest.raises(DataError, match="redirects to") as error:
        fetch_file()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    assert server.asked["file"] == 1  # and is not asked again
    assert files(tmp_path) == []


def test_https_is_not_left():
    for address in ("https://example.org/file", "HTTPS://example.org/file"):
        with pytest.raises(RefusedError, match="not an https address"):
            redirected(address, "http://example.org/file")
        assert redirected(address, "//a.org/b").lower() == "https://a.org/b"


def test_the_body_of_a_redirect_is_not_read(fetch_file, server, redirect):
    server.files["elsewhere"] = CONTENT
    server.faults["file"] = [redirect("/elsewhere", is_endless=True)]
    assert fetch_file() == CONTENT
    assert server.n_sent < 100 * 2**20


def test_redirects_without_end(fetch_file, server, redirect):
    server.faults["file"] = [redirect("/file")] * 100
    with pytest.raises(DataError, match="cannot be downloaded: 302 Found"):
        fetch_file()
    assert server.asked["file"] < 20


def test_published_addresses_use_https():
    addresses = [BASE_URL, *(facts.url for facts in IMAGE_FACTS.values())]
    assert all(address.startswith("https://") for address in addresses)


@pytest.mark.parametrize("address", ["file:///tmp", "http://a..b", "http://[x", "x"])
def test_addresses_of_mirrors(fetch_file, address):
    with pytest.raises(DataError, match="must be an address that starts with http"):
        fetch_file(address)


def test_a_broken_download_leaves_nothing(fetch_file, server, tmp_path):
    server.faults["file"] = ["truncated"] * N_ATTEMPTS
    with pytest.raises(DataError, match="the connection ends early, 4 times in a row"):
        fetch_file()
    assert files(tmp_path) == []
    assert fetch_file() == CONTENT
    assert files(tmp_path) == ["file"]


def test_a_wrong_file_leaves_nothing(fetch_file, server, tmp_path):
    server.faults["file"] = ["wrong"] * N_ATTEMPTS
    with pytest.raises(DataError, match="not the published file"):
        fetch_file()
    assert files(tmp_path) == []


def test_an_interruption_leaves_nothing(fetch_file, server, tmp_path, monkeypatch):
    server.faults["file"] = ["stalled"]
    arrived = threading.Event()

    def interrupted(futures, **_):
        arrived.wait(10)
        raise KeyboardInterrupt

    monkeypatch.setattr("betanll_paper.datasets.download.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch_file(progress=lambda *_: arrived.set())
    server.released.set()
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPool"):
            thread.join(10)
    assert files(tmp_path) == []
