"""Model folders: a configuration to read, and weights, without pickle.

``model.json`` contains the configuration, the versions that wrote it, a checksum of
itself, and name and checksum of the file with the arrays. Checksums find damage and
careless edits. They are not a signature: reading a folder executes nothing.

The name of the weights contains their checksum, so new weights never replace old ones.
Replacing ``model.json``, which one system call does, makes the new model count::

    write .weights.new, rename it to weights-NEW.safetensors
    write .model.json.new, rename it to model.json
    delete weights-OLD.safetensors

A kill between two steps leaves files that no ``model.json`` names. Readers ignore them
and the next write deletes them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from betanll import __version__
from betanll.files import folder_written_atomically, sync_folder, write_synced
from betanll.sentences import shortened

JSON: TypeAlias = (
    "bool | int | float | str | list[JSON] | tuple[JSON, ...] | dict[str, JSON] | None"
)

FORMAT = "betanll-model"
FORMAT_VERSION = 1

#: Name of the model folder in the folder that ``betanll fit`` writes.
MODEL_FOLDER = "model"
_MODEL = "model.json"
_NEW_MODEL, _NEW_WEIGHTS = ".model.json.new", ".weights.new"
_WEIGHTS = re.compile(r"weights-[0-9a-f]{16}\.safetensors")
#: Name of the weights in folders of earlier versions.
_FORMER_WEIGHTS = "weights.safetensors"

_MAX_MODEL_BYTES = 64 * 2**20
# JSON has no NaN and no infinities: {"$float": "inf"}.
_FLOAT = "$float"
# What comes back from safetensors as it went in.
_DTYPES = frozenset(map(np.dtype, "?bhilqBHILQefdF"))


class ModelError(ValueError):
    """A model folder that is missing, damaged, foreign or too new."""

    def __init__(self, sentence: str) -> None:
        super().__init__(shortened(sentence))


class MissingPluginError(ModelError):
    """A model needs an objective or a network that is not registered."""


def write_model(
    path: str | os.PathLike[str],
    configuration: dict[str, JSON],
    arrays: dict[str, NDArray[Any]],
) -> None:
    """Write a model folder, whole or not at all.

    A model that is there already is replaced, and stays as it is if the new one cannot
    be written. Anything else but an empty folder is left alone and raises a
    ``FileExistsError``. Two processes must not write to one path at the same time.

    Parameters
    ----------
    path : path
        The folder. Missing parents are made.
    configuration : dict
        What JSON can say; tuples come back as lists. NaN and infinities survive.
    arrays : dict of arrays
        Numbers of up to 64 bits, in any memory layout; they come back in native byte
        order.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     path = Path(parent) / "model"
    ...     write_model(path, {"beta": 0.5}, {"weight": np.eye(2)})
    ...     sorted(file.name for file in path.iterdir())
    ...     read_model(path)
    ['model.json', 'weights-...safetensors']
    ({'beta': 0.5}, {'weight': array([[1., 0.], [0., 1.]])})
    """
    folder = Path(path)
    weights = save({name: _storable(name, array) for name, array in arrays.items()})
    model = _document(_encoded(configuration, "configuration"), weights)
    if len(model) > _MAX_MODEL_BYTES:
        raise ValueError(
            f"configuration is too large: over {_MAX_MODEL_BYTES >> 20} MB as JSON"
        )
    if not os.path.lexists(folder):
        with folder_written_atomically(folder) as temporary:
            _write(temporary, model, weights)
        return
    check_replaceable(folder)
    try:
        _write(folder, model, weights)
    finally:
        _delete_leftovers(folder)
    sync_folder(folder)


def read_model(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the configuration and the arrays of a model folder.

    The path may also be the folder that ``betanll fit`` wrote, with ``model`` in it.
    Nothing in it is executed. What is not exactly as it was written raises a
    :class:`ModelError`; a folder written by another version of betanll in the same
    format gives a ``UserWarning``.
    """
    folder = Path(path)
    try:
        if not folder.exists():
            raise ModelError(f"{folder} does not exist")
        if not folder.is_dir():
            raise ModelError(f"{folder} is not a model folder but a file")
        if not (folder / _MODEL).exists() and (folder / MODEL_FOLDER).is_dir():
            folder = folder / MODEL_FOLDER
    except OSError as error:
        raise ModelError(f"{folder} cannot be read: {error.strerror}") from None
    model = _content(folder / _MODEL, limit=_MAX_MODEL_BYTES)
    document = _checked_document(folder / _MODEL, model)
    name, digest = _weights_of(document) or _refuse_edited(folder / _MODEL)
    weights_path = folder / name
    weights = _content(weights_path)
    try:
        arrays = {name: np.array(array) for name, array in load(weights).items()}
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{weights_path} is damaged: {error}") from None
    if _digest(weights) != digest:
        _refuse_edited(weights_path)
    try:
        configuration = _decoded(document["configuration"])
    except (RecursionError, TypeError, ValueError):
        _refuse_edited(folder / _MODEL)
    written_by = document["betanll_version"]
    if written_by != __version__:
        warnings.warn(
            f"{folder} was written by betanll {written_by}; this is betanll "
            f"{__version__}",
            UserWarning,
            stacklevel=3,  # the caller of the estimator's load
        )
    return configuration, arrays


# Writing


def _write(folder: Path, model: bytes, weights: bytes) -> None:
    """Write new files into a folder; the last step makes them the model."""
    write_synced(folder / _NEW_WEIGHTS, weights)
    os.replace(folder / _NEW_WEIGHTS, folder / _weights_name(weights))
    write_synced(folder / _NEW_MODEL, model)
    sync_folder(folder)
    os.replace(folder / _NEW_MODEL, folder / _MODEL)
    sync_folder(folder)


