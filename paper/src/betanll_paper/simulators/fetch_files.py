"""The files of generated Fetch rollouts: a header, and shards of some rollouts each."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from betanll.files import check_writable, written_atomically
from betanll.typing import Array
from betanll_paper.datasets import DataError
from betanll_paper.simulators.fetch_controller import CONTROLLER_VERSION, SKILLS

HEADER = "fetch.json"
ENVIRONMENT = "FetchPickAndPlace-v4"
N_STEPS = 50
#: As many transitions as the paper has.
N_ROLLOUTS = 16_800
ROLLOUTS_PER_SHARD = 50
N_OBSERVED, N_ACTIONS = 25, 4

_FORMAT = "betanll-fetch-1"
_SHARD_SIZE = "rollouts_per_shard"
_ABOUT = (
    "Rollouts of a scripted controller in the simulator FetchPickAndPlace. They are a "
    "substitute: the recordings of Seitzer et al. (2022) were never published."
)


class Rollout(NamedTuple):
    """Observations and actions of one rollout.

    Parameters
    ----------
    observations : array of shape (51, 25)
        Before each step and after the last.
    actions : array of shape (50, 4)
    goal : array of shape (3,)
        Where the object was to be brought.
    skill : str
        How the rollout was played, a name in ``SKILLS``.
    """

    observations: Array
    actions: Array
    goal: Array
    skill: str


class Rollouts(NamedTuple):
    """Several rollouts, see :class:`Rollout`."""

    observations: Array
    actions: Array
    goals: Array
    skills: npt.NDArray[np.str_]


class Source(NamedTuple):
    """How many rollouts a folder is to hold, and the seed they were drawn with."""

    n_rollouts: int
    seed: int


class Shard(NamedTuple):
    """A file that holds, or is to hold, `n` rollouts from number `first` on."""

    path: Path
    first: int
    n: int


def settings_of(n_rollouts: int, seed: int) -> dict[str, Any]:
    """Return everything the rollouts depend on but for :func:`versions`."""
    return {
        "seed": seed,
        "n_rollouts": n_rollouts,
        "n_steps": N_STEPS,
        "environment": ENVIRONMENT,
        "controller_version": CONTROLLER_VERSION,
        **{f"skill_{name}": skill._asdict() for name, skill in SKILLS.items()},
    }


def versions() -> dict[str, str]:
    """Return the versions of the simulator; raise if it is not installed."""
    try:
        return {name: version(name) for name in ("gymnasium-robotics", "mujoco")}
    except PackageNotFoundError as error:
        raise ImportError(
            f"the Fetch simulator needs {error.name}: "
            'pip install "betanll-paper[dynamics]"'
        ) from None


def missing_shards(folder: Path, n_rollouts: int, seed: int) -> list[Shard]:
    """Return the shards to generate in a folder, which is created if necessary.

    Raises if the folder was made with other settings.
    """
    wanted = settings_of(n_rollouts, seed)
    if not (folder / HEADER).exists():
        if folder.is_dir() and any(not _is_hidden(path) for path in folder.iterdir()):
            raise DataError(f"{folder} holds other files; choose a new folder")
        check_writable(folder)
        _write_header(folder, wanted)
    header = _read_header(folder)
    _refuse_difference(folder, header["settings"], wanted)
    missing = [shard for shard in all_shards(folder) if not shard.path.exists()]
    if missing:
        check_writable(folder)
        _refuse_difference(folder, header["versions"], versions())
    return missing


def all_shards(folder: Path) -> list[Shard]:
    """Return the shards of a folder that has a header, whether they exist or not."""
    header = _read_header(folder)
    n, size = header["settings"]["n_rollouts"], header[_SHARD_SIZE]
    return [
        Shard(folder / f"rollouts-{first:06}.npz", first, min(size, n - first))
        for first in range(0, n, size)
    ]


def source_of(folder: Path) -> Source:
    """Return the source in the header of a folder."""
    settings = _read_header(folder)["settings"]
    return Source(settings["n_rollouts"], settings["seed"])


def complete_shards(folder: Path) -> list[Shard]:
    """Return the shards of a folder in which none is missing."""
    shards = all_shards(folder)
    n_missing = sum(not shard.path.is_file() for shard in shards)
    if n_missing:
        raise DataError(
            f"{folder} lacks {n_missing} of {len(shards)} files of rollouts; generate "
            "again with the same settings to resume"
        )
    return shards


def write_shard(shard: Shard, rollouts: list[Rollout]) -> None:
    """Write a shard, whole or not at all; the same rollouts give the same bytes."""
    columns = map(np.array, zip(*rollouts, strict=True))
    with written_atomically(shard.path) as temporary, temporary.open("wb") as file:
        np.savez(file, **Rollouts(*columns)._asdict())


def read_shard(shard: Shard) -> Rollouts:
    """Return the rollouts of a shard; raise if it is damaged."""
    shapes = [(N_STEPS + 1, N_OBSERVED), (N_STEPS, N_ACTIONS), (3,), ()]
    try:
        # The zip file has checksums. numpy itself leaves a broken one open.
        with shard.path.open("rb") as opened, np.load(opened) as file:
            rollouts = Rollouts(*(file[name] for name in Rollouts._fields))
        for array, shape in zip(rollouts, shapes, strict=True):
            if array.shape != (shard.n, *shape):
                raise ValueError("its arrays have other shapes")
    except Exception as error:  # a damaged file breaks numpy in a dozen ways
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DataError(
            f"{shard.path} is damaged ({reason}); delete it and generate again with "
            "the same settings"
        ) from None
    return rollouts


def _write_header(folder: Path, settings: dict[str, Any]) -> None:
    header = {
        "format": _FORMAT,
        "about": _ABOUT,
        _SHARD_SIZE: ROLLOUTS_PER_SHARD,
        "settings": settings,
        "versions": versions(),
    }
    with written_atomically(folder / HEADER) as temporary:
        temporary.write_text(f"{json.dumps(header, indent=2)}\n")


def _read_header(folder: Path) -> dict[str, Any]:
    path = folder / HEADER
    if not path.is_file():
        raise DataError(
            f"{folder} holds no Fetch rollouts: it lacks {HEADER}; 'betanll data "
            "generate fetch-pick-and-place' makes them"
        )
    try:
        header = dict(json.loads(path.read_bytes()))
        sizes = header["settings"]["n_rollouts"], header[_SHARD_SIZE]
        is_ours = header["format"] == _FORMAT and isinstance(header["versions"], dict)
        is_ours &= type(header["settings"]["seed"]) is int
        if not is_ours or not all(type(size) is int and size > 0 for size in sizes):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path} is damaged, or no header of Fetch rollouts") from None
    return header


def _refuse_difference(
    folder: Path, there: dict[str, Any], here: dict[str, Any]
) -> None:
    for name in here | there:
        if there.get(name) != here.get(name):
            raise DataError(
                f"{folder} was made with {name} {there.get(name)}, not "
                f"{here.get(name)}; choose another folder"
            )


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".")
