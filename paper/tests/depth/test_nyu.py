import pickle
import struct
import zlib

import numpy as np
import pytest

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

from betanll_paper.datasets import DataError  # noqa: E402, after the skip
from betanll_paper.depth.nyu import BTSPairs  # noqa: E402
from betanll_paper.depth.pairs import split_by_scene  # noqa: E402

pytestmark = pytest.mark.torch

#: Name, width and height, valid pixels in percent: what the notes on the data say.
REAL = [
    ("basement/rgb_00000.jpg", (640, 480), 73),
    ("basement/rgb_00050.jpg", (640, 480), 75),
    ("basement/rgb_00100.jpg", (640, 480), 67),
    ("labelled/rgb_00433.png", (640, 480), 66),
    ("labelled/rgb_00464.png", (640, 480), 63),
    ("living_room/rgb_00000.png", (640, 480), 68),
    ("bedroom_crop/rgb_00000.jpg", (565, 427), 97),
    ("bookstore_0001d_crop/rgb_00001.jpg", (160, 120), 66),
]


@pytest.fixture
def folder(tmp_path):
    """A folder with one pair of 6 x 4 pixels and its list."""
    scene = tmp_path / "kitchen"
    scene.mkdir()
    rng = np.random.default_rng(0)
    save(scene / "rgb.png", rng.integers(0, 256, (4, 6, 3), np.uint8))
    save(scene / "depth.png", np.arange(24, dtype=np.uint16).reshape(4, 6) * 2700)
    (tmp_path / "list.txt").write_text("kitchen/rgb.png kitchen/depth.png 518.8579\n")
    return tmp_path


def save(path, array):
    Image.fromarray(array).save(path)


def pairs_in(folder):
    return BTSPairs(folder, folder / "list.txt")


def message_of(action):
    with pytest.raises(DataError) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    return message


