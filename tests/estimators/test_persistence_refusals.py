"""Model folders that are not read: foreign, edited, damaged or hostile ones."""

import contextlib
import json
import os
import pickle
import random
import re

import numpy as np
import pytest

from betanll import __version__
from betanll.estimators._model_folder import read_model, write_model

CONFIGURATION = {"beta": 0.5, "hidden": [50, 50], "name": "é", "nested": {"none": None}}
ARRAYS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "mean": np.array([1e6 + 1e-9]),
}
KINDS = ["model", "weights"]


def test_paths_that_are_no_model(refused, file_of, model, tmp_path):
    refused(tmp_path / "nowhere", "does not exist")
    refused(model / "model.json", "is not a model folder but a file")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "lacks model.json")
    for kind in KINDS[::-1]:
        file = file_of(model, kind)
        file.unlink()
        refused(model, f"lacks {file.name}")
        file.mkdir()
        refused(model, f"lacks {file.name}")


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "3", '"text"', "null", "{}"])
def test_model_json_that_is_not_ours(refused, text, model):
    (model / "model.json").write_text(text)
    refused(model, "model.json is")


def test_hostile_json(rewrite, refused, model):
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


def test_foreign_and_newer_formats(rewrite, refused, model):
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


def test_missing_entries(rewrite, refused, model):
    file = model / "model.json"
    original = json.loads(file.read_text())
    for name in ("configuration", "betanll_version"):
        rewrite(model, **{name: None})
        refused(model, "model.json was edited or damaged")
        rewrite(model, **original)
    for checksums in (None, [], {}, {"model.json": 3}, {"model.json": ""}):
        file.write_text(json.dumps({**original, "checksums": checksums}))
        refused(model, "model.json was edited or damaged")


def test_edited_by_hand(refused, file_of, model):
    file = model / "model.json"
    text = file.read_text()
    file.write_text(text.replace('"beta": 0.5', '"beta": 0.7'))
    refused(model, "model.json was edited or damaged: its checksum differs")
    file.write_text(text.replace("  ", "    "))
    refused(model, "model.json was edited or damaged: its checksum differs")
    file.write_text(text)
    # Valid weights, but those of another model.
    write_model(model.parent / "other", CONFIGURATION, {"weight": np.zeros(2)})
    weights = file_of(model, "weights")
    file_of(model.parent / "other", "weights").replace(weights)
    refused(model, f"{weights.name} was edited or damaged: its checksum differs")


@pytest.mark.parametrize("kind", KINDS)
def test_truncation_anywhere_is_refused(refused, file_of, kind, model):
    file = file_of(model, kind)
    content = file.read_bytes()
    sizes = {0, 1, 7, 8, 9, len(content) - 1}
    sizes |= set(random.Random(0).sample(range(len(content)), 40))
    for size in sizes:
        file.write_bytes(content[:size])
        refused(model, file.name)
    file.write_bytes(content + b"\n")
    refused(model, file.name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_bit_flip_is_refused(assert_holds, refused, file_of, kind, model):
    file = file_of(model, kind)
    content = bytearray(file.read_bytes())
    for place in range(len(content)):
        for bit in random.Random(place).sample(range(8), 2):
            content[place] ^= 1 << bit
            file.write_bytes(content)
            refused(model, file.name)
            content[place] ^= 1 << bit
    # The last flip undone, it is whole again.
    file.write_bytes(content)
    assert_holds(model, CONFIGURATION, ARRAYS)


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_a_pickle_is_not_executed(refused, file_of, kind, protocol, model, tmp_path):
    sprung = tmp_path / "sprung"
    trap = pickle.dumps(Trap(sprung), protocol)
    file = file_of(model, kind)
    file.write_bytes(trap)
    refused(model, file.name)
    with contextlib.suppress(FileExistsError):
        write_model(model, CONFIGURATION, ARRAYS)
    assert not sprung.exists()
    # It would have sprung.
    pickle.loads(trap)
    assert sprung.exists()


def test_another_version_of_the_same_format_warns_and_loads(
    assert_same, rewrite, model
):
    rewrite(model, betanll_version="0.0.1")
    message = f"{model} was written by betanll 0.0.1; this is betanll {__version__}"
    with pytest.warns(UserWarning, match=re.escape(message)):
        configuration, arrays = read_model(model)
    assert configuration == CONFIGURATION
    assert_same(arrays, ARRAYS)
