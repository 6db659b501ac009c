"""Model folders: what comes back, and where they are written."""

import json
import os
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from betanll import __version__
from betanll.estimators import _model_folder
from betanll.estimators._model_folder import read_model, write_model

CONFIGURATION = {"beta": 0.5, "hidden": [50, 50], "name": "é", "nested": {"none": None}}
ARRAYS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "mean": np.array([1e6 + 1e-9]),
}


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
def test_round_trip(assert_same, tmp_path_factory, configuration, arrays, transposed):
    if transposed:
        arrays = {name: array.T for name, array in arrays.items()}
    path = tmp_path_factory.mktemp("round") / "model"
    write_model(path, configuration, arrays)
    found_configuration, found_arrays = read_model(path)
    # NaN is not equal to itself, but its text is.
    assert repr(found_configuration) == repr(dict(sorted_keys(configuration)))
    assert_same(found_arrays, arrays)
    # The same content gives the same files.
    contents = {file.name: file.read_bytes() for file in path.iterdir()}
    write_model(path, found_configuration, found_arrays)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == contents


def sorted_keys(value):
    """The value with all dictionaries in the order of the file."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [sorted_keys(item) for item in value]
    return value


def test_layouts_that_safetensors_would_store_wrongly(assert_same, tmp_path):
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
    assert_holds, configuration, arrays, message, model
):
    with pytest.raises(TypeError, match=message):
        write_model(model, configuration, arrays)
    assert_holds(model, CONFIGURATION, ARRAYS)


def test_reserved_array_name_and_too_large_configuration(tmp_path, monkeypatch):
    monkeypatch.setattr(_model_folder, "_MAX_MODEL_BYTES", 2**20)
    with pytest.raises(ValueError, match="configuration is too large: over 1 MB"):
        write_model(tmp_path / "model", {"a": "b" * 2**20}, {})
    with pytest.raises(ValueError, match="cannot be named __metadata__"):
        write_model(tmp_path / "model", {}, {"__metadata__": np.zeros(1)})


# Where it is written


def test_model_and_empty_folder_are_replaced(names, assert_holds, model, tmp_path):
    write_model(model, {"new": True}, {})
    assert_holds(model, {"new": True}, {})
    (tmp_path / "empty").mkdir()
    write_model(str(tmp_path / "empty"), CONFIGURATION, ARRAYS)
    assert_holds(tmp_path / "empty", CONFIGURATION, ARRAYS)
    write_model(tmp_path / "deep" / "er" / "model", CONFIGURATION, ARRAYS)
    assert_holds(tmp_path / "deep" / "er" / "model", CONFIGURATION, ARRAYS)
    assert names(tmp_path) == ["deep", "empty", "model"]


def test_damaged_weights_and_other_formats_may_be_replaced(
    assert_holds, rewrite, file_of, model
):
    file_of(model, "weights").unlink()
    rewrite(model, format_version=2)
    write_model(model, CONFIGURATION, ARRAYS)
    assert_holds(model, CONFIGURATION, ARRAYS)
    (model / "model.json").write_text('{"format": "betanll-model"}')
    write_model(model, CONFIGURATION, ARRAYS)
    assert_holds(model, CONFIGURATION, ARRAYS)


def test_weights_under_the_former_name_are_read_and_replaced(
    assert_holds, assert_same, rewrite, file_of, model
):
    weights = file_of(model, "weights")
    digest = json.loads((model / "model.json").read_text())["checksums"][weights.name]
    weights.rename(model / "weights.safetensors")
    rewrite(model, checksums={"weights.safetensors": digest})
    assert_same(read_model(model)[1], ARRAYS)
    write_model(model, {"new": True}, {})
    assert_holds(model, {"new": True}, {})


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


def test_model_with_something_else_beside_it_is_left_alone(assert_holds, model):
    (model / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="delete it or choose another path"):
        write_model(model, {}, {})
    (model / "notes.txt").unlink()
    assert_holds(model, CONFIGURATION, ARRAYS)


def test_file_and_dangling_link_are_left_alone(names, tmp_path):
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


def test_link_to_a_model_stays_a_link(assert_holds, model, tmp_path):
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
                stat.S_IMODE(path.stat().st_mode)
                for path in (tmp_path / "model", *(tmp_path / "model").iterdir())
            ]
            assert modes == [0o750, 0o640, 0o640]
    finally:
        os.umask(before)
