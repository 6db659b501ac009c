import errno
import functools
import hashlib
import http.server
import io
import os
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from betanll import files
from betanll.datasets import heteroscedastic_sine, sine
from betanll_paper.datasets import UCI_NAMES, load_uci
from betanll_paper.simulators import load_fetch, object_slide_splits


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the data, empty; never that of the user."""
    folder = tmp_path / "data"
    monkeypatch.setenv("BETANLL_DATA", str(folder))
    return folder


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """The folder of a server with made-up raw files of yacht."""
    rng = np.random.default_rng(0)
    files = tmp_path / "mirror"
    raw = files / "data" / "UCI_Datasets" / "yacht" / "data"
    raw.mkdir(parents=True)
    orders = [rng.permutation(308) for _ in range(20)]
    arrays = {
        "index_features": np.arange(6),
        "index_target": [6],
        "n_splits": [20],
        **{f"index_train_{k}": order[31:] for k, order in enumerate(orders)},
        **{f"index_test_{k}": order[:31] for k, order in enumerate(orders)},
    }
    for name, array in arrays.items():
        np.savetxt(raw / f"{name}.txt", array, fmt="%d")
    np.savetxt(raw / "data.txt", rng.normal(size=(308, 7)))
    sources = {}
    for path in raw.iterdir():
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        sources[path.relative_to(files).as_posix()] = f"sha256:{digest}"
    module = "betanll_paper.datasets.uci_download"
    monkeypatch.setattr(f"{module}.uci_sources", lambda name: sources)
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda seconds: None))
    handler = functools.partial(Handler, directory=str(files))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("BETANLL_DATA_URL", url)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield raw
        Handler.interrupts = False
        server.shutdown()
        thread.join()


class Handler(http.server.SimpleHTTPRequestHandler):
    interrupts = False

    def copyfile(self, source, outputfile):
        if self.path.endswith("/data.txt") and Handler.interrupts:
            Handler.interrupts = False  # a second signal would hit the test itself
            content = source.read()
            source = io.BytesIO(content[: len(content) // 2])
            super().copyfile(source, outputfile)
            outputfile.flush()
            os.kill(os.getpid(), signal.SIGINT)
        else:
            super().copyfile(source, outputfile)

    def log_message(self, *arguments):
        pass


def test_list(run, folder):
    outcome = run("data", "list")
    assert outcome.code == 0
    for name in UCI_NAMES:
        assert f"\n{name} " in outcome.out
    assert " yes " not in outcome.out
    assert str(folder) in outcome.out
    (folder / "uci").mkdir(parents=True)
    (folder / "uci" / "yacht.csv.gz").touch()
    assert " half " in run("data", "list").out
    (folder / "uci" / "yacht.splits.npz").touch()
    line = next(x for x in run("data", "list").out.splitlines() if "yacht" in x)
    assert line.split() == ["yacht", "308", "6", "20", "yes", "residuary_resistance"]
    assert " yes " not in run("data", "list", "--data-dir", folder / "other").out


def test_download(run, mirror, folder):
    outcome = run("data", "download", "yacht")
    assert outcome.code == 0, outcome
    assert outcome.out.splitlines() == [
        "yacht: 308 rows, 20 splits",
        f"Folder: {folder}",
    ]
    assert load_uci("yacht").x.shape == (308, 6)
    outcome = run("data", "download", "yacht", "yacht")
    assert outcome.out.startswith("yacht: already here\nFolder")
    other = folder / "other"
    assert run("data", "download", "yacht", "--data-dir", other).code == 0
    assert load_uci("yacht", other).n_splits == 20


def test_all_sets_without_a_name(run, folder, monkeypatch):
    class Table:
        x, n_splits = (), 0

    asked = []
    monkeypatch.setattr(
        "betanll_paper.datasets.download_uci",
        lambda name, *_, **options: asked.append(name) or Table,
    )
    for names in ([], ["uci"], ["uci", "yacht"]):
        asked.clear()
        assert run("data", "download", *names).code == 0
        assert tuple(asked) == UCI_NAMES


def test_faults_end_in_one_line(run, refused, mirror, folder, tmp_path):
    path = mirror / "data.txt"
    content = path.read_bytes()
    path.write_bytes(content[::-1])
    assert "not the published file" in refused("data", "download", "yacht")
    path.unlink()
    assert "404" in refused("data", "download", "yacht")
    assert not (folder / "uci").exists()
    path.write_bytes(content)
    assert run("data", "download", "yacht").code == 0
    url = ("--base-url", "http://127.0.0.1:1", "--data-dir", tmp_path / "new")
    assert "connection refused" in refused("data", "download", "yacht", *url)
    assert "'--timeout'" in refused("data", "download", "yacht", "--timeout", "0")
    (tmp_path / "file").touch()
    inside = ("--data-dir", tmp_path / "file" / "data")
    assert "not a folder" in refused("data", "download", "yacht", *inside)


def test_unknown_set(refused):
    assert "did you mean 'yacht'?" in refused("data", "download", "yatch")
    assert "sine" in refused("data", "generate", "cosine", "--out", "x.csv")


@pytest.fixture
def interruptible():
    """Let SIGINT interrupt, which the processes of a parallel test run ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interruption(run, mirror, folder):
    Handler.interrupts = True
    outcome = run("data", "download", "yacht")
    assert outcome.code == 130
    assert outcome.err.strip() == "betanll: interrupted"
    assert not (folder / "uci").exists()
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPool"):
            thread.join()
    # complete files stay for the next call, and no others
    for path in folder.rglob("*.txt*"):
        assert path.read_bytes() == (mirror / path.name).read_bytes()
    assert run("data", "download", "yacht").code == 0
    assert load_uci("yacht").n_splits == 20


