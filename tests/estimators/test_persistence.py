"""Model folders: what comes back, what is refused, what a failure leaves behind."""

import contextlib
import errno
import json
import os
import pickle
import random
import re
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from betanll import __version__
from betanll.estimators import _persistence
from betanll.estimators._persistence import ModelError, read_model, write_model

CONFIGURATION = {"beta": 0.5, "hidden": [50, 50], "name": "é", "nested": {"none": None}}
ARRAYS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "mean": np.array([1e6 + 1e-9]),
}
FILES = ["model.json", "weights.safetensors"]


@pytest.fixture
def model(tmp_path):
    """The path of a model folder, alone in its parent."""
    path = tmp_path / "model"
    write_model(path, CONFIGURATION, ARRAYS)
    return path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        array = np.asarray(array)
        assert found[name].shape == array.shape
        assert found[name].dtype == array.dtype.newbyteorder("=")
        native = array.astype(array.dtype.newbyteorder("="))
        assert found[name].tobytes() == native.tobytes()


def assert_holds(path, configuration, arrays):
    found_configuration, found_arrays = read_model(path)
    assert found_configuration == configuration
    assert_same(found_arrays, arrays)
    assert names(path) == FILES


def rewrite(path, **changes):
    """Change entries of model.json and make its checksum right again."""
    file = path / "model.json"
    document = {**json.loads(file.read_text()), **changes}
    document["checksums"]["model.json"] = ""
    digest = _persistence._digest(_persistence._dumped(document))
    document["checksums"]["model.json"] = digest
    file.write_bytes(_persistence._dumped(document))


# Round trip


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
    ),
    max_leaves=8,
)
dtypes = st.sampled_from(["f4", "f8", ">f8", ">f4", "i8", ">i8", "i4", "u1", "?", "f2"])
any_arrays = dtypes.flatmap(
    lambda dtype: arrays(dtype, array_shapes(min_dims=0, min_side=0, max_side=4))
)


@given(
    st.dictionaries(st.text(max_size=5), json_values, max_size=4),
    st.dictionaries(st.text(max_size=8), any_arrays, max_size=4),
    st.booleans(),
)
def test_round_trip(tmp_path_factory, configuration, arrays, transposed):
    if transposed:
        arrays = {name: array.T for name, array in arrays.items()}
    path = tmp_path_factory.mktemp("round") / "model"
    write_model(path, configuration, arrays)
    found_configuration, found_arrays = read_model(path)
    # NaN is not equal to itself, but its text is.
    assert repr(found_configuration) == repr(dict(sorted_keys(configuration)))
    assert_same(found_arrays, arrays)
    # The same content gives the same files.
    contents = [(path / name).read_bytes() for name in FILES]
    write_model(path, found_configuration, found_arrays)
    assert [(path / name).read_bytes() for name in FILES] == contents


