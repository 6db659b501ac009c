import gzip
import hashlib
import tracemalloc

import numpy as np
import pytest

from betanll_paper.datasets.idx import read_idx

CUBE = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
HEADER = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4])
CONTENT = HEADER + bytes(range(24))


@pytest.fixture(params=["plain", "packed"])
def read(request, tmp_path):
    """A function that reads a content from a file, compressed or not."""

    def call(content, shape=(2, 3, 4), md5=None):
        path = tmp_path / "file"
        packed = request.param == "packed"
        path.write_bytes(gzip.compress(content) if packed else content)
        return read_idx(path, shape, md5)

    return call


def test_bytes_written_by_hand(read, idx):
    assert idx(CUBE) == CONTENT
    array = read(CONTENT, md5=hashlib.md5(CONTENT).hexdigest())
    np.testing.assert_array_equal(array, CUBE)
    assert array.dtype == np.uint8
    array[0] = 0  # frameworks ask for arrays they may write to


def test_other_sizes(read, idx):
    large = np.zeros((300, 1), np.uint8)
    assert read(idx(large), (300, 1)).shape == (300, 1)
    assert read(idx(large[:0]), (0, 1)).shape == (0, 1)


@pytest.mark.parametrize("length", [0, 1, 3, 4, 15, 16, 39])
def test_every_early_end(read, length):
    expected = (
        r"is not an idx file of bytes with 3 dimensions$"
        if length < 4
        else "ends in its header"
        if length < 16
        else f"ends after {length - 16} of 24 values"
    )
    with pytest.raises(ValueError, match=expected):
        read(CONTENT[:length])


@pytest.mark.parametrize(
    "magic", [b"\0\0\x08\1", b"\0\0\x0d\3", b"\0\1\x08\3", b"\3\x08\0\0", b"<htm"]
)
def test_other_magic_numbers(read, magic):
    with pytest.raises(ValueError, match="not an idx file of bytes with 3 dimensions"):
        read(magic + CONTENT[4:])


def test_other_shapes(read):
    with pytest.raises(ValueError, match="is 2 x 3 x 4 instead of 2 x 4 x 3"):
        read(CONTENT, (2, 4, 3))
    # the largest shape that can be announced is not believed
    with pytest.raises(ValueError, match="is 4294967295 x 4294967295 x 42949"):
        read(HEADER[:4] + b"\xff" * 12 + CONTENT[16:])


def test_trailing_bytes(read):
    for tail in (b"\0", CONTENT):
        with pytest.raises(ValueError, match="has more than its 24 values"):
            read(CONTENT + tail)


def test_other_values(read):
    md5 = hashlib.md5(CONTENT).hexdigest()
    with pytest.raises(ValueError, match="not the published ones"):
        read(CONTENT[:-1] + b"\0", md5=md5)


def test_every_cut_and_every_flipped_bit_of_a_packed_file(tmp_path):
    path = tmp_path / "file.gz"
    whole = gzip.compress(CONTENT, mtime=0)

    def refused(content):
        path.write_bytes(content)
        try:
            array = read_idx(path, CUBE.shape)
        except ValueError:
            return True
        np.testing.assert_array_equal(array, CUBE)
        return False

    assert not refused(whole)
    assert all(refused(whole[:length]) for length in range(len(whole)))
    harmless = set()
    for position in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[position] ^= 1 << bit
            if not refused(changed):
                harmless.add(position)
    # flags, time and system of packing; bits that fill the last byte before the sums
    assert harmless <= {*range(3, 10), len(whole) - 9}


def test_garbage_after_the_packed_content(tmp_path):
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(CONTENT) + b"garbage")
    with pytest.raises(ValueError, match="cannot be decompressed to its end"):
        read_idx(path, CUBE.shape)


def test_no_more_is_unpacked_than_needed(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(CONTENT + bytes(50_000_000)))
    tracemalloc.start()
    with pytest.raises(ValueError, match="has more than its"):
        read_idx(path, CUBE.shape)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_faults_of_the_disk_are_not_of_the_content(tmp_path):
    with pytest.raises(IsADirectoryError):
        read_idx(tmp_path, CUBE.shape)