def grey_png_by_hand(path):
    """Return the 16-bit values of a PNG, decoded from the specification of the format.

    None of the functions under test and no Pillow is involved.
    """
    content, at, packed = path.read_bytes(), 8, b""
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    width, height = header[:2]
    # 16 bits, grey, no interlacing.
    assert header[2:] == (16, 0, 0, 0, 0)
    raw = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, -1)
    rows = np.zeros((height + 1, 2 * width + 2), int)
    for y, (kind, *line) in enumerate(raw.tolist(), start=1):
        row, above = rows[y].tolist(), rows[y - 1].tolist()
        for x, value in enumerate(line, start=2):
            a, b, c = row[x - 2], above[x], above[x - 2]
            paeth = min(
                (abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c)
            )
            row[x] = (value + (0, a, b, (a + b) // 2, paeth[2])[kind]) % 256
        rows[y] = row
    octets = rows[1:, 2:]
    return 256 * octets[:, 0::2] + octets[:, 1::2]


# The real pairs


def test_real_pairs_match_the_notes_on_the_data(nyu_pairs):
    assert len(nyu_pairs) == len(REAL)
    for index, (name, (width, height), percent) in enumerate(REAL):
        image, depth = nyu_pairs[index]
        assert nyu_pairs.name(index) == name
        assert image.shape == (height, width, 3)
        assert depth.shape == (height, width)
        assert image.dtype == np.uint8
        assert depth.dtype == np.float32
        assert round(100 * (depth > 0).mean()) == percent
        assert 0 < depth.max() <= 10


def test_depths_equal_the_millimetres_in_the_file(nyu_pairs, nyu_folder):
    path = nyu_folder / "bookstore_0001d_crop" / "sync_depth_00001.png"
    millimetres = grey_png_by_hand(path)
    depth = nyu_pairs[7].depth
    np.testing.assert_array_equal(np.rint(1000 * depth.astype(float)), millimetres)
    np.testing.assert_allclose(depth, millimetres / 1000, rtol=6e-8)
    assert ((depth == 0) == (millimetres == 0)).all()


def test_scenes_are_folders(nyu_pairs):
    scenes = [nyu_pairs.scene(index) for index in range(len(nyu_pairs))]
    assert scenes == [name.split("/")[0] for name, *_ in REAL]
    first, second = split_by_scene(nyu_pairs, 0.2, seed=0)
    assert len(first) + len(second) == 8
    assert not {first.scene(i) for i in range(len(first))} & {
        second.scene(i) for i in range(len(second))
    }


def test_pickled_pairs_read_the_same(folder):
    pairs = pairs_in(folder)
    for mine, theirs in zip(
        pairs[0], pickle.loads(pickle.dumps(pairs))[0], strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_index_beyond_the_end_raises(folder):
    assert len(list(pairs_in(folder))) == 1
    with pytest.raises(IndexError):
        pairs_in(folder)[1]


# Files made here


def test_depth_spans_all_16_bits(folder):
    depth = pairs_in(folder)[0].depth
    np.testing.assert_allclose(depth, 2.7 * np.arange(24).reshape(4, 6), rtol=1e-7)
    # Beyond a signed 16-bit integer, which would turn negative.
    assert depth.max() == np.float32(62.1)


def test_grey_image_has_three_equal_colours(folder):
    grey = np.arange(24, dtype=np.uint8).reshape(4, 6)
    save(folder / "kitchen" / "rgb.png", grey)
    np.testing.assert_array_equal(pairs_in(folder)[0].image, np.dstack([grey] * 3))


def test_transparency_is_dropped(folder):
    rgba = np.random.default_rng(1).integers(0, 256, (4, 6, 4), np.uint8)
    save(folder / "kitchen" / "rgb.png", rgba)
    np.testing.assert_array_equal(pairs_in(folder)[0].image, rgba[..., :3])


# Lists


@pytest.mark.parametrize(
    "text",
    [
        "/kitchen/rgb.png /kitchen/depth.png 518.8579",
        "\n  \nkitchen/rgb.png\tkitchen/depth.png   518\r\n\n",
        "\ufeffkitchen/rgb.png kitchen/depth.png 5e2",
    ],
    ids=["slash", "blank lines", "byte order mark"],
)
def test_list_with_other_spelling_is_read(folder, text):
    (folder / "list.txt").write_bytes(text.encode())
    pairs = pairs_in(folder)
    assert len(pairs) == 1
    assert pairs.name(0) == "kitchen/rgb.png"
    assert pairs.scene(0) == "kitchen"


@pytest.mark.parametrize(
    ("name", "scene"),
    [
        ("bedroom_0010", "bedroom_0010"),
        ("bedroom_0010a", "bedroom_0010"),
        ("bedroom_0010b_out", "bedroom_0010"),
        ("bedroom_b", "bedroom_b"),
    ],
)
def test_recordings_of_one_place_are_one_scene(folder, name, scene):
    (folder / "kitchen").rename(folder / name)
    (folder / "list.txt").write_text(f"{name}/rgb.png {name}/depth.png 518.8579")
    assert pairs_in(folder).scene(0) == scene


def test_scene_has_all_folders_above_the_image(folder):
    (folder / "kitchen").rename(folder / "moved")
    (folder / "train").mkdir()
    (folder / "moved").rename(folder / "train" / "kitchen")
    line = "/train/kitchen/rgb.png /train/kitchen/depth.png 518.8579"
    (folder / "list.txt").write_text(line)
    assert pairs_in(folder).scene(0) == "train/kitchen"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("kitchen/rgb.png kitchen/depth.png", "got 2 fields"),
        ("kitchen/rgb.png kitchen/depth.png 518 1", "got 4 fields"),
        ("kitchen/rgb.png kitchen/depth.png None", "'None'"),
        ("kitchen/rgb.png kitchen/depth.png -1", "'-1'"),
        ("kitchen/rgb.png kitchen/depth.png nan", "'nan'"),
        ("../rgb.png kitchen/depth.png 518", "'../rgb.png'"),
        ("kitchen/rgb.png kitchen/../../depth.png 518", "leads out of the folder"),
        (r"kitchen\..\..\rgb.png kitchen/depth.png 518", "leads out of the folder"),
        ("C:/rgb.png kitchen/depth.png 518", "leads out of the folder"),
    ],
)
def test_malformed_lines_are_named_by_their_number(folder, line, reason):
    good = "kitchen/rgb.png kitchen/depth.png 518"
    (folder / "list.txt").write_text(f"{good}\n\n{line}\n{good}\n")
    message = message_of(lambda: pairs_in(folder))
    assert f"line 3 of {folder / 'list.txt'}" in message
    assert reason in message


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_empty_list_raises(folder, text):
    (folder / "list.txt").write_text(text)
    message = message_of(lambda: pairs_in(folder))
    assert message == f"the file list {folder / 'list.txt'} is empty"


def test_list_that_cannot_be_read_is_named(folder):
    path = folder / "absent.txt"
    message = message_of(lambda: BTSPairs(folder, path))
    assert message == f"the file list {path} cannot be read: No such file or directory"
    path = folder / "kitchen" / "rgb.png"
    message = message_of(lambda: BTSPairs(folder, path))
    assert message == f"the file list {path} is not a text file"


def test_missing_files_are_counted_and_the_first_is_named(folder):
    lines = [f"kitchen/rgb.png kitchen/depth_{i}.png 518\n" for i in range(3)]
    (folder / "list.txt").write_text("".join(lines))
    message = message_of(lambda: pairs_in(folder))
    assert f"{folder / 'kitchen' / 'depth_0.png'} is missing" in message
    assert "the first of 3" in message


# Bad pictures


def cut(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])