def sorted_keys(value):
    """The value with all dictionaries in the order of the file."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [sorted_keys(item) for item in value]
    return value


def test_layouts_that_safetensors_would_store_wrongly(tmp_path):
    table = np.arange(24.0).reshape(4, 6)
    layouts = {
        "transposed": table.T,
        "strided": table[::2, ::-3],
        "swapped": table.astype(">f8"),
        "fortran": np.asfortranarray(table),
        "scalar": np.float64(np.pi),
        "point": np.array(7),
        "empty": np.zeros((3, 0, 2), np.float32),
        "repeated": np.broadcast_to(np.float32(1), (2, 2)),
    }
    write_model(tmp_path / "model", {}, layouts)
    _, found = read_model(tmp_path / "model")
    assert_same(found, layouts)
    # They are the caller's, to be written to.
    assert all(array.flags.writeable for array in found.values())


def test_model_json_is_strict_readable_and_says_what_wrote_it(tmp_path):
    configuration = {"b": [np.inf, -np.inf, np.nan], "a": (1, 2.5)}
    write_model(tmp_path, configuration, ARRAYS)
    text = (tmp_path / "model.json").read_text()

    def refuse(constant):
        raise AssertionError(constant)

    document = json.loads(text, parse_constant=refuse)
    assert text == json.dumps(document, indent=2, sort_keys=True) + "\n"
    assert document["format"] == "betanll-model"
    assert document["format_version"] == 1
    assert document["betanll_version"] == __version__
    assert document["versions"].keys() == {"jax", "numpy", "scikit-learn"}
    assert document["versions"]["numpy"] == np.__version__
    found, _ = read_model(tmp_path)
    assert found["a"] == [1, 2.5]
    assert found["b"][:2] == [np.inf, -np.inf]
    assert np.isnan(found["b"][2])


@pytest.mark.parametrize(
    ("configuration", "arrays", "message"),
    [
        ({"a": [{"b": {1}}]}, {}, r"configuration\['a'\]\[0\]\['b'\] is a set"),
        ({"a": np.float32(1)}, {}, r"configuration\['a'\] is a float32"),
        ({"a": {1: 2}}, {}, r"configuration\['a'\] has the key 1"),
        ({"$float": "nan"}, {}, r"configuration has the key '\$float'"),
        ({}, {"w": np.array([None])}, "'w' has a type that cannot be saved: object"),
        ({}, {"w": np.array(["a"])}, "'w' has a type that cannot be saved: <U1"),
        ({}, {"w": np.zeros(1, complex)}, "'w' has a type that cannot be saved"),
    ],
)
def test_what_cannot_be_saved_is_refused_before_writing(
    configuration, arrays, message, model
):
    with pytest.raises(TypeError, match=message):
        write_model(model, configuration, arrays)
    assert_holds(model, CONFIGURATION, ARRAYS)


def test_reserved_array_name_and_too_large_configuration(tmp_path, monkeypatch):
    monkeypatch.setattr(_persistence, "_MAX_MODEL_BYTES", 2**20)
    with pytest.raises(ValueError, match="configuration is too large: over 1 MB"):
        write_model(tmp_path / "model", {"a": "b" * 2**20}, {})
    with pytest.raises(ValueError, match="cannot be named __metadata__"):
        write_model(tmp_path / "model", {}, {"__metadata__": np.zeros(1)})


# Where it is written


def test_model_and_empty_folder_are_replaced(model, tmp_path):
    write_model(model, {"new": True}, {})
    assert_holds(model, {"new": True}, {})
    (tmp_path / "empty").mkdir()
    write_model(str(tmp_path / "empty"), CONFIGURATION, ARRAYS)
    assert_holds(tmp_path / "empty", CONFIGURATION, ARRAYS)
    write_model(tmp_path / "deep" / "er" / "model", CONFIGURATION, ARRAYS)
    assert_holds(tmp_path / "deep" / "er" / "model", CONFIGURATION, ARRAYS)
    assert names(tmp_path) == ["deep", "empty", "model"]


def test_damaged_weights_and_other_formats_may_be_replaced(model):
    (model / "weights.safetensors").unlink()
    rewrite(model, format_version=2)
    write_model(model, CONFIGURATION, ARRAYS)
    assert_holds(model, CONFIGURATION, ARRAYS)


@pytest.mark.parametrize(
    "files",
    [
        {"notes.txt": "mine"},
        {"model.json": '{"format": "keras"}'},
        {"model.json": "not ours at all"},
        {"weights.safetensors": "of somebody else"},
    ],
)
def test_foreign_folder_is_left_alone(files, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(FileExistsError, match="is not a model folder of betanll alone"):
        write_model(tmp_path, CONFIGURATION, ARRAYS)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_model_with_something_else_beside_it_is_left_alone(model):
    (model / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="delete it or choose another path"):
        write_model(model, {}, {})
    (model / "notes.txt").unlink()
    assert_holds(model, CONFIGURATION, ARRAYS)


def test_file_and_dangling_link_are_left_alone(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("mine")
    link.symlink_to(tmp_path / "nowhere")
    for path in (file, link):
        with pytest.raises(FileExistsError, match="exists and is not a folder"):
            write_model(path, CONFIGURATION, ARRAYS)
    with pytest.raises(OSError, match="file"):
        write_model(file / "model", CONFIGURATION, ARRAYS)
    assert file.read_text() == "mine"
    assert names(tmp_path) == ["file", "link"]


def test_link_to_a_model_stays_a_link(model, tmp_path):
    link = tmp_path / "latest"
    link.symlink_to(model)
    write_model(link, {"new": True}, {})
    assert link.is_symlink()
    assert_holds(model, {"new": True}, {})


@pytest.mark.skipif(os.name == "nt", reason="no umask")
def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        for content in ({}, {"again": True}):
            write_model(tmp_path / "model", content, ARRAYS)
            modes = [
                stat.S_IMODE((tmp_path / "model" / name).stat().st_mode)
                for name in (".", *FILES)
            ]
            assert modes == [0o750, 0o640, 0o640]
    finally:
        os.umask(before)


# Failures while writing


class Faulty:
    """A function that fails at its n-th call."""

    def __init__(self, function, n, fault):
        self.function, self.n, self.fault = function, n, fault
        self.n_calls = 0

    def __call__(self, *args, **kwargs):
        self.n_calls += 1
        if self.n_calls == self.n:
            raise self.fault
        return self.function(*args, **kwargs)


FAULTS = [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
STEPS = ["fsync", "replace", "open"]


@pytest.mark.parametrize("fault", FAULTS, ids=["full", "interrupt"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("previous", ["none", "empty", "model"])
def test_failure_at_any_step_leaves_old_or_new(
    previous, step, fault, tmp_path, monkeypatch
):
    for n in range(1, 20):
        path = tmp_path / str(n) / "model"
        path.parent.mkdir()
        if previous == "empty":
            path.mkdir()
        if previous == "model":
            write_model(path, CONFIGURATION, ARRAYS)
        faulty = Faulty(getattr(os, step), n, fault)
        with monkeypatch.context() as patch:
            patch.setattr(os, step, faulty)
            try:
                write_model(path, {"new": True}, {"a": np.ones(3)})
                has_failed = False
            except type(fault):
                has_failed = True
        if not has_failed:
            break
        # No temporary folder beside, no temporary file inside.
        assert names(path.parent) in ([], ["model"])
        if path.exists() and names(path):
            configuration, _ = read_model(path)
            assert configuration in (CONFIGURATION, {"new": True})
            assert set(names(path)) <= {*FILES, ".weights.safetensors.new"}
        else:
            assert previous != "model"
        # And it works when the disk has room again.
        write_model(path, {"again": True}, {})
        assert_holds(path, {"again": True}, {})
    assert n > 1 or previous == "none"
    assert n < 19


def test_full_disk_keeps_the_previous_model(model, tmp_path, monkeypatch):
    def full(handle):
        raise FAULTS[0]

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_model(model, {"new": True}, {})
    assert_holds(model, CONFIGURATION, ARRAYS)
    with pytest.raises(OSError, match="No space left"):
        write_model(tmp_path / "new" / "model", {"new": True}, {})
    assert names(tmp_path) == ["model"]


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="needs a folder nobody may write to"
)
def test_unwritable_parent(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            write_model(tmp_path / "model", CONFIGURATION, ARRAYS)
        assert names(tmp_path) == []
    finally:
        tmp_path.chmod(0o700)


class Death(BaseException):
    """The end of a process: from the n-th call on, no function does anything."""

    NAMES = ("fsync", "replace", "unlink", "rename", "rmdir", "mkdir")

    def __init__(self, patch, n):
        self.n, self.n_calls = n, 0
        for name in self.NAMES:
            patch.setattr(os, name, self.mortal(getattr(os, name)))

    def mortal(self, function):
        def call(*args, **kwargs):
            self.n_calls += 1
            if self.n_calls < self.n:
                return function(*args, **kwargs)
            # Of a file that was being written, only the beginning is there.
            is_file = function.__name__ == "fsync" and stat.S_ISREG(
                os.fstat(args[0]).st_mode
            )
            if is_file and self.n_calls == self.n:
                os.truncate(args[0], 20)
            raise self

        return call


def dies(path, configuration, arrays, n, monkeypatch):
    """Write a model and die at the n-th step; return whether there was one."""
    with monkeypatch.context() as patch:
        death = Death(patch, n)
        try:
            write_model(path, configuration, arrays)
        except Death:
            return True
    return death.n_calls >= n


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be cut there")
def test_killed_at_any_moment_the_old_or_the_new_model_is_complete(model, monkeypatch):
    new = {"new": True}, {"a": np.ones(3)}
    found = []
    for n in range(1, 20):
        write_model(model, CONFIGURATION, ARRAYS)
        has_died = dies(model, *new, n, monkeypatch)
        configuration, arrays = read_model(model)
        found.append(configuration == new[0])
        assert configuration in (CONFIGURATION, new[0])
        assert_same(arrays, new[1] if found[-1] else ARRAYS)
        if not has_died:
            break
        # Nor does dying again on the way to the next model lose it.
        left = {path.name: path.read_bytes() for path in model.iterdir()}
        for again in range(1, 20):
            for path in model.iterdir():
                path.unlink()
            for name, content in left.items():
                (model / name).write_bytes(content)
            has_died_again = dies(model, {"newer": True}, {}, again, monkeypatch)
            assert read_model(model)[0] in (configuration, {"newer": True})
            if not has_died_again:
                break
        assert_holds(model, {"newer": True}, {})
    # Old, then new, and never the other way.
    assert not has_died
    assert found == sorted(found)
    assert not found[0]
    assert found[-1]


@pytest.mark.skipif(os.name == "nt", reason="open files cannot be cut there")
def test_killed_while_writing_the_first_model_nothing_is_there(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    for n in (1, 2, 3):
        for name in ("model", "empty"):
            assert dies(tmp_path / name, CONFIGURATION, ARRAYS, n, monkeypatch)
        assert not (tmp_path / "model").exists()
        refused(tmp_path / "empty", "lacks model.json")
    write_model(tmp_path / "empty", CONFIGURATION, ARRAYS)
    assert_holds(tmp_path / "empty", CONFIGURATION, ARRAYS)


# Refusals


def refused(path, *words):
    """The message of the refusal, one sentence with these words in it."""
    with pytest.raises(ModelError) as caught:
        read_model(path)
    message = str(caught.value)
    for word in (str(path), *words):
        assert word in message
    assert "\n" not in message
    return message


def test_paths_that_are_no_model(model, tmp_path):
    refused(tmp_path / "nowhere", "does not exist")
    refused(model / "model.json", "is not a model folder but a file")
    refused(tmp_path, "lacks model.json")
    for name in FILES[::-1]:
        (model / name).unlink()
        refused(model, f"lacks {name}")
        (model / name).mkdir()
        refused(model, f"lacks {name}")


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "3", '"text"', "null", "{}"])
def test_model_json_that_is_not_ours(text, model):
    (model / "model.json").write_text(text)
    refused(model, "model.json is")


def test_hostile_json(model):
    file = model / "model.json"
    for text in ("[" * 10**6, "9" * 10**5, '{"format": NaN}', '{"format": "\ud800"}'):
        file.write_bytes(text.encode(errors="surrogatepass"))
        refused(model, "model.json is")
    # Its checksum is right.
    for strange in ({"$float": []}, {"$float": "text"}):
        write_model(model.parent / "other", {}, ARRAYS)
        rewrite(model.parent / "other", configuration={"a": strange})
        refused(model.parent / "other", "model.json was edited or damaged")
    file.write_bytes(b" " * (64 * 2**20 + 1))
    refused(model, "is too large for a model: over 64 MB")


def test_foreign_and_newer_formats(model):
    rewrite(model, format="other-model")
    refused(model, "is not a model of betanll: its format is 'other-model'")
    rewrite(
        model,
        format="betanll-model",
        format_version=2,
        betanll_version="9.9.9",
        checksums={"another": "scheme"},
    )
    message = refused(model)
    assert message == (
        f"{model / 'model.json'} was written by betanll 9.9.9 in format 2; "
        f"this is betanll {__version__}, which reads format 1"
    )
    for strange in (0, True, "1", None, 1.0):
        rewrite(model, format_version=strange)
        refused(model, "which reads format 1")


def test_missing_entries(model):
    file = model / "model.json"
    original = json.loads(file.read_text())
    for name in ("configuration", "betanll_version"):
        rewrite(model, **{name: None})
        refused(model, "model.json was edited or damaged")
        rewrite(model, **original)
    for checksums in (None, [], {}, {"model.json": 3}, {"model.json": ""}):
        file.write_text(json.dumps({**original, "checksums": checksums}))
        refused(model, "model.json was edited or damaged")


def test_edited_by_hand(model):
    file = model / "model.json"
    text = file.read_text()
    file.write_text(text.replace('"beta": 0.5', '"beta": 0.7'))
    refused(model, "model.json was edited or damaged: its checksum differs")
    file.write_text(text.replace("  ", "    "))
    refused(model, "model.json was edited or damaged: its checksum differs")
    file.write_text(text)
    # Valid weights, but those of another model.
    write_model(model.parent / "other", CONFIGURATION, {"weight": np.zeros(2)})
    (model.parent / "other" / "weights.safetensors").replace(
        model / "weights.safetensors"
    )
    refused(model, "weights.safetensors was edited or damaged: its checksum differs")


@pytest.mark.parametrize("name", FILES)
def test_truncation_anywhere_is_refused(name, model):
    file = model / name
    content = file.read_bytes()
    sizes = {0, 1, 7, 8, 9, len(content) - 1}
    sizes |= set(random.Random(0).sample(range(len(content)), 40))
    for size in sizes:
        file.write_bytes(content[:size])
        refused(model, name)
    file.write_bytes(content + b"\n")
    refused(model, name)


@pytest.mark.parametrize("name", FILES)
def test_every_bit_flip_is_refused(name, model):
    file = model / name
    content = bytearray(file.read_bytes())
    for place in range(len(content)):
        for bit in random.Random(place).sample(range(8), 2):
            content[place] ^= 1 << bit
            file.write_bytes(content)
            refused(model, name)
            content[place] ^= 1 << bit
    # The last flip undone, it is whole again.
    file.write_bytes(content)
    assert_holds(model, CONFIGURATION, ARRAYS)


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_a_pickle_is_not_executed(name, protocol, model, tmp_path):
    sprung = tmp_path / "sprung"
    trap = pickle.dumps(Trap(sprung), protocol)
    (model / name).write_bytes(trap)
    refused(model, name)
    with contextlib.suppress(FileExistsError):
        write_model(model, CONFIGURATION, ARRAYS)
    assert not sprung.exists()
    # It would have sprung.
    pickle.loads(trap)
    assert sprung.exists()


def test_another_version_of_the_same_format_warns_and_loads(model):
    rewrite(model, betanll_version="0.0.1")
    message = f"{model} was written by betanll 0.0.1; this is betanll {__version__}"
    with pytest.warns(UserWarning, match=re.escape(message)):
        configuration, arrays = read_model(model)
    assert configuration == CONFIGURATION
    assert_same(arrays, ARRAYS)
