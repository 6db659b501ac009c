"""Model folders: a configuration to read, and weights, without pickle.

``model.json`` holds the configuration, the versions that wrote it and two checksums;
``weights.safetensors`` holds the arrays. The checksums find damage and careless edits.
They are no signature, and need not be one: reading a folder executes nothing.

A folder cannot take the place of another one in a single step, but a file can. So the
new files are laid beside the old ones, and the moment ``model.json`` is replaced is the
moment the new model counts::

    write .model.json.new, then .weights.safetensors.new
    rename .model.json.new to model.json
    rename .weights.safetensors.new to weights.safetensors

Whenever this is cut off, new weights with ``.model.json.new`` beside them do not count
yet, and new weights alone do.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
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
_WEIGHTS = "weights.safetensors"
_NEW_MODEL = ".model.json.new"
_NEW_WEIGHTS = ".weights.safetensors.new"

_MAX_MODEL_BYTES = 64 * 2**20
# JSON has no NaN and no infinities: {"$float": "inf"}.
_FLOAT = "$float"
# What comes back from safetensors as it went in.
_DTYPES = frozenset(map(np.dtype, "?bhilqBHILQefdF"))


class ModelError(ValueError):
    """A model folder that is missing, damaged, foreign or too new."""

    def __init__(self, sentence: str) -> None:
        super().__init__(shortened(sentence))


class MissingObjectiveError(ModelError):
    """A model needs an objective that is not registered."""


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
    ['model.json', 'weights.safetensors']
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
            write_synced(temporary / _MODEL, model)
            write_synced(temporary / _WEIGHTS, weights)
        return
    check_replaceable(folder)
    try:
        _settle(folder)
        write_synced(folder / _NEW_MODEL, model)
        write_synced(folder / _NEW_WEIGHTS, weights)
        sync_folder(folder)
        os.replace(folder / _NEW_MODEL, folder / _MODEL)
        sync_folder(folder)
    finally:
        _settle(folder)
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
    is_committed = not (folder / _NEW_MODEL).exists()
    is_unsettled = is_committed and (folder / _NEW_WEIGHTS).exists()
    weights_path = folder / (_NEW_WEIGHTS if is_unsettled else _WEIGHTS)
    weights = _content(weights_path)
    try:
        arrays = {name: np.array(array) for name, array in load(weights).items()}
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{weights_path} is damaged: {error}") from None
    if _digest(weights) != document["checksums"].get(_WEIGHTS):
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
    checksums: dict[str, JSON] = {_MODEL: "", _WEIGHTS: _digest(weights)}
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
    names = {entry.name for entry in folder.iterdir()} - {_NEW_MODEL, _NEW_WEIGHTS}
    if not names:
        return False
    try:
        _checked_format(folder / _MODEL, _content(folder / _MODEL, _MAX_MODEL_BYTES))
        is_ours = names <= {_MODEL, _WEIGHTS}
    except ModelError:
        is_ours = False
    if not is_ours:
        raise FileExistsError(
            f"{folder} exists and is not a model folder of betanll alone: "
            "delete it or choose another path"
        )
    return True


def _settle(folder: Path) -> None:
    """Finish or undo a replacement that was cut off, as the module's text says."""
    if (folder / _NEW_MODEL).exists():
        # In this order: new weights must never be left alone.
        (folder / _NEW_WEIGHTS).unlink(missing_ok=True)
        (folder / _NEW_MODEL).unlink()
    elif (folder / _NEW_WEIGHTS).exists():
        os.replace(folder / _NEW_WEIGHTS, folder / _WEIGHTS)


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