def test_generate_sine(run, refused, tmp_path):
    out = tmp_path / "new" / "sine.csv"
    outcome = run("data", "generate", "sine", "--out", out, "--seed", "3")
    assert (outcome.code, outcome.out) == (0, f"1000 rows: {out}\n")
    assert out.read_text().startswith("x,y\n0.0,")
    table = np.loadtxt(out, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table, np.hstack(sine(seed=3)))
    assert list(out.parent.iterdir()) == [out]
    # fewer rows, compressed
    out = tmp_path / "sine.csv.gz"
    assert run("data", "generate", "sine", "--out", out, "--rows", 20).code == 0
    assert len(pd.read_csv(out)) == 20
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    assert "is a folder" in refused("data", "generate", "sine", "--out", folder)
    bad = tmp_path / "sine.txt"
    assert "must end in .csv" in refused("data", "generate", "sine", "--out", bad)
    assert "'--out'" in refused("data", "generate", "sine")
    assert "'--seed'" in refused(
        *("data", "generate", "sine", "--out", out, "--seed", "-1")
    )


def test_generate_heteroscedastic_sine(run, tmp_path):
    out = tmp_path / "growing.csv"
    command = ("data", "generate", "heteroscedastic-sine", "--out", out)
    outcome = run(*command, "--seed", "3")
    assert (outcome.code, outcome.out) == (0, f"500 rows: {out}\n")
    table = np.loadtxt(out, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table, np.hstack(heteroscedastic_sine(seed=3)))
    assert run(*command, "--rows", 20).out == f"20 rows: {out}\n"
    assert "sine, heteroscedastic-sine" in run("data", "list").out


OBJECT_SLIDE = ("data", "generate", "object-slide", "--out")
PARTS = ("train", "validation", "test")


def test_generate_object_slide(run, tmp_path, training_data):
    out = tmp_path / "new" / "slide"
    outcome = run(*OBJECT_SLIDE, out, "--seed", "3")
    assert outcome.code == 0, outcome
    files = [out / f"{part}.csv.gz" for part in PARTS]
    assert outcome.out.splitlines() == [f"60000 rows: {file}" for file in files]
    assert sorted(out.iterdir()) == sorted(files)
    assert list(out.parent.iterdir()) == [out]
    for file, (x, y) in zip(files, object_slide_splits(seed=3), strict=True):
        state = ["p_agent", "v_agent", "p_object", "v_object"]
        assert list(pd.read_csv(file, nrows=0)) == [*state, "action", "change"]
        table = np.loadtxt(file, delimiter=",", skiprows=1)
        np.testing.assert_array_equal(table, np.hstack([x, y]))
    assert "object-slide" in run("data", "list").out
    # A table for fit as it is.
    _, train, test = training_data([files[0], "--target", "change", "--out", out / "x"])
    assert len(train[1]) + len(test[1]) == 60_000


