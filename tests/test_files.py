"""Files and folders that appear whole or not at all."""

import contextlib
import errno
import os
import stat

import pytest

from betanll.files import (
    check_writable,
    folder_written_atomically,
    set_aside,
    sync_folder,
    write_synced,
    written_atomically,
)


@pytest.fixture(params=["file", "folder"])
def writing(request):
    """A function that puts a text at a path, by either context manager."""

    def file(path, text, fault=None):
        with written_atomically(path) as temporary:
            assert temporary.parent == path.parent
            temporary.write_text(text)
            if fault:
                raise fault

    def folder(path, text, fault=None):
        with folder_written_atomically(path) as temporary:
            assert temporary.parent == path.parent
            (temporary / "text").write_text(text)
            if fault:
                raise fault

    return {"file": file, "folder": folder}[request.param]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "picture.png"
    for text in ("first", "second"):
        with written_atomically(path) as temporary:
            # Matplotlib, for one, looks at the ending.
            assert temporary.suffix == ".png"
            temporary.write_text(text)
            assert not path.exists() or path.read_text() == "first"
        assert path.read_text() == text
    assert names(tmp_path) == ["picture.png"]


def test_folder_appears_with_all_its_files(tmp_path):
    path = tmp_path / "model"
    with folder_written_atomically(path) as temporary:
        write_synced(temporary / "a", b"1")
        assert not path.exists()
        write_synced(temporary / "b", b"2")
    assert names(path) == ["a", "b"]
    assert names(tmp_path) == ["model"]


def test_folder_replaces_no_other(tmp_path):
    path = tmp_path / "model"
    path.mkdir()
    (path / "precious").write_text("kept")
    with pytest.raises(OSError), folder_written_atomically(path) as temporary:  # noqa: PT011, the system words it
        (temporary / "a").touch()
    assert names(path) == ["precious"]
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize(
    "fault", [KeyboardInterrupt(), OSError(errno.ENOSPC, "full"), SystemExit(1)]
)
def test_failure_leaves_nothing(writing, fault, tmp_path):
    with pytest.raises(type(fault)):
        writing(tmp_path / "new" / "deep" / "result", "half", fault)
    assert names(tmp_path) == []
    # What was there before stays, and so does a folder that was.
    (tmp_path / "old").mkdir()
    (tmp_path / "other").write_text("kept")
    with pytest.raises(type(fault)):
        writing(tmp_path / "old" / "result", "half", fault)
    assert names(tmp_path) == ["old", "other"]
    assert names(tmp_path / "old") == []


def test_full_disk_is_noticed_before_the_rename(writing, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        writing(tmp_path / "result", "text")
    assert names(tmp_path) == []


def test_missing_parents_are_made(writing, tmp_path):
    path = tmp_path / "a" / "b" / "result"
    writing(path, "text")
    assert path.exists()


def test_long_names(writing, tmp_path):
    path = tmp_path / ("\N{SNOWMAN}" * 80)
    writing(path, "text")
    assert path.exists()


@pytest.mark.skipif(os.name == "nt", reason="no umask")
@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_permissions_follow_the_umask(writing, mask, tmp_path):
    path = tmp_path / "result"
    before = os.umask(mask)
    try:
        writing(path, "text")
    finally:
        os.umask(before)
    full = 0o777 if path.is_dir() else 0o666
    assert stat.S_IMODE(path.stat().st_mode) == full & ~mask


def test_folder_that_cannot_be_synced(tmp_path, monkeypatch):
    def refuse(number):
        def fsync(handle):
            raise OSError(number, os.strerror(number))

        return fsync

    # Some file systems do not know how; that is no fault of the files.
    monkeypatch.setattr(os, "fsync", refuse(errno.EINVAL))
    sync_folder(tmp_path)
    if os.name != "nt":
        monkeypatch.setattr(os, "fsync", refuse(errno.EIO))
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            sync_folder(tmp_path)


def test_check_writable(tmp_path, monkeypatch):
    check_writable(tmp_path)
    check_writable(tmp_path / "not" / "there" / "yet")
    assert names(tmp_path) == []
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(NotADirectoryError, match="file is not a folder"):
        check_writable(file / "below")
    # Simulated, because root may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="is not writable"):
        check_writable(tmp_path / "below")


@pytest.mark.parametrize("fault", [None, OSError("full"), KeyboardInterrupt()])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_file_is_set_aside(tmp_path, is_there, fault):
    """Gone on success, back on failure, and hidden meanwhile."""
    path = tmp_path / "report.html"
    if is_there:
        path.write_text("old")
    with contextlib.suppress(OSError, KeyboardInterrupt), set_aside(path):
        assert not path.exists()
        assert all(name.startswith(".report-") for name in names(tmp_path))
        if fault:
            raise fault
    assert names(tmp_path) == (["report.html"] if is_there and fault else [])