def _weights_name(weights: bytes) -> str:
    return f"weights-{_digest(weights)[:16]}.safetensors"


def _storable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return the array as safetensors wants it: it stores the buffer as it lies."""
    array = np.asarray(array)
    native = array.dtype.newbyteorder("=")
    if native not in _DTYPES:
        raise TypeError(
            f"array {name!r} has a type that cannot be saved: {array.dtype}"
        )
    if name == "__metadata__":
        raise ValueError("an array cannot be named __metadata__")
    return np.asarray(array, native, order="C")


def _document(configuration: JSON, weights: bytes) -> bytes:
    """Return the content of ``model.json``, which carries its own checksum."""
    checksums: dict[str, JSON] = {_MODEL: "", _weights_name(weights): _digest(weights)}
    document: dict[str, JSON] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "betanll_version": __version__,
        "versions": {name: version(name) for name in ("jax", "numpy", "scikit-learn")},
        "checksums": checksums,
        "configuration": configuration,
    }
    checksums[_MODEL] = _digest(_dumped(document))
    return _dumped(document)


def _dumped(document: JSON) -> bytes:
    text = json.dumps(document, indent=2, sort_keys=True, allow_nan=False)
    return f"{text}\n".encode()


def _encoded(value: Any, place: str) -> JSON:
    """Return a copy in strict JSON; `place` names the value in error messages."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_FLOAT: str(value)}
    if isinstance(value, list | tuple):
        return [_encoded(item, f"{place}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or key == _FLOAT:
                raise TypeError(f"{place} has the key {key!r}, which cannot be saved")
        return {key: _encoded(v, f"{place}[{key!r}]") for key, v in value.items()}
    raise TypeError(f"{place} is a {type(value).__name__}, which JSON cannot hold")


def check_replaceable(folder: Path) -> bool:
    """Refuse to write over anything but a model or an empty folder.

    Return whether there is a model to be replaced.
    """
    if not os.path.lexists(folder):
        return False
    if not folder.is_dir():
        raise FileExistsError(f"{folder} exists and is not a folder")
    names = {entry.name for entry in folder.iterdir()}
    known = {_MODEL, _NEW_MODEL, _NEW_WEIGHTS}
    is_model = _MODEL in names
    if is_model:
        try:
            content = _content(folder / _MODEL, _MAX_MODEL_BYTES)
            known.add(_FORMER_WEIGHTS)
            _checked_format(folder / _MODEL, content)
        except ModelError:
            known.clear()
    if not all(name in known or _WEIGHTS.fullmatch(name) for name in names):
        raise FileExistsError(
            f"{folder} exists and is not a model folder of betanll alone: "
            "delete it or choose another path"
        )
    return is_model


def _delete_leftovers(folder: Path) -> None:
    """Delete the weights of the model before, and files of writes that were cut off."""
    try:
        weights = _weights_of(json.loads((folder / _MODEL).read_bytes()))
    except FileNotFoundError:
        weights = None
    named = weights[0] if weights else None
    for path in list(folder.iterdir()):
        if path.name not in (_MODEL, named):
            path.unlink()


# Reading


def _content(file: Path, limit: int | None = None) -> bytes:
    if not file.is_file():
        raise ModelError(f"{file.parent} is not a model folder: it lacks {file.name}")
    try:
        with file.open("rb") as stream:
            content = stream.read(-1 if limit is None else limit + 1)
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}") from None
    if limit is not None and len(content) > limit:
        raise ModelError(f"{file} is too large for a model: over {limit >> 20} MB")
    return content


def _checked_format(file: Path, content: bytes) -> dict[str, Any]:
    """Return the document if it is one of ours, in whatever version."""
    try:
        document = json.loads(content.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{file} is damaged or no JSON: {error}") from None
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        raise ModelError(f"{file} is not a model of betanll: its format is {found!r}")
    return dict(document)


def _checked_document(file: Path, content: bytes) -> dict[str, Any]:
    """Return the document if it is of this version and as it was written."""
    document = _checked_format(file, content)
    format_version = document.get("format_version")
    if type(format_version) is not int or format_version != FORMAT_VERSION:
        raise ModelError(
            f"{file} was written by betanll {document.get('betanll_version')} in "
            f"format {format_version}; this is betanll {__version__}, which reads "
            f"format {FORMAT_VERSION}"
        )
    checksums = document.get("checksums")
    digest = checksums.get(_MODEL) if isinstance(checksums, dict) else None
    if not isinstance(digest, str):
        _refuse_edited(file)
    # The checksum is that of the file with nothing in its own place.
    if digest != _digest(content.replace(digest.encode(errors="replace"), b"")):
        _refuse_edited(file)
    if not (
        isinstance(document.get("configuration"), dict)
        and isinstance(document.get("betanll_version"), str)
    ):
        _refuse_edited(file)
    return document


def _weights_of(document: dict[str, Any]) -> tuple[str, str] | None:
    """Return name and checksum of the weights that a document names, if any."""
    checksums = document.get("checksums")
    for name, digest in checksums.items() if isinstance(checksums, dict) else ():
        if name == _FORMER_WEIGHTS or _WEIGHTS.fullmatch(name):
            return name, digest
    return None


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {_FLOAT}:
            return float(value[_FLOAT])
        return {key: _decoded(item) for key, item in value.items()}
    return value


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _refuse_edited(file: Path) -> NoReturn:
    raise ModelError(f"{file} was edited or damaged: its checksum differs")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not strict JSON")