def small_object_slide(monkeypatch):
    """Let the sets have two episodes; the tests below look at folders, not at rows."""
    draw = functools.partial(object_slide_splits, 2)
    monkeypatch.setattr("betanll_paper.simulators.object_slide_splits", draw)


def test_object_slide_may_go_into_an_empty_folder(run, tmp_path, monkeypatch, contents):
    small_object_slide(monkeypatch)
    out = tmp_path / "empty"
    out.mkdir()
    assert run(*OBJECT_SLIDE, out).code == 0
    # also through a link, with the same bytes for the same seed
    (tmp_path / "other").mkdir()
    link = tmp_path / "link"
    link.symlink_to("other")
    assert run(*OBJECT_SLIDE, link, "--seed", 0).code == 0
    assert link.is_symlink()
    assert contents(link) == contents(out)
    assert len(contents(out)) == 3


def test_object_slide_refuses_what_it_would_replace(refused, tmp_path, monkeypatch):
    small_object_slide(monkeypatch)
    (tmp_path / "file").write_text("mine")
    assert "is not empty" in refused(*OBJECT_SLIDE, tmp_path)
    assert "not a folder" in refused(*OBJECT_SLIDE, tmp_path / "file")
    assert "not a folder" in refused(*OBJECT_SLIDE, tmp_path / "file" / "x" / "y")
    (tmp_path / "loop").symlink_to("loop")
    assert "loop cannot be written" in refused(*OBJECT_SLIDE, tmp_path / "loop")
    new = tmp_path / "new"
    assert "'--seed'" in refused(*OBJECT_SLIDE, new, "--seed", "-1")
    for option in ("--rows", "--rollouts", "--workers"):
        message = f"{option} does not concern object-slide"
        assert message in refused(*OBJECT_SLIDE, new, option, 60)
    assert "'--out'" in refused(*OBJECT_SLIDE[:-1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "loop"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("fault", "code"),
    [(OSError(errno.ENOSPC, "disk full"), 2), (KeyboardInterrupt, 130)],
)
def test_object_slide_comes_whole_or_not_at_all(
    run, tmp_path, monkeypatch, fault, code
):
    small_object_slide(monkeypatch)
    write = files.write_synced

    def fail_at_the_last(path, content):
        if path.name == "test.csv.gz":
            raise fault
        write(path, content)

    monkeypatch.setattr(files, "write_synced", fail_at_the_last)
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "new" / "slide", tmp_path / "empty"):
        outcome = run(*OBJECT_SLIDE, out)
        assert outcome.code == code
        assert outcome.out == ""
        if code == 2:
            assert outcome.err == f"betanll: {out} cannot be written: disk full\n"
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


FETCH = ("data", "generate", "fetch-pick-and-place")


def test_fetch_rollouts_are_generated_where_reproduce_looks_for_them(
    run, tmp_path, monkeypatch, contents
):
    pytest.importorskip("gymnasium_robotics")
    monkeypatch.setenv("BETANLL_DATA", str(tmp_path))
    command = (*FETCH, "--rollouts", 7, "--workers", 1, "--seed", 3)
    outcome = run(*command)
    folder = tmp_path / "fetch-pick-and-place"
    assert outcome.code == 0, outcome.err
    *_, total, last = outcome.out.splitlines()
    assert total.split()[:2] == ["all", "7"]
    assert last == str(folder)
    assert load_fetch(folder).train.x.shape == (4 * 50, 29)
    before = contents(folder)
    assert run(*command).out == outcome.out  # nothing is left to do
    assert contents(folder) == before


def test_fetch_refuses_what_it_would_mix(refused, tmp_path):
    pytest.importorskip("gymnasium_robotics")
    (tmp_path / "mine").write_text("mine")
    assert "holds other files" in refused(*FETCH, "--out", tmp_path)
    assert "'--rollouts'" in refused(*FETCH, "--out", tmp_path / "x", "--rollouts", 6)
    message = "--rows does not concern fetch-pick-and-place"
    assert message in refused(*FETCH, "--out", tmp_path / "x", "--rows", 60)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