@pytest.mark.parametrize("ending", ["png", "jpg"])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.9])
def test_image_cut_short_is_named(folder, ending, share):
    path = folder / "kitchen" / f"noise.{ending}"
    save(path, np.random.default_rng(2).integers(0, 256, (40, 60, 3), np.uint8))
    cut(path, share)
    (folder / "list.txt").write_text(f"kitchen/{path.name} kitchen/depth.png 518")
    pairs = pairs_in(folder)
    message = message_of(lambda: pairs[0])
    assert message.startswith(f"{path} cannot be read: it is damaged")


def test_depth_cut_short_is_named(folder):
    path = folder / "kitchen" / "depth.png"
    cut(path, 0.7)
    assert str(path) in message_of(lambda: pairs_in(folder)[0])


def test_file_that_is_not_a_picture_is_named(folder):
    path = folder / "kitchen" / "rgb.png"
    path.write_text("no picture")
    assert str(path) in message_of(lambda: pairs_in(folder)[0])


def test_file_that_vanishes_is_named(folder):
    pairs = pairs_in(folder)
    path = folder / "kitchen" / "rgb.png"
    path.unlink()
    message = message_of(lambda: pairs[0])
    assert message == f"{path} cannot be read: No such file or directory"


@pytest.mark.parametrize(("shape", "mode"), [((4, 6), "L"), ((4, 6, 3), "RGB")])
def test_depth_of_8_bits_is_refused(folder, shape, mode):
    path = folder / "kitchen" / "depth.png"
    save(path, np.ones(shape, np.uint8))
    message = message_of(lambda: pairs_in(folder)[0])
    assert message.startswith(f"the depth {path} must be a grey picture of 16 bits")
    assert message.endswith(f"mode {mode}")


def test_image_of_16_bits_is_refused(folder):
    path = folder / "kitchen" / "rgb.png"
    save(path, np.full((4, 6), 3000, np.uint16))
    message = message_of(lambda: pairs_in(folder)[0])
    assert message.startswith(f"the image {path} must have colours of 8 bits")


def test_postscript_under_the_name_of_an_image_is_not_executed(folder, monkeypatch):
    path = folder / "kitchen" / "rgb.png"
    Image.new("RGB", (6, 4)).save(path, format="EPS")

    def execute(*_, **__):
        raise AssertionError

    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", execute)
    message = message_of(lambda: pairs_in(folder)[0])
    assert message.startswith(f"{path} cannot be read")


def test_depth_of_another_size_names_both_files(folder):
    save(folder / "kitchen" / "depth.png", np.ones((6, 4), np.uint16))
    message = message_of(lambda: pairs_in(folder)[0])
    assert f"{folder / 'kitchen' / 'depth.png'} has 4 x 6 pixels" in message
    assert f"{folder / 'kitchen' / 'rgb.png'} has 6 x 4" in message


def test_depth_without_a_valid_pixel_is_named(folder):
    path = folder / "kitchen" / "depth.png"
    save(path, np.zeros((4, 6), np.uint16))
    message = message_of(lambda: pairs_in(folder)[0])
    assert message == f"the depth {path} has no valid pixel"
