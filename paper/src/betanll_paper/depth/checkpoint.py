"""Files of a training run: checkpoint, best weights, and a log of its updates."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from betanll.files import write_files, written_atomically

#: Raised when the contents of a checkpoint change.
VERSION = 2


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write tensors, numbers and text, whole or not at all."""
    with written_atomically(path) as temporary:
        torch.save({"version": VERSION, **state}, temporary)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a file of :func:`save_checkpoint` without executing anything in it.

    Raises
    ------
    ValueError
        If the file is cut short or not a checkpoint.
    """
    with path.open("rb") as file:
        try:
            state = torch.load(file, map_location="cpu", weights_only=True)
        # PyTorch raises almost anything, an OSError without a file name included.
        except Exception as error:
            message = f"{path} is not a complete checkpoint"
            raise ValueError(message) from error
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise ValueError(f"{path} is not a checkpoint that this version can read")
    return state


def save_weights(path: Path, network: nn.Module) -> None:
    """Write the parameters and buffers of a network as a safetensors file."""
    tensors = {
        name: tensor.detach().contiguous().cpu()
        for name, tensor in network.state_dict().items()
    }
    write_files(path.parent, {path.name: save(tensors)})


def load_weights(path: str | Path, network: nn.Module) -> None:
    """Load parameters and buffers of a network from a file.

    Parameters
    ----------
    path : path
        ``best.safetensors`` of a training run.
    network : torch.nn.Module
        Left as it was if the weights do not fit.

    Raises
    ------
    ValueError
        If the file is cut short, or its weights are of another network.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a complete safetensors file") from error
    load_state(network, tensors, path)


def load_state(network: nn.Module, tensors: dict[str, Any], path: Path) -> None:
    """Load a network's state, or name the first tensor that does not fit."""
    own = network.state_dict()
    for name in sorted(own.keys() | tensors.keys()):
        if name not in tensors:
            raise ValueError(f"{path} does not fit the network: it has no {name}")
        if name not in own:
            raise ValueError(f"{path} does not fit the network, which has no {name}")
        shapes = tuple(tensors[name].shape), tuple(own[name].shape)
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"{path} does not fit the network: {name} has the shape {shapes[0]}, "
                f"the network's {shapes[1]}"
            )
    network.load_state_dict(tensors)


class TrainingLog:
    """A CSV file with a line for each update; the first column is its number."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = list(columns)

    def start(self, n_updates: int) -> None:
        """Begin the file, or keep its first updates: a resumed run repeats the rest."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(line for line in self._lines() if int(line[0]) <= n_updates)
        write_files(self.path.parent, {self.path.name: text.getvalue().encode()})

    def add(self, values: dict[str, Any]) -> None:
        """Append a line; missing values stay empty."""
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self.columns, lineterminator="\n").writerow(values)

    def _lines(self) -> list[list[str]]:
        if not self.path.is_file():
            return []
        with self.path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
        if lines and lines[0] != self.columns:
            raise ValueError(f"{self.path} is not the log of a depth training run")
        # A kill may have cut the last line short.
        return [line for line in lines[1:] if len(line) == len(self.columns)]
