"""Damaged model folders: one sentence or the same predictions.

Set BETANLL_FUZZ, and --timeout=0, to try more folders than the usual few hundred.
"""

import copy
import os
import random

import numpy as np
import pandas as pd
import pytest

from betanll.estimators import ModelError
from betanll.estimators._model_folder import read_model, write_model
from betanll.tables import TableError, TableModel, TableSchema

N_FOLDERS = int(os.environ.get("BETANLL_FUZZ", "200"))
FRAME = pd.DataFrame(
    {
        "a": ["$5,700", "$90", None],
        "b": [1.5, -2.0, 0.25],
        "c": ["x", "y", "x"],
        "y": [1, 2, 3],
    }
)
PIECES = [
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\0", b"\xff", b"\n", b" "),
    *(b"null", b"true", b"NaN", b"1e999", b"-1", b"9" * 400, b'"a"', b"[" * 5000),
    *(b"F64", b"F32", b"BF16", b'"shape":[]', b'{"$float":"nan"}', b"\\ud800"),
]
ODD = [
    *(None, True, False, 0, 1, -1, 3, 10**12, 10**30, 0.5, -0.0, 1e300, np.inf, np.nan),
    *("", "a", "y", "$", ".", "relu", "tanh", "os.system", "\ud800", "x" * 5000),
    *([], {}, [1], ["a"], [None], [[]], {"a": 1}, [1e300], {"class": "MSE"}),
]


@pytest.fixture
def folder(untrained, tmp_path):
    """The folder of a saved model."""
    schema = TableSchema.infer(FRAME, targets=["y"])
    path = tmp_path / "model"
    n_inputs = len(schema.encoder.encoded_names)
    regressor = untrained(n_inputs=n_inputs, n_members=2, n_scores=9)
    regressor.encoder_ = schema.encoder
    TableModel(schema, regressor).save(path)
    return path


def mutated(content, rng):
    """Return bytes with one to three changes, most of them small."""
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(content) + 1)
        j = min(len(content), i + rng.choice([0, 0, 1, 1, 2, 8, 1000]))
        k = rng.randrange(len(content) + 1)
        byte = bytes([content[i] ^ 1 << rng.randrange(8)] if i < len(content) else [])
        content = rng.choice(
            [
                content[:i] + byte + content[i + 1 :],
                content[:i] + rng.choice(PIECES) + content[j:],
                content[:i] + content[j:],
                content[:i] + content[k : k + 8] + content[i + 8 :],
            ]
        )
    return content


def places(value, path=()):
    """Yield the way to each value in JSON."""
    yield path
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield from places(value[key], (*path, key))


def edited(configuration, rng):
    """Return JSON with one value replaced, removed or added."""
    configuration = copy.deepcopy(configuration)
    *way, key = rng.choice([path for path in places(configuration) if path])
    parent = configuration
    for step in way:
        parent = parent[step]
    action = rng.randrange(6)
    if action == 0:
        del parent[key]
    elif action == 1 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(rng.choice(ODD)))
    elif action == 1:
        parent[f"{key}_"] = parent[key]
    else:
        parent[key] = copy.deepcopy(rng.choice(ODD))
    return configuration


def rearranged(arrays, rng):
    """Return arrays with one removed, renamed, or of another shape, type or value."""
    arrays = dict(arrays)
    name = rng.choice(sorted(arrays))
    array = arrays.pop(name)
    changed = [
        array.astype(rng.choice(["f2", "f4", "f8", "i8", "?"])),
        array.reshape(-1)[: rng.randint(0, array.size)],
        array[None],
        (array * rng.choice([0, -1, np.nan, np.inf, 1e30])).astype(array.dtype),
        array[::-1],
    ]
    action = rng.randrange(8)
    if action == 0:
        arrays[rng.choice([f"{name}.0", "", "member.9.0.weight"])] = array
    elif action > 1:
        arrays[name] = rng.choice(changed)
    return arrays


def check_sentence(error, word):
    sentence = str(error)
    assert sentence.isprintable()
    assert len(sentence) <= 300
    assert word in sentence


def test_damaged_folders(folder):
    """Whatever happens to the files, no prediction changes without a word."""
    expected = TableModel.load(folder).predict(FRAME)
    contents = {file: file.read_bytes() for file in sorted(folder.iterdir())}
    n_refused = 0
    for seed in range(N_FOLDERS):
        rng = random.Random(seed)
        file = rng.choice(list(contents))
        file.write_bytes(mutated(contents[file], rng))
        try:
            found = TableModel.load(folder).predict(FRAME)
        except ModelError as error:
            check_sentence(error, str(folder)[:20])
            n_refused += 1
        except Exception as error:
            error.add_note(f"seed {seed}, {file.name}")
            raise
        else:
            pd.testing.assert_frame_equal(found, expected, check_exact=True)
        file.write_bytes(contents[file])
    assert n_refused > 0.9 * N_FOLDERS


# A ceiling of 1e300 overflows, in an edited model as in one trained with it.
@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_edited_folders_with_right_checksums(folder):
    """They may be models of other tables, but not ones that fail later."""
    configuration, arrays = read_model(folder)
    n_refused = 0
    for seed in range(N_FOLDERS):
        rng = random.Random(seed)
        if rng.random() < 0.7:
            state = edited(configuration, rng), arrays
        else:
            with np.errstate(all="ignore"):
                state = configuration, rearranged(arrays, rng)
        write_model(folder, *state)
        try:
            found = TableModel.load(folder).predict(FRAME)
            assert found.shape[0] == len(FRAME)
        except ModelError as error:
            check_sentence(error, str(folder)[:20])
            n_refused += 1
        except TableError as error:
            check_sentence(error, "column")
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    assert 0 < n_refused < N_FOLDERS
